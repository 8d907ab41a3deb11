"""Reads a whole JSON document into plain Python values, strictly and within bounds; for cold code.

The decoder is msgspec, which is strict (no NaN, no lone surrogates, no bad UTF-8) and terse in its complaints. When it
refuses, the text is read a second time to find out what is wrong and where: a person has to fix it, and that is worth the
time. The words for a text that ends early, and for an empty one, are those of the Anthropic API; so is the form
`reason: line L column C (char N)` of every fault.

Depth is bounded because other readers, those of clew included, recurse; the bound is far above what any request needs.

A large body is not read a second time: that takes calls of a second each, in which no other thread gets the interpreter.
The decoder's complaint names a byte, so `find_large_fault` reads only the bytes before it, to count lines and characters, in
slices, so that other threads run between two of them. Its words are the decoder's own, and less exact.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Final, NamedTuple

import msgspec

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.json import JsonValue

MAX_DEPTH = 128
"""Levels of nesting that a document may have. Requests in the wild stay below twenty."""


class JsonFault(NamedTuple):
    """What is wrong with a JSON text, and where: `char` counts characters from 0, line and column from 1."""

    reason: str
    char: int
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.reason}: line {self.line} column {self.column} (char {self.char})"


def decode_json(raw: bytes) -> JsonValue:
    """The document's value; integers of any size stay exact, and the last value of a doubled key counts.

    Raises RequestInvalid with line and column if it is no JSON, BodyTooLarge if it is nested deeper than MAX_DEPTH.
    """
    try:
        value: JsonValue = msgspec.json.decode(raw)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        fault = find_fault(raw, str(error))
        raise RequestInvalid(str(fault), line=fault.line, column=fault.column) from None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):  # level by level, so that depth costs no stack
        if not level:
            return value
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if type(child) is dict or type(child) is list  # a third of the time that isinstance takes
        ]
    if level:
        raise _too_deep()
    return value


def find_fault(raw: bytes, complaint: str = "not valid JSON") -> JsonFault:
    """The first thing wrong with bytes that were refused; `complaint` is the reason if nothing more exact is found."""
    if not raw:
        return JsonFault("Input is a zero-length, empty document", 0, 1, 1)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        return _fault(f"not valid UTF-8 (byte 0x{raw[error.start]:02x})", before, len(before))
    return _grammar_fault(text) or _value_fault(text) or _fault(complaint, text, 0)


def _grammar_fault(text: str) -> JsonFault | None:
    """The fault that the standard library's reader finds: it is lax about values, but knows what it expected where."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        at = error.pos
        if at >= len(text.rstrip(" \t\n\r")) or error.msg.startswith("Unterminated string"):
            return _fault("unexpected end of data", text, len(text))
        return _fault(error.msg[0].lower() + error.msg[1:].removesuffix(" at"), text, at)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        return None
    return None


_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_CONSTANT = re.compile(_STRING + r"|(NaN|-?Infinity)", re.DOTALL)
_NUMBER = re.compile(_STRING + r"|(-?\d[\d.eE+-]*+)", re.DOTALL)
_UP_TO_LONE_SURROGATE = re.compile(
    r"(?:[^\\]|\\[^u]|\\u(?![dD][89a-fA-F])|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})*+", re.DOTALL
)


def _value_fault(text: str) -> JsonFault | None:
    """Values that look like JSON and are none: NaN and Infinity, then numbers out of range; last lone surrogates, which the
    grammar of JSON allows and vendors refuse later."""
    for match in _CONSTANT.finditer(text):
        if match.group(1):
            return _fault(f"{match.group(1)} is not a JSON value", text, match.start())
    for match in _NUMBER.finditer(text):
        try:
            msgspec.json.decode(match.group(1) or "0")
        except msgspec.MsgspecError:
            return _fault("number out of range", text, match.start())
    whole = _UP_TO_LONE_SURROGATE.match(text)
    if whole is not None and whole.end() < len(text):
        return _fault("lone surrogate in string", text, whole.end())
    return None


def _fault(reason: str, text: str, char: int) -> JsonFault:
    return JsonFault(reason, char, text.count("\n", 0, char) + 1, char - text.rfind("\n", 0, char))


def _too_deep() -> BodyTooLarge:
    return BodyTooLarge(f"the JSON is nested more than {MAX_DEPTH} levels deep")


LARGE_BYTES: Final = 1024 * 1024
"""A body above this is not read a second time."""
SLICE_BYTES: Final = 256 * 1024

_NAMES_A_BYTE = re.compile(r"(?:JSON is malformed: )?(.*) \(byte (\d+)\)")
_HALF_A_PAIR = re.compile(rb"\\u[dD][89abAB][\da-fA-F]{2}")
_TRUNCATED: Final = "Input data was truncated"
_NEAR_THE_END: Final = 12  # bytes of a surrogate pair, both written as escapes


class _Position(NamedTuple):
    char: int = 0
    line: int = 1
    column: int = 1

    def after(self, text: str) -> _Position:
        lines = text.count("\n")
        column = len(text) - text.rfind("\n") if lines else self.column + len(text)
        return _Position(self.char + len(text), self.line + lines, column)


def find_large_fault(raw: bytes, complaint: str) -> JsonFault:
    """The fault that the decoder complained of; bytes before it that are no UTF-8 come first, as everywhere."""
    match = _NAMES_A_BYTE.fullmatch(complaint)
    reason, end = (match[1], int(match[2])) if match else (complaint, len(raw))
    if complaint == _TRUNCATED:
        # The decoder says the same of half a surrogate pair near the end and of a body that ends early.
        half = _HALF_A_PAIR.search(raw[-_NEAR_THE_END:])
        reason = "half a surrogate pair at the end" if half else "unexpected end of data"
    place, decoder = _Position(), codecs.getincrementaldecoder("utf-8")()
    for start in range(0, end, SLICE_BYTES):
        try:
            text = decoder.decode(raw[start : min(start + SLICE_BYTES, end)])
        except UnicodeDecodeError as error:
            place = place.after(error.object[: error.start].decode())
            return JsonFault(f"not valid UTF-8 (byte 0x{error.object[error.start]:02x})", *place)
        place = place.after(text)
    return JsonFault(reason, *place)
