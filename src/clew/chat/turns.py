"""The turns of a thread: as they are stored, as apps show them, and as a tree.

A conversation is a line in the tree, from a beginning to a last turn. Continuing from an earlier turn makes another line,
and no turn is ever lost. A question that failed and was asked again is one turn with several attempts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct, structs

from clew.chat.messages import REQUEST, Message, ToolCall, asks_for_summary, format_response, summarised_turn
from clew.chat.metrics import anthropic_usage
from clew.model.change import Change, arguments_in
from clew.model.json import JsonObject
from clew.model.recording import Recording
from clew.model.turn import Exchange, Outcome, TokenUsage
from clew.store.text import unfinished_word
from clew.store.values import Passage


class StoredTurn(Struct, frozen=True):
    """A question and its recording, with the exchange; None if the exchange is deleted."""

    passage: Passage
    exchange: Exchange | None = None

    @property
    def id(self) -> str:
        return self.passage.exchange

    @property
    def at(self) -> float:
        """When the turn began."""
        return self.exchange.started if self.exchange else self.passage.at

    @property
    def asked(self) -> tuple[JsonObject, ...]:
        """The messages of the question."""
        return tuple(msgspec.json.decode(raw, type=JsonObject) for raw in self.passage.asked)

    @property
    def follows(self) -> str:
        """The turn before it; "" for a beginning."""
        return (self.passage.recording.followed or "") if self.passage.recording else ""

    @property
    def answer(self) -> Recording | None:
        """The answer, also a partial one; None if there is none."""
        recording = self.passage.recording
        return recording if recording is not None and recording.blocks else None

    @property
    def outcome(self) -> Outcome:
        if self.exchange is not None:
            return self.exchange.outcome
        return "whole" if self.answer is not None and self.answer.whole else "cut"


class Turn(Struct, frozen=True, kw_only=True):
    """One question and its answer.

    `outcome` is `whole`; `cut` (broken off, with the blocks that were finished); `refused` or `failed` (there is no answer,
    and `retry` asks again); or `open` (under way).

    >>> asked = {"role": "user", "content": "Hello!"}
    >>> Turn(id="1a", at=0.0, asked=(asked,), answer=None, outcome="refused").attempts
    1
    """

    id: str
    at: float
    asked: tuple[JsonObject, ...]
    """The user's messages, as they were said."""
    answer: Message | None
    outcome: Outcome
    backend: str = ""
    model: str = ""
    usage: TokenUsage | None = None
    changes: tuple[Change, ...] = ()
    """The changes on the way to the backend, and why."""
    attempts: int = 1
    """How many times it was asked, this one included."""
    follows: str = ""
    """The turn before it; "" at the beginning."""
    is_summary: bool = False
    """Is this a summary that the conversation itself asked for, because it was too long?"""
    ending: str = ""
    """How an answer ended that is not whole, in a word: `stopped` by the client, or `cut off` by its backend."""
    stands_for: str = ""
    """Of a line that begins with a summary: the last turn that the summary replaces. `branch` goes back there."""


def turn_of(stored: StoredTurn, attempts: int = 1) -> Turn:
    """The turn for an app to show."""
    exchange, asked = stored.exchange, stored.asked
    return Turn(
        id=stored.id,
        at=stored.at,
        asked=asked,
        answer=message_of(stored),
        outcome=stored.outcome,
        backend=exchange.backend if exchange else stored.answer.origin.backend if stored.answer else "",
        model=exchange.model if exchange else stored.answer.origin.model if stored.answer else "",
        usage=exchange.usage if exchange else None,
        changes=exchange.changes if exchange else (),
        attempts=attempts,
        follows=stored.follows,
        is_summary=asks_for_summary(asked),
        ending=unfinished_word(exchange) if stored.outcome == "cut" else "",
        stands_for=summarised_turn(asked),
    )


def message_of(stored: StoredTurn) -> Message | None:
    """The answer as a message: the maker's own blocks, in the order in which they were generated.

    The ids of calls are the client's, which results refer to: the maker's own ids need not be unique.
    """
    recording, exchange = stored.answer, stored.exchange
    if recording is None:
        return None
    ids = iter(recording.said.ids)
    # Nobody may run a call with the readable part of broken arguments, so such a call has the model's own text.
    broken = arguments_in(exchange.changes) if exchange else {}
    blocks: list[JsonObject] = []
    arguments: list[str | None] = []
    for index, raw in enumerate(recording.blocks):
        block = msgspec.json.decode(raw, type=JsonObject)
        if block.get("type") == "tool_use":
            arguments.append(broken.get(index))
            if id := next(ids, ""):
                block = {name: id if name == "id" else value for name, value in block.items()}
        blocks.append(block)
    read = format_response({"content": blocks, "stop_reason": exchange.stop_reason or None if exchange else None})
    calls = tuple(
        call if own is None else structs.replace(call, arguments=own)
        for call, own in zip(read.tool_calls, arguments, strict=True)
    )
    usage = anthropic_usage(exchange.usage) if exchange and exchange.usage else None
    return structs.replace(read, tool_calls=calls, raw_content=[*blocks], origin=recording.origin, usage=usage)


