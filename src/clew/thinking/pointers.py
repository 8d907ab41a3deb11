"""Pointers: the parts of a history that name recordings, computed from the request alone, before the store is asked.

These are the block keys and tool ids of its answers, and where those do not suffice, their places. A place is the weakest
name: it is only needed where neither an answer nor the one after it is found, so the places to look up are known once keys
and ids were looked up. The store follows links (what an answer followed, what its strand comes after); `links` says how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from clew.model.past import Fold, folded
from clew.model.recording import AnswerContent, Recording, Shelf
from clew.model.request import RequestMessage
from clew.thinking.history import answers_of, blocks_in
from clew.thinking.keys import answer_content, key_of
from clew.thinking.recognise import Context, recognise


class AnswerPointers(NamedTuple):
    """The pointers of one answer (assistant messages in a row), and its visible content."""

    keys: tuple[bytes, ...] = ()
    tools: tuple[str, ...] = ()
    said: AnswerContent = AnswerContent()


class Pointers(Struct, frozen=True):
    """The pointers of a whole history, oldest first."""

    runs: tuple[AnswerPointers, ...] = ()

    @property
    def keys(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys([key for run in self.runs for key in run.keys]))

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([tool for run in self.runs for tool in run.tools]))

    @property
    def links(self) -> int:
        """How many links are followed at most from an answer. Beyond the history's length nothing can be put in place; one
        more tells a strand that is longer from one that is not."""
        return 2 * len(self.runs) + 2


class _Runs(NamedTuple):
    """The answers that have ended, and the one that may go on."""

    over: tuple[AnswerPointers, ...] = ()
    last: AnswerPointers | None = None


def _run_on(before: _Runs, messages: Sequence[RequestMessage], at: int) -> _Runs:
    over, last = [*before.over], before.last
    for message in messages:
        if message.role == "assistant":
            blocks, begun = blocks_in(message), last or AnswerPointers()
            calls = [block.id for block in blocks if block.type.endswith("tool_use")]
            said = answer_content(blocks)
            last = AnswerPointers(
                begun.keys + tuple([key for block in blocks if (key := key_of(block))]),
                begun.tools + tuple([id for id in calls if isinstance(id, str) and id]),
                AnswerContent(begun.said.ids + said.ids, begun.said.texts + said.texts),
            )
        elif message.role != "system" and last:
            over.append(last)
            last = None
    return _Runs(tuple(over), last)


_RUNS = Fold(_Runs(), _run_on)


def pointers_of(messages: Sequence[RequestMessage]) -> Pointers:
    """The keys and ids in a history."""
    over, last = folded(messages, _RUNS)
    return Pointers((*over, last) if last else over)


def places_wanted(
    messages: Sequence[RequestMessage], pointers: Pointers, shelf: Shelf, context: Context
) -> tuple[bytes, ...]:
    """The places that recognition needs, given the recordings found by keys and ids: nearly always none."""
    if not pointers.runs or _all_found(pointers, shelf, context):
        return ()
    collector = _PlaceCollector(shelf)
    recognise(answers_of(messages), collector, context)
    return tuple(dict.fromkeys(collector.places))


def names_itself(run: AnswerPointers, shelf: Shelf, context: Context) -> Recording | None:
    """The recording of an answer for which no other answer has to be found: all that points at one points at this one, and
    it says what the answer says."""
    found = _pointed_at(run, shelf)
    if not found or found.count(found[0]) < len(found):
        return None
    return found[0] if found[0].principal == context.principal and found[0].said == run.said else None


def _pointed_at(run: AnswerPointers, shelf: Shelf) -> list[Recording]:
    found = [each for key in run.keys if (each := shelf.by_key(key))]
    for tool in run.tools:
        found += shelf.by_tool(tool)
    return found


def _all_found(pointers: Pointers, shelf: Shelf, context: Context) -> bool:
    """Whether no answer is in doubt. An answer that takes more than this to decide is in doubt."""
    newer: Recording | None = None
    for run in reversed(pointers.runs):
        if one := names_itself(run, shelf, context):
            newer = one
        elif newer is None:
            return False
        elif found := _pointed_at(run, shelf):
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
