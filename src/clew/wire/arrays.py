"""Rewrites one long array inside a document, touching no more bytes than necessary.

A history of megabytes is an array under one key. One pass of the decoder measures its elements. The array's place is then
found by its key, and proved by decoding only the bytes before and after it. So an edit costs one scan of the document, not
one for each level.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from clew.errors import RequestInvalid
from clew.wire.spans import Span
from clew.wire.splice import locate

_OPEN = re.compile(rb"[ \t\n\r]*+:[ \t\n\r]*+\[[ \t\n\r]*+")
_COMMA = re.compile(rb"[ \t\n\r]*+,[ \t\n\r]*+")
_CLOSE = re.compile(rb"[ \t\n\r]*+\]")
_TRIES = 3
"""How often a key is tried where its name stands: each try reads all that stands before it."""


class Array(NamedTuple):
    """Where an array stands in its document (`start` at its bracket), and each of its elements."""

    start: int
    end: int
    spans: list[Span]


def find_array(raw: bytes, key: str, values: Sequence[msgspec.Raw]) -> Array:
    """The array under a key of the document's outermost object; `values` are its elements, as decoded from `raw`.

    Raises RequestInvalid if the document holds the key twice.
    """
    name = b'"%b"' % key.encode()
    at = -1
    for _ in range(_TRIES):
        at = raw.find(name, at + 1)
        if at < 0:
            break
        if (opening := _OPEN.match(raw, at + len(name))) and _is_first_member(raw, at, key):
            found = _measure(raw, opening, values)
            if found and not _may_hold(b'{"":0' + raw[found.end :], key):
                return found
    # An escape in the key's own name, a doubled key, or the same key in many other places: `locate` reads each member once,
    # and refuses a doubled one.
    start, end = locate(raw, (key,))
    value = b":" + raw[start:end]
    opening = _OPEN.match(value)
    assert opening is not None
    found = _measure(value, opening, values)
    assert found is not None
    return Array(start, end, [Span(span.start + start - 1, span.end + start - 1) for span in found.spans])


def opening_of(raw: bytes, key: str) -> int:
    """Where the array under a key of the outermost object opens. Only the bytes before the array are read.

    Raises RequestInvalid if the key is not found within a few tries.
    """
    name = b'"%b"' % key.encode()
    at = -1
    for _ in range(_TRIES):
        at = raw.find(name, at + 1)
        if at < 0:
            break
        if (opening := _OPEN.match(raw, at + len(name))) and _is_first_member(raw, at, key):
            return raw.index(b"[", opening.start())
    raise RequestInvalid(f"{key} is not found at once", path=key)


def _is_first_member(raw: bytes, at: int, key: str) -> bool:
    """Whether a member of the outermost object begins here, the first of its name: the bytes before it form an object."""
    return not _may_hold(raw[:at].rstrip(b" \t\n\r").removesuffix(b",") + b"}", key)


def _may_hold(raw: bytes, key: str) -> bool:
    """Whether this object has a member of that name; or it is no object. Nothing is built of its other members."""
    try:
        return _holder(key).decode(raw).value is not msgspec.UNSET
    except (msgspec.MsgspecError, RecursionError):
        return True


@cache
def _holder(key: str) -> msgspec.json.Decoder[Any]:
    field = msgspec.field(default=msgspec.UNSET, name=key)
    return msgspec.json.Decoder(msgspec.defstruct("_Holder", [("value", msgspec.Raw | msgspec.UnsetType, field)]))


def _measure(raw: bytes, opening: re.Match[bytes], values: Sequence[msgspec.Raw]) -> Array | None:
    """The array that opens here, by the lengths of its values; None if they are not separated by commas."""
    spans: list[Span] = []
    at = opening.end()
    for value in values:
        if spans and raw[at : at + 2] == b",{":
            at += 1  # what nearly everyone writes
        elif spans:
            comma = _COMMA.match(raw, at)
            if comma is None:
                return None
            at = comma.end()
        end = at + len(memoryview(value))
        spans.append(Span(at, end))
        at = end
    closing = _CLOSE.match(raw, at)
    return Array(raw.index(b"[", opening.start()), closing.end(), spans) if closing else None


class _Rest(msgspec.Struct):
    elements: list[msgspec.Raw] = msgspec.field(name="")


_rest = msgspec.json.Decoder(_Rest)
_FEW = 8


def last_elements(raw: bytes, count: int, begins: bytes) -> list[bytes] | None:
    """The last elements of an array in the document's outermost object, without reading the bytes before them.

    The search runs backwards from the end, by how each element `begins`. None if they are not found so, or are more than a
    few: each try reads all bytes after it. The end of a document does not tell which array it is, so the caller must know
    the elements and compare them.
    """
    at = len(raw)
    for _ in range(count + _FEW if count <= _FEW else 0):
        at = raw.rfind(begins, 0, at)
        if at < 0:
            return None
        try:
            elements = _rest.decode(b'{"":[' + raw[at:]).elements
        except (msgspec.MsgspecError, RecursionError):
            continue  # no element of an array begins here
        if len(elements) >= count:
            return [bytes(each) for each in elements] if len(elements) == count else None
    return None


class Item(NamedTuple):
    """An element of the new array: the one that stood at `at`, or `new` in its place, or `new` at a place of its own."""

    at: int | None = None
    new: bytes | None = None


def recompose(raw: bytes, spans: Sequence[Span], bounds: Span, items: Sequence[Item]) -> bytes:
    """The array at `bounds` with these elements instead. Elements that stay neighbours keep the bytes between them too."""
    if not spans or not items:
        return b"[%b]" % b",".join(_bytes_of(raw, spans, item) for item in items)
    out = [raw[bounds.start : spans[0].start]]
    before: Item | None = None
    for item in items:
        if before is not None:
            if before.at is not None and item.at is not None and item.at == before.at + 1:
                out.append(raw[spans[before.at].end : spans[item.at].start])
            else:
                out.append(b",")
        out.append(_bytes_of(raw, spans, item))
        before = item
    out.append(raw[spans[-1].end : bounds.end])
    return b"".join(out)


def _bytes_of(raw: bytes, spans: Sequence[Span], item: Item) -> bytes:
    if item.new is not None:
        return item.new
    assert item.at is not None
    return raw[spans[item.at].start : spans[item.at].end]
