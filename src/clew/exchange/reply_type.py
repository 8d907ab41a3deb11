"""What a backend's answer is: a stream, one piece, or something that nobody asked for.

Servers that do not heed `stream` often keep the content type of the form that was asked for, and some send a type that says
nothing. So the first bytes decide: a JSON object begins otherwise than an event stream.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from clew.errors import BackendBroken
from clew.exchange.commands import Peek
from clew.exchange.failures import shown
from clew.model.http import ResponseHead

STREAM, JSON = "text/event-stream", "application/json"

_EITHER: Final = frozenset((STREAM, JSON, "", "text/plain", "application/octet-stream", "application/x-ndjson"))
"""Content types under which both have been seen."""
_EVENTS: Final = re.compile(rb"(?:data|event|id|retry)?:")
_BEFORE: Final = b"\xef\xbb\xbf \t\r\n"
_MOST_BLANK: Final = 64 * 1024
"""Bytes of white space that are looked at. Some servers send it as a sign of life."""


async def form_of(head: ResponseHead, within: float | None = None) -> str:
    """STREAM or JSON, by what comes; else the type that the head names. Waits for the first bytes, `within` so many seconds
    from the head on. Raises BackendError."""
    named = type_of(head)
    if named not in _EITHER:
        return named
    begun = (await Peek(_MOST_BLANK, within)).lstrip(_BEFORE)
    if begun.startswith(b"{"):
        return JSON
    return STREAM if _EVENTS.match(begun) else named


def check_encoding(head: ResponseHead, backend: str) -> None:
    """We asked for none: what comes packed all the same is not unpacked, however little it seems."""
    coding = head.header(b"content-encoding")
    if coding and coding.strip().lower() != b"identity":
        raise BackendBroken(f"{backend}: an answer in the encoding {coding.decode('latin-1')!r}, which nobody asked for")


def type_of(head: ResponseHead) -> str:
    """The media type that the head names, in small letters and without parameters; "" if it names none."""
    return _named_in(head.header(b"content-type") or b"")


@lru_cache(maxsize=64)
def _named_in(value: bytes) -> str:
    return value.decode("latin-1").partition(";")[0].strip().lower()


def not_expected(head: ResponseHead, body: bytes, wanted: str, backend: str) -> BackendBroken:
    kind = type_of(head) or "no type"
    return BackendBroken(f"{backend}: {kind} instead of {wanted}: {shown(body) or 'nothing'}")
