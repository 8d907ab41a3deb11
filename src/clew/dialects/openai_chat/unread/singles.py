"""Events that come alone, one in a read: the way of most, so every look at anything counts.

All that has to be known is bound when it is known, which is after an event was read; what is left is one step for an event.
It does what `Runs.take` does to many.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from clew.dialects.openai_chat.unread.lanes import Lane, Note
from clew.dialects.openai_chat.unread.literals import ANY, text_of
from clew.dialects.openai_chat.unread.moulds import Mould
from clew.wire.chunks import SIZE_LINES

__all__ = ["Singles", "TakeChunk", "TakeOne"]

TakeOne: TypeAlias = Callable[[bytes], bytes]
"""A read, as the client gets it; b"" if it is anything else than one event that needs no reading."""
TakeChunk: TypeAlias = Callable[[bytes, int], bytes]
"""The same for a chunk of HTTP/1.1, which is so long, framing and all: another chunk."""

_MOST_HEARD: Final = 256
"""Single words, which take more memory apart than together."""
_LONGEST: Final = 512
"""Bytes of a word that is looked at alone."""
_NOTHING: Final = -1
"""Not even an empty word is that short."""
_CRLF: Final = b"\r\n"


class _Frames(dict[int, bytes]):
    """What stands before a word in a chunk for the client, by its length (nothing, if it is empty: none is told of it), and
    behind it."""

    __slots__ = ("_around", "_head", "back")

    def __init__(self, head: bytes, tail: bytes) -> None:
        super().__init__()
        self.back = tail + _CRLF
        self._head = head
        self._around = len(head) + len(tail)

    def __missing__(self, said: int) -> bytes:
        self[said] = front = b"%x\r\n%b" % (said + self._around, self._head) if said else b""
        return front


_frames_of = lru_cache(maxsize=16)(_Frames)
"""One for each kind of block and its place, for all answers."""
_NO_FRAMES: Final = _Frames(b"", b"")


class Singles:
    """For one answer. No closures: there may be thousands of streams that hardly ever say something."""

    __slots__ = (
        *("_back", "_before", "_behind", "_end", "_fits", "_front", "_frames", "_head", "_heard", "_most", "_note"),
        *("_stop", "_sure", "_tail"),
    )

    def __init__(self) -> None:
        self._heard: list[bytes] = []
        """Words that somebody wants to hear of."""
        self._note: Note | None = None
        self._head = self._tail = self._end = self._front = self._back = b""
        self._before = self._behind = self._stop = 0
        self._most = _NOTHING
        self._frames = _NO_FRAMES
        self._fits, self._sure = ANY.fits, ANY.sure

    def bind(self, mould: Mould, lane: Lane) -> None:
        """From now on events of this mould go this lane."""
        self._head, self._tail, self._end = mould.head, mould.tail, mould.tail + _CRLF
        self._before, self._behind, self._stop = len(mould.head), -len(self._tail), -len(self._end)
        self._front, self._back, self._frames = lane.head, lane.tail, _frames_of(lane.head, lane.tail)
        self._fits, self._sure = lane.literals.fits, lane.literals.sure
        self._note, self._most = lane.note, min(lane.most, _LONGEST)

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

    def take_chunk(self, chunk: bytes, size: int) -> bytes:
        """See `TakeChunk`. Written in one piece, because nearly every event of a stream goes through it."""
        line = SIZE_LINES[size]
        word = chunk[len(line) + self._before : self._stop]
        said = len(word)
        if said > self._most or b"".join((line, self._head, word, self._end)) != chunk:
            return b""
        frames = self._frames
        front = frames[said]
        fits = self._fits
        if not front or (word.strip(self._sure) and not fits(word)):
            return b""
        if self._note is not None:
            heard = self._heard
            heard.append(word)
            if len(heard) == _MOST_HEARD:
                self.settle()
        return front + word + frames.back

    def settle(self) -> None:
        """Lets the decoder know which words went by. Before anything is read, and before anybody asks what was said."""
        if self._heard:
            assert self._note is not None
            said = text_of(self._heard)
            self._heard.clear()
            self._note(said)
