"""Runs: events that differ by a word only, translated without being read.

After an event was read, its mould (`moulds`) and the lane of its words (`lanes`) are known. As long as events come out of
that mould, their words are taken out together, matched once, and put into the client's frame: they stay as JSON wrote
them. The first that does not fit ends the run and is read; before that the decoder hears of all that went by.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final, NamedTuple

from clew.dialects.openai_chat.unread.known_moulds import KnownMoulds, lead_of
from clew.dialects.openai_chat.unread.lanes import UNBOUND, Lane, Lanes
from clew.dialects.openai_chat.unread.lines import Lines
from clew.dialects.openai_chat.unread.moulds import Mould, is_silent, mould_of
from clew.dialects.openai_chat.unread.singles import Singles
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

    __slots__ = ("_before", "_lane", "_lanes", "_lead", "_mould", "_moulds", "_tries", "singles")

    def __init__(self, lanes: Lanes, before: KnownMoulds | None = None) -> None:
        """`before` knows moulds from answers before this one."""
        self._lanes = lanes
        self._before = before
        self._lead: bytes | None = None
        self._moulds: list[Mould] = []
        self._mould: Mould | None = None
        self._lane: Lane | None = None
        self._tries = 0
        self.singles = Singles()
        """For reads that are one event and no more, as most are, from `come_alone` until the next event is read."""

    def come_alone(self, *, clean: bool) -> None:
        """All that came was looked at; if it is `clean`, what comes next begins with an event."""
        if clean and self._mould is not None and self._lane is not None:
            self.singles.bind(self._mould, self._lane)
        else:
            self.singles.release()

    def take(self, read: Lines, at: int) -> tuple[bytes, int]:
        """The run that begins here as the client gets it, and where it ends; b"" if what comes has to be read."""
        mould, lane, whole = self._mould, self._lane, read.whole
        if lane is None or mould is None or not whole.startswith(mould.head, at):
            return b"", at
        end, around = mould.end_at(whole, at), mould.around
        if not end or end - at - around > lane.most:
            return b"", at  # it is another event, or its word is too long
        words, text = lane.literals.run_of(_short(mould.words_at(read, at), lane.most))
        if not words:
            return b"", at
        if lane.note is not None:
            self.singles.settle()
            lane.note(text)
        told = lane.told(words)
        end = at + len(told) + len(words) * (around - lane.around)
        read.passed(len(words), end)
        return told, end

    def word_at(self, whole: bytes, at: int) -> Word | None:
        """The event that begins here, if nothing in it but its word has to be read."""
        for mould in self._moulds:
            end = mould.end_at(whole, at) if mould.is_plain and whole.startswith(mould.head, at) else 0
            if end and (text := mould.word_in(whole, at, end)):
                self._tries = 0
                return Word(mould, text, end)
        return None

    def opening_at(self, whole: bytes, at: int) -> int:
        """Where the event that begins here ends, if it is the first, and is known to say nothing; else 0."""
        if self._lead is not None or self._before is None:
            return 0
        end = whole.find(b"\n", at) + 2
        event = whole[at:end]
        lead = lead_of(event)
        if not lead or not self._before.opens(event, lead):
            return 0
        self._lead, self._moulds = lead, self._before.behind(lead)
        return end

    def learn(self, raw: bytes, chunk: JsonObject) -> None:
        """An event was read, and this was in it."""
        if self._lead is None and self._before is not None:
            self._meet(raw, chunk, self._before)
        mould = self._known(raw) or self._new(raw, chunk) or self._mould
        if mould is not None:
            self.go_on(mould)

    def _meet(self, raw: bytes, chunk: JsonObject, before: KnownMoulds) -> None:
        """The first chunk was read."""
        self._lead = lead_of(raw)
        if self._lead:
            self._moulds = before.behind(self._lead)
            if is_silent(chunk):
                before.remember_opening(raw, self._lead)

    def go_on(self, mould: Mould) -> None:
        """Take further events of this mould, as long as they come."""
        self._mould, self._lane = mould, self._lanes.at(mould.member)

    def halt(self) -> None:
        """What comes next has to be read."""
        self._lane = None

    def _known(self, raw: bytes) -> Mould | None:
        for mould in self._moulds:
            if raw.startswith(mould.head) and raw.endswith(mould.tail):
                self._tries = 0
                return mould
        return None

    def _new(self, raw: bytes, chunk: JsonObject) -> Mould | None:
        if self._tries > _MOST_TRIES or (mould := mould_of(raw, chunk)) is None:
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