def waiting_calls(stored: StoredTurn | None) -> Sequence[ToolCall]:
    """The calls of a turn's answer, which want results. An answer that was cut has none."""
    message = message_of(stored) if stored is not None and stored.outcome == "whole" else None
    return message.tool_calls if message else ()


class HasRecording(Protocol):
    """Something with an answer, if there is one: a `Passage`, a `TurnRecord`."""

    @property
    def recording(self) -> Recording | None: ...


R = TypeVar("R", bound=HasRecording)


def line_of(turns: Sequence[R]) -> list[R]:
    """The newest answer and all answers that it followed, oldest first. A rewound thread has other branches too."""
    by_id = {turn.recording.id: turn for turn in turns if turn.recording and turn.recording.blocks}
    at = next((turn.recording for turn in reversed(turns) if turn.recording and turn.recording.blocks), None)
    line: list[R] = []
    while at is not None and (turn := by_id.pop(at.id, None)):
        line.append(turn)
        before = by_id.get(at.followed or "")
        at = before.recording if before else None
    return line[::-1]


class Tree:
    """The stored turns of one thread by their ids, oldest first."""

    def __init__(self, stored_turns: Iterable[StoredTurn] = ()) -> None:
        self._turns: dict[str, StoredTurn] = {}
        for stored in stored_turns:
            self.put(stored)

    def __contains__(self, id: str) -> bool:
        return id in self._turns

    def __getitem__(self, id: str) -> StoredTurn:
        return self._turns[id]

    def __iter__(self) -> Iterator[StoredTurn]:
        return iter(self._turns.values())

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def is_open(self) -> bool:
        """Is a turn under way, as far as this process knows?"""
        return bool(self.open_turn)

    @property
    def open_turn(self) -> str:
        """The newest turn that is under way; "" if there is none."""
        return next((id for id, stored in reversed(self._turns.items()) if stored.outcome == "open"), "")

    def get(self, id: str) -> StoredTurn | None:
        return self._turns.get(id)

    def put(self, stored: StoredTurn) -> None:
        """Add a turn, or replace it. A turn without a recording has no known place, and is left out."""
        if stored.passage.recording is not None:
            self._turns[stored.id] = stored

    @property
    def newest(self) -> str:
        """The last turn that is no request for a summary; "" if there is none."""
        said = (id for id, stored in reversed(self._turns.items()) if not _is_summary(stored))
        return next(said, "") or next(reversed(self._turns), "")

    def line(self, tip: str) -> list[StoredTurn]:
        """The turns from the beginning to this one."""
        line: list[StoredTurn] = []
        seen: set[str] = set()
        while tip in self._turns and tip not in seen:
            seen.add(tip)
            line.append(self._turns[tip])
            tip = line[-1].follows
        return line[::-1]

    def last_answered(self, tip: str) -> str:
        """The last turn up to this one that has an answer; "" if there is none."""
        return next((stored.id for stored in reversed(self.line(tip)) if stored.answer is not None), "")

    def followers(self, id: str) -> int:
        """How many turns follow this one directly."""
        return sum(stored.passage.recording is not None and stored.passage.recording.followed == id for stored in self)

    def goes_on_after(self, id: str) -> bool:
        """Does a turn with an answer, or one that is under way, follow this one directly?"""
        return any(
            stored.follows == id and (stored.answer is not None or stored.outcome == "open") and not _is_summary(stored)
            for stored in self
        )

    def onward(self, tip: str) -> str:
        """The newest turn after this one, directly or not; this one if there is none."""
        reached = {tip}
        for stored in self._turns.values():  # each turn is newer than the one that it follows
            if stored.follows in reached:
                reached.add(stored.id)
        found = (id for id in reversed(self._turns) if id in reached and not _is_summary(self._turns[id]))
        return next(found, tip)

    def tips(self) -> list[str]:
        """The last turn of each line, oldest first."""
        followed = {stored.follows for stored in self._turns.values()}
        newest = {_question(stored): stored.id for stored in self._turns.values()}
        return [
            stored.id
            for stored in self._turns.values()
            if stored.id not in followed and (stored.answer is not None or newest[_question(stored)] == stored.id)
        ]

    def attempts(self) -> dict[str, int]:
        """How many times each question was asked: the failed attempts before it, and itself."""
        failed: Counter[tuple[str, tuple[bytes, ...]]] = Counter()
        attempts: dict[str, int] = {}
        for stored in self._turns.values():
            question = _question(stored)
            attempts[stored.id] = 1 + failed[question]
            failed[question] += stored.answer is None
        return attempts


def _question(stored: StoredTurn) -> tuple[str, tuple[bytes, ...]]:
    """The question, and the turn before it."""
    return stored.follows, stored.passage.asked


def _is_summary(stored: StoredTurn) -> bool:
    """Does the conversation ask for a summary of itself in this turn?"""
    return any(REQUEST in raw for raw in stored.passage.asked) and turn_of(stored).is_summary
