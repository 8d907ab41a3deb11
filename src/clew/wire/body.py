"""Reads a whole JSON document into plain Python values, strictly and within bounds; for cold code.

The decoder is msgspec, which is strict (no NaN, no lone surrogates, no bad UTF-8) and terse in its complaints. When it
refuses, the text is read a second time to find out what is wrong and where: a person has to mend it, and that is worth
the time. The words for a text that ends early, and for none at all, are those of the Anthropic API; so is the form
`reason: line L column C (char N)` for all.

Depth is bounded because readers of other kinds, ours included, recurse; the bound is far above what any request needs.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import msgspec

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.json import JsonValue

__all__ = ["MAX_DEPTH", "Fault", "decode_json", "find_fault"]

MAX_DEPTH = 128
"""Levels of nesting that a document may have. Requests in the wild stay below twenty."""


class Fault(NamedTuple):
    """What is wrong with a text, and where: `char` counts characters from 0, line and column from 1."""

    reason: str
    char: int
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.reason}: line {self.line} column {self.column} (char {self.char})"


def decode_json(raw: bytes) -> JsonValue:
    """The document's value; integers of any size stay exact, of a doubled key the last value counts.

    Raises RequestInvalid with line and column if it is no JSON, BodyTooLarge if it is nested deeper than MAX_DEPTH.
    """
    try:
        value: JsonValue = msgspec.json.decode(raw)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        fault = find_fault(raw, str(error))
        raise RequestInvalid(str(fault), line=fault.line, column=fault.column) from None
    if _deeper_than(value, MAX_DEPTH):
        raise _too_deep()
    return value


def find_fault(raw: bytes, complaint: str = "not valid JSON") -> Fault:
    """The first thing wrong with bytes that were refused; `complaint` is said if nothing more exact can be."""
    if not raw:
        return Fault("Input is a zero-length, empty document", 0, 1, 1)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        return _fault(f"not valid UTF-8 (byte 0x{raw[error.start]:02x})", before, len(before))
    return _grammar_fault(text) or _value_fault(text) or _fault(complaint, text, 0)


def _grammar_fault(text: str) -> Fault | None:
    """What the standard library's reader says: it is lax about values, but knows what it expected where."""
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


def _value_fault(text: str) -> Fault | None:
    """Values that look like JSON and are none: NaN and Infinity, numbers beyond all range; only then lone surrogates, which
    JSON's grammar allows and vendors refuse later."""
    for match in _CONSTANT.finditer(text):
        if match.group(1):
            return _fault(f"{match.group(1)} is not a JSON value", text, match.start())
    for match in _NUMBER.finditer(text):
        if match.group(1) and not _readable(match.group(1)):
            return _fault("number out of range", text, match.start())
    whole = _UP_TO_LONE_SURROGATE.match(text)
    if whole is not None and whole.end() < len(text):
        return _fault("lone surrogate in string", text, whole.end())
    return None


def _readable(number: str) -> bool:
    try:
        msgspec.json.decode(number)
    except msgspec.MsgspecError:
        return False
    return True


def _fault(reason: str, text: str, char: int) -> Fault:
    return Fault(reason, char, text.count("\n", 0, char) + 1, char - text.rfind("\n", 0, char))


def _deeper_than(value: JsonValue, levels: int) -> bool:
    """Level by level, so that depth costs no stack."""
    level = [value] if isinstance(value, dict | list) else []
    while level:
        if levels == 0:
            return True
        levels -= 1
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if type(child) is dict or type(child) is list  # a third of the time that isinstance takes
        ]
    return False


def _too_deep() -> BodyTooLarge:
    return BodyTooLarge(f"the JSON is nested more than {MAX_DEPTH} levels deep")
