"""Turns: one question and what came of it, for apps to show."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct, structs

from clew.chat.counts import anthropic_usage
from clew.chat.marks import REQUEST, asks_for_summary, summarised
from clew.chat.messages import Message, ToolCall
from clew.chat.responses import format_response
from clew.model.broken_calls import arguments_in
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.recording import Recording
from clew.store.text import unfinished_word
from clew.store.values import Exchange, Outcome, Passage, TokenUsage

__all__ = ["Spot", "Turn", "is_summary", "message_of", "shown", "turn_of"]


class Spot(Struct, frozen=True):
    """A passage of a thread and what befell it; None where that is forgotten."""

    passage: Passage
    exchange: Exchange | None = None

    @property
    def id(self) -> str:
        return self.passage.exchange

    @property
    def follows(self) -> str:
        """The turn before it; "" for a beginning."""
        return (self.passage.recording.followed or "") if self.passage.recording else ""

    @property
    def answer(self) -> Recording | None:
        """The answer as far as it came; None if nothing did."""
        recording = self.passage.recording
        return recording if recording is not None and recording.blocks else None

    @property
    def outcome(self) -> Outcome:
        if self.exchange is not None:
            return self.exchange.outcome
        return "whole" if self.answer is not None and self.answer.whole else "cut"


class Turn(Struct, frozen=True, kw_only=True):
    """One question and what came of it.

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
    """What was altered on the way to the backend, and why."""
    attempts: int = 1
    """How many times it was asked, this one included."""
    follows: str = ""
    """The turn that it goes on from; "" for a beginning."""
    is_summary: bool = False
    """A summary that the conversation asked for by itself, because it had become too long."""
    ending: str = ""
    """How an answer ended that is not whole, in a word: `stopped` by the client, or `cut off` by its backend."""
    stands_for: str = ""
    """Of a line that begins with a summary: the turn up to which that stands for what was said. `branch` goes back there."""


def turn_of(spot: Spot, attempts: int = 1) -> Turn:
    exchange = spot.exchange
    asked = tuple(msgspec.json.decode(raw, type=JsonObject) for raw in spot.passage.asked)
    return Turn(
        id=spot.id,
        at=exchange.started if exchange else spot.passage.at,
        asked=asked,
        answer=message_of(spot),
        outcome=spot.outcome,
        backend=exchange.backend if exchange else spot.answer.origin.backend if spot.answer else "",
        model=exchange.model if exchange else spot.answer.origin.model if spot.answer else "",
        usage=exchange.usage if exchange else None,
        changes=exchange.changes if exchange else (),
        attempts=attempts,
        follows=spot.follows,
        is_summary=asks_for_summary(asked),
        ending=unfinished_word(exchange) if spot.outcome == "cut" else "",
        stands_for=summarised(asked),
    )


def is_summary(spot: Spot) -> bool:
    """Does the conversation ask for a summary of itself in this turn?"""
    return any(REQUEST in raw for raw in spot.passage.asked) and turn_of(spot).is_summary


def message_of(spot: Spot) -> Message | None:
    """The answer as a message: its maker's own blocks, in the order in which they were generated."""
    recording, exchange = spot.answer, spot.exchange
    if recording is None:
        return None
    usage = anthropic_usage(exchange.usage) if exchange and exchange.usage else None
    blocks = shown(recording)
    read = format_response({"content": blocks, "stop_reason": exchange.stop_reason or None if exchange else None})
    calls = _as_given(read.tool_calls, blocks, exchange)
    return structs.replace(read, tool_calls=calls, raw_content=[*blocks], origin=recording.origin, usage=usage)


def _as_given(calls: Iterable[ToolCall], blocks: Iterable[JsonObject], exchange: Exchange | None) -> tuple[ToolCall, ...]:
    """With what came of arguments that are no JSON object: nobody may run such a call with what could be read of it."""
    given = arguments_in(exchange.changes) if exchange else {}
    places = [at for at, block in enumerate(blocks) if block.get("type") == "tool_use"]
    return tuple(
        structs.replace(call, arguments=given[at]) if at in given else call for at, call in zip(places, calls, strict=True)
    )


def shown(recording: Recording) -> list[JsonObject]:
    """The maker's own blocks. Ids of calls are those that results are given for: a maker's need not be unique."""
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    ids = iter(recording.said.ids)
    return [_named(block, next(ids, "")) if block.get("type") == "tool_use" else block for block in blocks]


def _named(block: JsonObject, id: str) -> JsonObject:
    return {name: id if name == "id" and id else value for name, value in block.items()}
