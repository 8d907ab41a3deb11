"""Pointers: the parts of a history that name recordings, computed from the request alone, before the store is asked.

These are the block keys and tool ids of its answers, and where those do not suffice, their places. A place is the weakest
name: it is only needed where neither an answer nor the one after it is found, so the places to look up are known once keys
and ids were looked up. The store follows links (what an answer followed, what its strand comes after); `links` says how far.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.recording import Recording, Shelf
from clew.model.request import RequestMessage
from clew.thinking.history import AnswerRun, answers_of
from clew.thinking.recognise import Context, names_itself, pointed_at, recognise


class Pointers(Struct, frozen=True):
    """The pointers of a whole history, oldest first."""

    runs: tuple[AnswerRun, ...] = ()

    @property
    def keys(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys([key for run in self.runs for key in run.keys]))

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([tool for run in self.runs for tool in run.said.ids]))

    @property
    def links(self) -> int:
        """How many links are followed at most from an answer. Beyond the history's length nothing can be put in place; one
        more tells a strand that is longer from one that is not."""
        return 2 * len(self.runs) + 2


def places_wanted(
    messages: Sequence[RequestMessage], pointers: Pointers, shelf: Shelf, context: Context
) -> tuple[bytes, ...]:
    """The places that recognition needs, given the recordings found by keys and ids: nearly always none."""
    if not pointers.runs or _all_found(pointers, shelf, context):
        return ()
    collector = _PlaceCollector(shelf)
    recognise(answers_of(messages), collector, context)
    return tuple(dict.fromkeys(collector.places))


def _all_found(pointers: Pointers, shelf: Shelf, context: Context) -> bool:
    """Whether no answer is in doubt. An answer that takes more than this to decide is in doubt."""
    newer: Recording | None = None
    for run in reversed(pointers.runs):
        if one := names_itself(run, shelf, context):
            newer = one
        elif newer is None:
            return False
        elif found := pointed_at(run, shelf):
            # It says something else: then a key counts by itself.
            is_one = found.count(found[0]) == len(found) and found[0].principal == context.principal
            if not is_one or not any(map(shelf.by_key, run.keys)):
                return False
            newer = found[0]
        else:
            before = shelf.by_id(newer.followed) if newer.followed else None
            newer = before if before and before.said == run.said else None
    return True


class _PlaceCollector:
    """A shelf that collects the places it is asked for, and finds nothing there."""

    def __init__(self, shelf: Shelf) -> None:
        self.places: list[bytes] = []
        self.by_id = shelf.by_id
        self.by_key = shelf.by_key
        self.by_tool = shelf.by_tool

    def by_place(self, place: bytes) -> Sequence[Recording]:
        self.places.append(place)
        return ()
