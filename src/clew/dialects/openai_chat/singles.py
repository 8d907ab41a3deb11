"""Events that come alone, one in a read: the way of most, so every look at anything counts.

All that has to be known is bound when it is known, which is after an event was read; what is left is one function of one
event, with few steps. It does what `Runs.take` does to many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from clew.dialects.openai_chat.lanes import Lane, Note
from clew.dialects.openai_chat.literals import is_text, text_of
from clew.dialects.openai_chat.moulds import Mould

__all__ = ["TakeOne", "nothing", "settle", "single"]

TakeOne: TypeAlias = Callable[[bytes], bytes]
"""A read, as the client gets it; b"" if it is anything else than one event that needs no reading."""

_MOST_HEARD: Final = 256
"""Single words, which take more memory apart than together."""
_LONGEST: Final = 4096
"""Bytes of a word that is looked at alone."""


def nothing(_read: bytes) -> bytes:
    """Where every event has to be read."""
    return b""


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


def settle(heard: list[bytes], note: Note) -> None:
    """Lets the decoder know which words went by."""
    said = text_of(heard)
    heard.clear()
    note(said)
