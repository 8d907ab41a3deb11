"""Reads JSON that is not finished yet: the input of a tool call while it streams, or when `max_tokens` cut it off.

The text is walked once, token by token, against a small table of what may follow what. The walk remembers the last
place behind a whole value (or behind an opening bracket); everything up to there, with the open brackets closed, is
JSON and goes to the ordinary decoder. A text that ends early and one that breaks off into nonsense are thus the same
case: what could be read is read. The walk keeps its own stack, so depth costs no recursion; deeper than MAX_DEPTH is
not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from clew.model.json import JsonValue

__all__ = ["MAX_DEPTH", "partial"]

MAX_DEPTH = 128

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


class _Reach(NamedTuple):
    """How far a text can be read."""

    end: int  # behind the last whole value or opening bracket
    closers: list[str]  # for the brackets that are open there, innermost last
    expected: str
    stopped: int  # behind the last token that fitted


def partial(text: str, *, strings: bool = False) -> JsonValue:
    """The value so far, as the official SDKs read it: whole values only, at every depth; {} when there is none yet.

    `strings` keeps what there is of an unfinished string value, as they do for fine-grained tool streaming.
    """
    reach = _walk(text)
    closing = "".join(reversed(reach.closers))
    if strings and reach.expected in ("value", "value or close"):
        begun = _BEGUN_STRING.match(text, reach.stopped)
        if begun is not None:
            return _decoded(text[: begun.end()] + '"' + closing)
    return _decoded(text[: reach.end] + closing)


def _walk(text: str) -> _Reach:
    closers: list[str] = []
    expected = "value"
    at = end = 0
    while (token := _TOKEN.match(text, at)) is not None and (kind := str(token.lastgroup)) in _NEXT[expected]:
        if not _bracket(kind, token.group(kind), closers):
            break
        expected = _NEXT[expected][kind]
        if expected == "next":
            expected = "key" if closers[-1] == "}" else "value"
        at = token.end()
        if expected == "filled" or kind in _CLOSER:
            end = at
        if expected == "filled" and not closers:
            break
    return _Reach(end, closers, expected, at)


def _bracket(kind: str, mark: str, closers: list[str]) -> bool:
    """Keep count of brackets; False, and nothing done, for one that does not fit or is too deep."""
    if kind in _CLOSER and len(closers) < MAX_DEPTH:
        closers.append(_CLOSER[kind])
        return True
    if kind == "close" and closers[-1] == mark:
        closers.pop()
        return True
    return kind not in _CLOSER and kind != "close"


def _decoded(text: str) -> JsonValue:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return {}
