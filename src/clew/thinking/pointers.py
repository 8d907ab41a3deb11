"""Pointers: what of a history names recordings, worked out from the request alone, before anybody looks them up.

The block keys and tool ids of its answers, and where those do not do, their places. A place is the weakest name: it is only
asked for where neither an answer nor the one after it is found, so which places are wanted is known once keys and ids were
looked up. Links (what an answer followed, what its strand comes after) are the store's to follow; `links` says how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from clew.model.past import Fold, folded
from clew.model.recording import AnswerContent, Recording, Shelf
from clew.model.request import Message
from clew.thinking.history import answers_of, blocks_in
from clew.thinking.keys import answer_content, key_of
from clew.thinking.recognise import Context, recognise

__all__ = ["AnswerPointers", "Pointers", "places_wanted", "pointers_of"]


class AnswerPointers(NamedTuple):
    """Of one answer, that is of assistant messages in a row: what points at its recording, and what it says."""

    keys: tuple[bytes, ...] = ()
    tools: tuple[str, ...] = ()
    said: AnswerContent = AnswerContent()


class Pointers(Struct, frozen=True):
    """Of a whole history, oldest first."""

    runs: tuple[AnswerPointers, ...] = ()

    @property
    def keys(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys([key for run in self.runs for key in run.keys]))

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([tool for run in self.runs for tool in run.tools]))

    @property
    def links(self) -> int:
        """How many links are followed at most from an answer: beyond the history's length nothing can be put in place, and
        one more tells a strand that is longer from one that is not."""
        return 2 * len(self.runs) + 2


class _Runs(NamedTuple):
    """Those that are over, and the messages of the one that may go on."""

    over: tuple[AnswerPointers, ...] = ()
    last: tuple[Message, ...] = ()


def _run_on(before: _Runs, messages: Sequence[Message], at: int) -> _Runs:
    over, last = [*before.over], [*before.last]
    for message in messages:
        if message.role == "assistant":
            last.append(message)
        elif message.role != "system" and last:
            over.append(_run_of(last))
            last.clear()
    return _Runs(tuple(over), tuple(last))


def _run_of(messages: Sequence[Message]) -> AnswerPointers:
    blocks = [block for message in messages for block in blocks_in(message)]
    return AnswerPointers(
        tuple([key for block in blocks if (key := key_of(block))]),
        tuple([block.id for block in blocks if block.type.endswith("tool_use") and isinstance(block.id, str) and block.id]),
        answer_content(blocks),
    )


_RUNS = Fold(_Runs(), _run_on)


def pointers_of(messages: Sequence[Message]) -> Pointers:
    """What a history points at by keys and ids."""
    over, last = folded(messages, _RUNS)
    return Pointers((*over, _run_of(last)) if last else over)


def places_wanted(messages: Sequence[Message], pointers: Pointers, shelf: Shelf, context: Context) -> tuple[bytes, ...]:
    """The places that recognition would look at, given what was found by keys and ids: nearly always none."""
    if not pointers.runs or _all_found(pointers, shelf, context):
        return ()
    noting = _Noting(shelf)
    recognise(answers_of(messages), noting, context)
    return tuple(dict.fromkeys(noting.places))


def _all_found(pointers: Pointers, shelf: Shelf, context: Context) -> bool:
    """Whether no answer is in doubt. What takes more than this to tell is in doubt."""
    newer: Recording | None = None
    for run in reversed(pointers.runs):
        exact = {found.id: found for key in run.keys if (found := shelf.by_key(key))}
        found = exact | {each.id: each for tool in run.tools for each in shelf.by_tool(tool)}
        if len(found) > 1:
            return False
        one = next(iter(found.values()), None)
        if one is None:
            if newer is None:
                return False
            before = shelf.by_id(newer.followed) if newer.followed else None
            newer = before if before and before.said == run.said else None
        elif one.principal != context.principal or (one.said != run.said and not (exact and newer)):
            return False
        else:
            newer = one
    return True


class _Noting:
    """A shelf that notes the places it is asked for. They are not on it."""

    def __init__(self, shelf: Shelf) -> None:
        self.places: list[bytes] = []
        self.by_id = shelf.by_id
        self.by_key = shelf.by_key
        self.by_tool = shelf.by_tool

    def by_place(self, place: bytes) -> Sequence[Recording]:
        self.places.append(place)
        return ()
