"""JSON as plain Python values: their type names, and reading and writing where the strict decoder refuses.

Two kinds of text are refused by the decoder although clients read them. JSON can write a character outside the basic plane
as two escapes, and some vendors cut between them: each delta then holds half a character, which is no text by itself; put
together the halves are. And a number such as 1e400 is JSON by its grammar; it is read as infinity, and written as null. NaN
is no JSON.

`read_partial` reads JSON that is not finished yet: the input of a tool call while it streams, or when `max_tokens` cut it
off. The text is walked once, token by token, against a small table of what may follow what. The walk remembers the last
place behind a whole value (or behind an opening bracket); everything up to there, with the open brackets closed, is JSON and
goes to the ordinary decoder. So a text that ends early and one that breaks off into nonsense are the same case. The walk
keeps its own stack, so depth costs no recursion; deeper than MAX_PARTIAL_DEPTH is not read.

`text_of`, `object_of` and the like read members of JSON that promises nothing. Servers fill members with null, leave them
out, or give them another type in the next chunk; a member of the wrong kind is as good as absent. What a client sends is
read strictly instead: there a value of the wrong kind is an error, named by its place.
"""

from __future__ import annotations

import json
import re
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from clew.model.bounds import MOST_TOKENS

if TYPE_CHECKING:
    JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
else:
    JsonValue = Any  # the decoder cannot follow a name that refers to itself; at run time any value is one

JsonObject: TypeAlias = dict[str, JsonValue]
JsonArray: TypeAlias = list[JsonValue]


_json: Final = msgspec.json.Decoder()
_MOST_DIGITS: Final = 4000
"""Python refuses to read and to write integers of 4,300 digits and more."""


def read_json(raw: bytes) -> JsonValue:
    """The value of a JSON text. Raises ValueError if it is no JSON, RecursionError if it is nested too deeply."""
    try:
        return _json.decode(raw)
    except msgspec.DecodeError as error:
        try:
            return json.loads(raw.decode(), parse_constant=_number, parse_int=_number)
        except ValueError:
            raise error from None


def _number(digits: str) -> int | float:
    """The integer, or infinity where it has too many digits. Raises ValueError for a word: NaN is no JSON."""
    if len(digits) < _MOST_DIGITS:
        return int(digits)
    return -inf if digits.startswith("-") else inf


def whole_text(text: str) -> str:
    """The text with halves put together; half a character that never became whole is the replacement mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_value(value: JsonValue) -> JsonValue:
    """The value with every text in it made whole, so that it can be written again."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [whole_value(each) for each in value]
    if isinstance(value, dict):
        return {whole_text(name): whole_value(each) for name, each in value.items()}
    return value


def encoded(value: JsonValue) -> bytes:
    """A value as JSON. Half a character has no bytes, so its replacement mark is written."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(whole_value(value))


MAX_PARTIAL_DEPTH = 128

_SPACE = r"[ \t\n\r]*+"
_PLAIN = r'[^"\\\x00-\x1f]'
_HEX = r"[\da-fA-F]"
_TOKEN = re.compile(
    _SPACE
    + rf'(?:(?P<string>"{_PLAIN}*+(?:\\(?:["\\/bfnrt]|u{_HEX}{{4}}){_PLAIN}*+)*+")'
    + r"|(?P<word>true|false|null)"
    + r"|(?P<number>-?(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?\d++)?+(?![\w.+-]))"
    + r"|(?P<object>\{)|(?P<array>\[)|(?P<close>[\]}])|(?P<comma>,)|(?P<colon>:))"
)
_BEGUN_STRING = re.compile(
    _SPACE
    + rf'("(?:{_PLAIN}|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F]){_HEX}{{4}}'
    + rf"|\\u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}})*+)"
)

_VALUE = {"string": "filled", "word": "filled", "number": "filled", "object": "key or close", "array": "value or close"}
_NEXT: dict[str, dict[str, str]] = {
    "value": _VALUE,
    "value or close": {**_VALUE, "close": "filled"},
    "key": {"string": "colon"},
    "key or close": {"string": "colon", "close": "filled"},
    "colon": {"colon": "value"},
    "filled": {"comma": "next", "close": "filled"},
}
"""What is expected → what stands there → what is expected then. `next` is a key or a value, as the open bracket has it."""

_CLOSER = {"object": "}", "array": "]"}


def read_partial(text: str, *, strings: bool = False) -> JsonValue:
    """The value so far, as the official SDKs read it: whole values only, at every depth; {} when there is none yet.

    `strings` keeps what there is of an unfinished string value, as they do for fine-grained tool streaming.
    """
    closers: list[str] = []  # for the brackets that are open, innermost last
    expected = "value"
    at = end = 0  # behind the last token that fits; behind the last whole value or opening bracket
    while (token := _TOKEN.match(text, at)) is not None and (kind := str(token.lastgroup)) in _NEXT[expected]:
        if kind in _CLOSER and len(closers) < MAX_PARTIAL_DEPTH:
            closers.append(_CLOSER[kind])
        elif kind == "close" and closers[-1] == token.group(kind):
            closers.pop()
        elif kind in _CLOSER or kind == "close":
            break  # a bracket that does not fit, or is too deep
        expected = _NEXT[expected][kind]
        if expected == "next":
            expected = "key" if closers[-1] == "}" else "value"
        at = token.end()
        if expected == "filled" or kind in _CLOSER:
            end = at
        if expected == "filled" and not closers:
            break
    closing = "".join(reversed(closers))
    begun = _BEGUN_STRING.match(text, at) if strings and expected in ("value", "value or close") else None
    return _decoded((text[:end] if begun is None else text[: begun.end()] + '"') + closing)


def _decoded(text: str) -> JsonValue:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return {}


def text_of(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def object_of(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def list_of(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def objects_of(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def count_of(value: JsonValue) -> int:
    """A number of tokens; 0 for what cannot be one: `true`, a negative number, more than any answer has."""
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return int(value) if 0 < value <= MOST_TOKENS else 0
    return 0


def read_object(raw: bytes) -> JsonObject | None:
    """The JSON object in these bytes; None if they hold anything else."""
    value = read_value(raw)
    return value if isinstance(value, dict) else None


def read_value(raw: bytes) -> JsonValue:
    """The JSON value in these bytes; None if they hold none. Strings may hold half a character."""
    try:
        return read_json(raw)
    except (ValueError, RecursionError):
        return None
