"""Runs: events that differ by a word only, translated without being read.

After an event was read, its mould (`moulds`) and the lane of its words (`lanes`) are known. As long as events come out of
that mould, their words are taken out together, matched once, and put into the client's frame: they stay as JSON wrote
them. The first that does not fit ends the run and is read; before that the decoder hears of all that went by.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final, NamedTuple

from clew.dialects.openai_chat.known_moulds import KnownMoulds, lead_of
from clew.dialects.openai_chat.lanes import UNBOUND, Lane, Lanes
from clew.dialects.openai_chat.moulds import Mould, mould_of
from clew.dialects.openai_chat.singles import NOTHING, Alone, settle, single, single_chunk
from clew.model.json import JsonObject

__all__ = ["Runs", "Word"]

_MOST_MOULDS: Final = 8
_MOST_TRIES: Final = 32
"""Moulds that nothing came out of, one after the other, until no more are made: then each event is its own kind."""


class Word(NamedTuple):
    """An event of a mould: what it says, and where it ends."""

    mould: Mould
    text: str
    end: int


class Runs:
    """`take` what needs no reading; after each event that was read, `learn` from it."""

    __slots__ = ("_before", "_heard", "_lane", "_lanes", "_lead", "_mould", "_moulds", "_tries")

    def __init__(self, lanes: Lanes, before: KnownMoulds | None = None) -> None:
        """`before` knows moulds from answers before this one."""
        self._lanes = lanes
        self._before = before
        self._lead: bytes | None = None
        self._moulds: list[Mould] = []
        self._mould: Mould | None = None
        self._lane: Lane | None = None
        self._heard: list[bytes] = []
        self._tries = 0

    @property
    def alone(self) -> Alone:
        """For a read that is one event and no more, as most are (`singles`). Until the next event is read."""
        if self._mould is None or self._lane is None:
            return NOTHING
        return Alone(single(self._mould, self._lane, self._heard), single_chunk(self._mould, self._lane, self._heard))

    def take(self, whole: bytes, at: int) -> tuple[bytes, int]:
        """The run that begins here as the client gets it, and where it ends; b"" if what comes has to be read."""
        mould, lane = self._mould, self._lane
        if lane is None or mould is None or not whole.startswith(mould.head, at):
            return b"", at
        if whole.find(b"\n", at, at + mould.around + lane.most) < 0:
            return b"", at  # the first word is too long
        words, text = lane.literals.run_of(_short(mould.words_at(whole, at), lane.most))
        if not words:
            return b"", at
        if lane.note is not None:
            self.settle()
            lane.note(text)
        return lane.told(words), at + sum(map(len, words)) + len(words) * mould.around

    def settle(self) -> None:
        """Lets the decoder know what went by. Before anything is read, and before anybody asks what was said."""
        if self._heard:
            assert self._lane is not None
            assert self._lane.note is not None
            settle(self._heard, self._lane.note)

    def word_at(self, whole: bytes, at: int) -> Word | None:
        """The event that begins here, if nothing in it but its word has to be read."""
        for mould in self._moulds:
            if mould.is_plain and (found := mould.word_at(whole, at)) is not None:
                self._tries = 0
                return Word(mould, *found)
        return None

    def learn(self, raw: bytes, chunk: JsonObject | None) -> None:
        """An event was read, and this was in it, if it was a chunk."""
        if self._lead is None and self._before is not None and chunk is not None:
            self._lead = lead_of(raw)
            self._moulds = self._before.behind(self._lead) if self._lead else []
        mould = self._known(raw) or self._new(raw, chunk) or self._mould
        if mould is not None:
            self.go_on(mould)

    def go_on(self, mould: Mould) -> None:
        """With events of this mould."""
        self._mould, self._lane = mould, self._lanes.at(mould.member)

    def _known(self, raw: bytes) -> Mould | None:
        for mould in self._moulds:
            if raw.startswith(mould.head) and raw.endswith(mould.tail):
                self._tries = 0
                return mould
        return None

    def _new(self, raw: bytes, chunk: JsonObject | None) -> Mould | None:
        if chunk is None or self._tries > _MOST_TRIES or (mould := mould_of(raw, chunk)) is None:
            return None
        self._tries += 1
        if len(self._moulds) >= _MOST_MOULDS:
            self._moulds.clear()
        self._moulds.append(mould)
        if self._lead and self._before is not None:
            self._before.remember(mould, self._lead)
        return mould


def _short(words: list[bytes], most: int) -> list[bytes]:
    """The first of these words, up to one that is too long."""
    if most == UNBOUND or not words or len(max(words, key=len)) <= most:
        return words
    return list(takewhile(lambda word: len(word) <= most, words))
