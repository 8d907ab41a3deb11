"""Events that come alone, one in a read: the way of most, so every look at anything counts.

All that has to be known is bound when it is known, which is after an event was read; what is left is one step for an event.
It does what `Runs.take` does to many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from clew.dialects.openai_chat.lanes import Lane, Note
from clew.dialects.openai_chat.literals import ANY, text_of
from clew.dialects.openai_chat.moulds import Mould

__all__ = ["Singles", "TakeChunk", "TakeOne"]

TakeOne: TypeAlias = Callable[[bytes], bytes]
"""A read, as the client gets it; b"" if it is anything else than one event that needs no reading."""
TakeChunk: TypeAlias = Callable[[bytes, int], bytes]
"""The same for a chunk of HTTP/1.1, whose body begins there: another chunk."""

_MOST_HEARD: Final = 256
"""Single words, which take more memory apart than together."""
_LONGEST: Final = 4096
"""Bytes of a word that is looked at alone."""
_NOTHING: Final = -1
"""Not even an empty word is that short."""
_CRLF: Final = b"\r\n"


class Singles:
    """For one answer. No closures: there may be thousands of streams that hardly ever say something."""

    __slots__ = (
        *("_around", "_back", "_before", "_behind", "_end", "_fits", "_frame", "_front", "_head", "_heard", "_most"),
        *("_note", "_stop", "_tail"),
    )

    def __init__(self) -> None:
        self._heard: list[bytes] = []
        """Words that somebody wants to hear of."""
        self._note: Note | None = None
        self._head = self._tail = self._end = self._front = self._back = self._frame = b""
        self._before = self._behind = self._stop = self._around = 0
        self._most = _NOTHING
        self._fits = ANY.fits

    def bind(self, mould: Mould, lane: Lane) -> None:
        """From now on events of this mould go this lane."""
        self._head, self._tail, self._end = mould.head, mould.tail, mould.tail + _CRLF
        self._before, self._behind, self._stop = len(mould.head), -len(self._tail), -len(self._end)
        self._front, self._back, self._around = lane.head, lane.tail, lane.around
        self._frame = b"%%x\r\n%b%%b%b\r\n" % (lane.head.replace(b"%", b"%%"), lane.tail.replace(b"%", b"%%"))
        self._fits, self._note, self._most = lane.literals.fits, lane.note, min(lane.most, _LONGEST)

    def release(self) -> None:
        """Every event has to be read."""
        self._most = _NOTHING

    def take_one(self, read: bytes) -> bytes:
        """See `TakeOne`."""
        word = read[self._before : self._behind]
        if len(word) > self._most or not (read.startswith(self._head) and read.endswith(self._tail) and self._fits(word)):
            return b""
        if self._note is not None:
            self._heard.append(word)
            if len(self._heard) == _MOST_HEARD:
                self.settle()
        return self._front + word + self._back

    def take_chunk(self, data: bytes, start: int) -> bytes:
        """See `TakeChunk`. Written in one piece, because nearly every event of a stream goes through it."""
        word = data[start + self._before : self._stop]
        size = len(word)
        if size > self._most or not (data.startswith(self._head, start) and data.endswith(self._end) and self._fits(word)):
            return b""
        if self._note is not None:
            heard = self._heard
            heard.append(word)
            if len(heard) == _MOST_HEARD:
                self.settle()
        return self._frame % (size + self._around, word)

    def settle(self) -> None:
        """Lets the decoder know which words went by. Before anything is read, and before anybody asks what was said."""
        if self._heard:
            assert self._note is not None
            said = text_of(self._heard)
            self._heard.clear()
            self._note(said)
