"""Where the values of an object or an array stand in its bytes.

One level is decoded into raw values, which tells their lengths; walking the punctuation between them then gives their
places. The decoder returns a dictionary, which keeps one value for a key that stands there twice. So each value is
compared with the bytes at its place: a JSON value that matches there and is followed by a delimiter *is* the value
there (strings, arrays, objects and literals end by themselves, numbers end at the delimiter). Where that fails, a
slower walk skips each value by its tokens, and finds every member.

`offset_of` finds where a raw value stands without a search. A `msgspec.Raw` is a view of the bytes that it was decoded from,
but does not say where in them it begins. Both are buffers, and the distance between two buffers is the offset. That saves a
second scan of a document of megabytes when one value in it has to go. The bytes at the offset are compared before anything
relies on it, so an interpreter that copies costs time, and never a wrong edit.
"""

from __future__ import annotations

import ctypes
import re
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from clew.errors import BodyTooLarge, RequestInvalid

_T = TypeVar("_T")


class Span(NamedTuple):
    """The bytes of a value: from `start` up to, not including, `end`."""

    start: int
    end: int


class Member(NamedTuple):
    """One member of an object, in its place: where its key begins, and its value."""

    key: str
    key_start: int
    value_start: int
    value_end: int


_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_string = msgspec.json.Decoder(str)

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_KEY = re.compile(rb"[ \t\n\r]*+(" + _STRING + rb")[ \t\n\r]*+:[ \t\n\r]*+", re.DOTALL)
_OPEN = re.compile(rb"[ \t\n\r]*+[\[{][ \t\n\r]*+")
_COMMA = re.compile(rb"[ \t\n\r]*+,[ \t\n\r]*+")
_DELIMITER = re.compile(rb"[ \t\n\r]*+[,}]")
_END = re.compile(rb"[ \t\n\r]*+\Z")
_SCALAR = re.compile(_STRING + rb"|[^ \t\n\r,\]}\[{]++", re.DOTALL)
_BRACKET = re.compile(rb"[\[{\]}]|" + _STRING, re.DOTALL)
_DEPTH = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_TOKEN = re.compile(rb"[\[{}\],]|(" + _STRING + rb")([ \t\n\r]*+:)?", re.DOTALL)


def members(raw: bytes) -> list[Member]:
    """The members of an object in their order, doubled keys included. Raises RequestInvalid if it is no object."""
    values = _decode(_object, raw)
    return _measure_members(raw, values) or _walk_members(raw)


def elements(raw: bytes) -> list[Span]:
    """The elements of an array in their order. Raises RequestInvalid if it is no array."""
    values = _decode(_array, raw)
    spans: list[Span] = []
    at = _past(_OPEN, raw, 0)
    for value in values:
        end = at + len(memoryview(value))
        spans.append(Span(at, end))
        comma = _COMMA.match(raw, end)
        at = comma.end() if comma else end
    return spans


def duplicate_keys(raw: bytes) -> list[str]:
    """The path of every key that stands twice in its object, at any depth; `raw` is a document that parses.

    Not recursive, so depth costs memory and nothing else.
    """
    found: dict[str, None] = {}
    stack: list[_Level] = []
    for token in _TOKEN.finditer(raw):
        text, colon = token.group(1), token.group(2)
        if colon is not None and stack:
            if not stack[-1].enter(_string.decode(text)):
                found[".".join(str(level.at) for level in stack)] = None
        elif text is None:
            punctuation = token.group(0)
            if punctuation in b"[{":
                stack.append(_Level(0 if punctuation == b"[" else ""))
            elif punctuation in b"]}":
                del stack[-1:]
            elif stack and isinstance(at := stack[-1].at, int):
                stack[-1].at = at + 1
    return list(found)


class _Level:
    """One open array or object of the walk: the index or key it has reached, and the keys seen so far."""

    __slots__ = ("at", "keys")

    def __init__(self, at: str | int) -> None:
        self.at = at
        self.keys: set[str] = set()

    def enter(self, key: str) -> bool:
        """Go to this key; False if the object had it before."""
        self.at = key
        new = key not in self.keys
        self.keys.add(key)
        return new


def _decode(decoder: msgspec.json.Decoder[_T], raw: bytes) -> _T:
    try:
        return decoder.decode(raw)
    except RecursionError:
        raise BodyTooLarge("the JSON is nested too deeply to be edited") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RequestInvalid(f"cannot be edited as JSON: {error}") from None


def _measure_members(raw: bytes, values: dict[str, msgspec.Raw]) -> list[Member] | None:
    """The members by the lengths of their values; None if a key is doubled, so that a length belongs to another value."""
    found: list[Member] = []
    at = _past(_OPEN, raw, 0)
    for key, value in values.items():
        text = bytes(value)
        name = _KEY.match(raw, at)
        if name is None or _string.decode(name.group(1)) != key or not raw.startswith(text, name.end()):
            return None
        end = name.end() + len(text)
        delimiter = _DELIMITER.match(raw, end)
        if delimiter is None:
            return None
        found.append(Member(key, name.start(1), name.end(), end))
        at = delimiter.end()
    return found if _END.match(raw, at) else None


def _walk_members(raw: bytes) -> list[Member]:
    """The members by skipping each value token by token; the text is known to parse."""
    found: list[Member] = []
    at = _past(_OPEN, raw, 0)
    while (name := _KEY.match(raw, at)) is not None:
        start = at = name.end()
        if (scalar := _SCALAR.match(raw, start)) is not None:
            at = scalar.end()
        depth = 0
        while depth or at == start:
            bracket = _BRACKET.search(raw, at)
            assert bracket is not None, "a value that parsed has an end"
            depth += _DEPTH.get(bracket.group(0), 0)
            at = bracket.end()
        found.append(Member(_string.decode(name.group(1)), name.start(1), start, at))
        at = _past(_DELIMITER, raw, at)
    return found


def _past(pattern: re.Pattern[bytes], raw: bytes, at: int) -> int:
    match = pattern.match(raw, at)
    assert match is not None, "the text parsed, so its punctuation is there"
    return match.end()


class _Buffer(ctypes.Structure):
    """`Py_buffer`, as the C API lays it out; only the address is read."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = (ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int)
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = (ctypes.POINTER(_Buffer),)


def offset_of(value: Raw, document: bytes) -> int | None:
    """Where `value`, decoded from `document`, begins in it; None if it is no view of it."""
    start = _address(value) - _address(document)
    inside = 0 <= start <= len(document)
    return start if inside and document.startswith(bytes(value), start) else None


def _address(holder: Raw | bytes) -> int:
    buffer = _Buffer()
    _get(holder, ctypes.byref(buffer), 0)
    address = buffer.buf
    _release(ctypes.byref(buffer))
    return address or 0
