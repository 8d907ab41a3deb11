"""Heads that were read before.

A client sends the same head with every request, but for the length of the body. So a read that holds one request, and
nothing else, is looked up by the bytes of its head without that length, and only an unknown head is parsed; of a long body
more may be due. Only what the parser has read as a complete head is remembered, so nothing passes here that did not pass
there; whatever is unusual (a body in chunks, several requests in one read, a connection that is to be closed) goes the long
way.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from clew.http.message import Head, HttpRequest, Refusal

__all__ = ["Alone", "Known", "Seen"]

MOST = 512
"""Heads to remember; a client has a handful."""
LONGEST = 8192
"""Bytes of a head that is worth remembering."""

_DIGITS = 9
_NOTHING = memoryview(b"")
_LENGTH = re.compile(rb"\r\ncontent-length: (\d{1,9})(?=\r\n)", re.IGNORECASE)


Alone: TypeAlias = tuple[bytes, memoryview, int]
"""One request in one read: its head without the length of the body, the body, and how many bytes of that are still due."""


class Seen(NamedTuple):
    """A head that was read before: its bytes in front of the length of the body, those behind it, and what they say."""

    before: bytes
    after: bytes
    head: Head
    length_at: int | None
    start: int
    """Where the length begins, and where what is behind it ends at the latest."""
    latest: int
    tail: int
    """How many bytes are behind it."""

    @property
    def like(self) -> HttpRequest:
        """Such a request, without a body."""
        return HttpRequest(self.head, b"", self.length_at)

    def again(self, data: bytes, most: int) -> HttpRequest | None:
        """The request that these bytes are, if it has this head, and a body of that length and at most so many bytes."""
        before, after, head, length_at, start, latest, tail = self
        if not data.startswith(before):
            return None
        end = data.find(after, start, latest)
        at = end + tail
        size = len(data) - at
        if end < 0 or size > most or data[start:end] != b"%d" % size:
            return None
        return HttpRequest(head, data[at:], length_at)


class Known:
    """Belongs to one server: what is refused depends on its limits."""

    def __init__(self) -> None:
        self.heads: dict[bytes, Seen] = {}

    def split(self, data: bytes) -> Alone | None:
        """None for anything but one request whose body is no longer than its head says."""
        end = data.find(b"\r\n\r\n", 0, LONGEST)
        if end < 0:
            return None
        length = _LENGTH.search(data, 0, end + 2)
        size = len(data) - end - 4
        if length is None:
            return None if size else (data, _NOTHING, 0)
        due = int(length[1]) - size
        if due < 0:
            return None
        start, stop = length.span()
        return data[:start] + data[stop:end], memoryview(data)[end + 4 :], due

    def remember(self, key: bytes, head: bytes, request: HttpRequest | Refusal) -> None:
        """`head` is what it was read from, without the body."""
        if isinstance(request, Refusal) or not request.keep_alive or request.header("expect") is not None:
            return
        length = _LENGTH.search(head)
        if length is None and request.header("content-length") is not None:
            return  # spelt in another way: `split` would take the head for all of a request, and its body for the next one
        if len(self.heads) >= MOST:
            self.heads.clear()
        cut = length.span(1) if length else (len(head), len(head))
        self.heads[key] = _seen(head[: cut[0]], head[cut[1] :], request)


def _seen(before: bytes, after: bytes, request: HttpRequest) -> Seen:
    start, tail = len(before), len(after)
    return Seen(before, after, request.head, request.length_at, start, start + _DIGITS + tail, tail)
