"""Neighbouring events of a stream that differ in one JSON string: their texts are read in one call.

A vendor spells the events of one answer alike, so most differ in the text alone that they add. Of an event that was read,
it is known what stands before that string and behind it (`spelling_of`). What is spelled so, says another text and the same
otherwise: a string ends where its closing quote stands, and no JSON string holds a line break. (Events are told apart by the
empty line alone: a search for all that stands between two texts is prepared again for each, and that takes longer.)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter, methodcaller
from typing import Final, NamedTuple

from clew.wire.events import marked, read_strings

_MOST_BYTES: Final = 64 * 1024
"""That are looked through at once."""
_END: Final = b"\n\n"


class AlikeTexts(NamedTuple):
    """The texts of events that are spelled alike, and where the last of them ends."""

    texts: list[str]
    end: int


class Spelling:
    """How events are spelled around one string. Whatever is done for each of them is done in C."""

    __slots__ = ("_begins", "_cut", "_ends", "_head")

    def __init__(self, head: bytes, tail: bytes) -> None:
        """`head` ends with the quote that opens the string, `tail` begins with the one that closes it."""
        self._head = head
        self._begins: Callable[[bytes], bool] = methodcaller("startswith", head)
        self._ends: Callable[[bytes], bool] = methodcaller("endswith", tail, len(head))
        self._cut: Callable[[bytes], bytes] = itemgetter(slice(len(head), -len(tail)))

    def read(self, whole: bytes, at: int) -> AlikeTexts | None:
        """Those that begin at this byte of whole events; None if the first is spelled otherwise, or cannot be read so."""
        if not whole.startswith(self._head, at):
            return None
        *events, _ = whole[at : at + _MOST_BYTES].split(_END)
        looks = [list(map(look, events)) for look in (self._begins, self._ends)]
        del events[min([each.index(False) for each in looks if False in each], default=len(events)) :]
        strings = list(map(self._cut, events))
        texts = read_strings(marked(strings), len(strings)) if strings else None
        return None if texts is None else AlikeTexts(texts, at + sum(map(len, events)) + len(events) * len(_END))


@lru_cache(maxsize=32)
def _member(name: str) -> re.Pattern[bytes]:
    return re.compile(rb'"%b": ?"((?:[^"\\]|\\.)*+)"' % re.escape(name.encode()))


def spelling_of(event: bytes, name: str) -> Spelling | None:
    """How an event is spelled around the string under this name; None if it has not just one."""
    found = list(_member(name).finditer(event))
    if len(found) != 1:
        return None
    return Spelling(event[: found[0].start(1)], event[found[0].end(1) :].removesuffix(_END))
