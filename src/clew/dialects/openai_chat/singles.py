"""Events that come alone, one in a read: the way of most, so every look at anything counts.

All that has to be known is bound when it is known, which is after an event was read; what is left is one function of one
event, with few steps. It does what `Runs.take` does to many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from clew.dialects.openai_chat.lanes import Lane, Note
from clew.dialects.openai_chat.literals import is_text, text_of
from clew.dialects.openai_chat.moulds import Mould

__all__ = ["NOTHING", "Alone", "TakeChunk", "TakeOne", "settle", "single", "single_chunk"]

TakeOne: TypeAlias = Callable[[bytes], bytes]
"""A read, as the client gets it; b"" if it is anything else than one event that needs no reading."""

_MOST_HEARD: Final = 256
"""Single words, which take more memory apart than together."""
_LONGEST: Final = 4096
"""Bytes of a word that is looked at alone."""


TakeChunk: TypeAlias = Callable[[bytes, int], bytes]
"""The same for a chunk of HTTP/1.1, whose body begins there: another chunk."""


class Alone(NamedTuple):
    """For what comes alone."""

    take_one: TakeOne
    take_chunk: TakeChunk


def _nothing(_read: bytes, _start: int = 0) -> bytes:
    """Where every event has to be read."""
    return b""


NOTHING: Final = Alone(_nothing, _nothing)


def single(mould: Mould, lane: Lane, heard: list[bytes]) -> TakeOne:
    """`heard` gets the words that somebody wants to hear of, until they are too many."""
    head, tail, front, back = mould.head, mould.tail, lane.head, lane.tail
    start, end, most = len(head), -len(tail), min(lane.most, _LONGEST)
    fits, note, joined = lane.literals.fits, lane.note, b"".join

    def take_one(read: bytes) -> bytes:
        word = read[start:end]
        if not 0 < len(word) <= most or joined((head, word, tail)) != read or not fits(word):
            return b""
        if not word.isascii() and not is_text(word):
            return b""
        if note is not None:
            heard.append(word)
            if len(heard) == _MOST_HEARD:
                settle(heard, note)
        return joined((front, word, back))

    return take_one


def single_chunk(mould: Mould, lane: Lane, heard: list[bytes]) -> TakeChunk:
    """As `single`, and written in one piece like that."""
    head, tail, front, back = mould.head, mould.tail + b"\r\n", lane.head, lane.tail
    before, end, most, around = len(head), -len(tail), min(lane.most, _LONGEST), len(front) + len(back)
    fits, note = lane.literals.fits, lane.note

    def take_chunk(data: bytes, start: int) -> bytes:
        word = data[start + before : end]
        size = len(word)
        if not (0 < size <= most and data.startswith(head, start) and data.endswith(tail) and fits(word)):
            return b""
        if not word.isascii() and not is_text(word):
            return b""
        if note is not None:
            heard.append(word)
            if len(heard) == _MOST_HEARD:
                settle(heard, note)
        return b"%x\r\n%b%b%b\r\n" % (size + around, front, word, back)

    return take_chunk


def settle(heard: list[bytes], note: Note) -> None:
    """Lets the decoder know which words went by."""
    said = text_of(heard)
    heard.clear()
    note(said)
