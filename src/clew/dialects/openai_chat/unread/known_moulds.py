"""Moulds that are known from answers before, so that the first words of the next need not be read as chunks.

A chunk begins with what names its answer: an id, a time, a model. These members are the same in all chunks of an answer, and
others in the next one; here they are its *lead*. What a backend says stands behind the lead, and there it writes the same
bytes around its words in every answer. So moulds are remembered without their lead, and with another one they mean the same,
since nothing in a lead says anything. So are first chunks that say nothing at all.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from clew.dialects.openai_chat.failures.bodies import error_in
from clew.dialects.openai_chat.shapes import read_object
from clew.dialects.openai_chat.unread.moulds import Mould

__all__ = ["KnownMoulds", "lead_of"]

_MOST: Final = 8
_LONGEST: Final = 1024
"""Bytes of a mould that is worth remembering."""
_CHOICES: Final = b'"choices":'
_FIELD: Final = b"data:"
_SPEAKING: Final = frozenset(("usage", "x_groq"))
"""Members of a chunk that say something, besides its choices and its errors."""


class KnownMoulds:
    """Of one backend and model. What has left the memory is learnt again, so it does not matter what it holds."""

    __slots__ = ("_moulds", "_openings")

    def __init__(self) -> None:
        self._moulds: list[Mould] = []
        self._openings: list[bytes] = []

    def behind(self, lead: bytes) -> list[Mould]:
        """All that is known, for an answer with this lead."""
        return [replace(mould, head=lead + mould.head) for mould in self._moulds]

    def remember(self, mould: Mould, lead: bytes) -> None:
        """Keep a mould that was learnt from an answer with this lead."""
        if not mould.is_plain or not mould.head.startswith(lead) or mould.around > _LONGEST:
            return
        new = replace(mould, head=mould.head[len(lead) :])
        if new not in self._moulds:
            self._moulds = [*self._moulds[1 - _MOST :], new]

    def opens(self, event: bytes, lead: bytes) -> bool:
        """Whether this says nothing but that an answer with this lead begins."""
        return event[len(lead) :] in self._openings

    def remember_opening(self, event: bytes, lead: bytes) -> None:
        """Keep an event that says nothing else."""
        if len(event) <= _LONGEST:
            self._openings = [*self._openings[1 - _MOST :], event[len(lead) :]]


def lead_of(event: bytes) -> bytes:
    """What stands before the choices of the chunk in an event of one line; b"" if something is said there."""
    lead = event[: max(0, event.find(_CHOICES))]
    if not lead.startswith(_FIELD):
        return b""
    named = read_object(lead[len(_FIELD) :] + _CHOICES + b"[]}")
    if named is None or named.get("choices") != [] or not named.keys().isdisjoint(_SPEAKING):
        return b""
    return b"" if error_in(named) is not None else lead
