"""An answer whose question did not fit any more: the conversation is compacted, once, and asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, structs

from clew.chat.compaction import beginning, is_overflow, summary_request
from clew.chat.desk import Begun, Desk, Hearing, Question
from clew.chat.events import Compacted, Said
from clew.chat.turns import Spot, message_of, turn_of
from clew.errors import ClewError
from clew.model.json import JsonObject

__all__ = ["Compacting"]

_NO_TOOLS: Final[JsonObject] = {"type": "none"}


class _Summary(Struct, frozen=True):
    """What the model wrote, in which turn, and the turns that it does not tell of."""

    spot: Spot
    text: str
    since: Sequence[Spot]


class Compacting:
    """Hears the answer to a question; to a shorter one, if that does not fit. There is no third: it cannot loop."""

    def __init__(self, desk: Desk, question: Question, first: Hearing, go_to: Begun) -> None:
        self._desk = desk
        self._question = question
        self._answer = first
        self._now = first
        """What is heard now: that answer, or a summary."""
        self._go_to = go_to
        self._tried = False
        self._left = False
        self._turnstile = asyncio.Lock()
        """Whoever stops it may be another than who listens, and waits until nothing more is asked."""
        self._failure: ClewError | None = None

    @property
    def id(self) -> str:
        return self._answer.id

    @property
    def failure(self) -> BaseException | None:
        return self._failure or self._answer.failure

    async def heard(self) -> Sequence[Said]:
        said = await self._now.heard()
        if said or self._tried or self._left:
            return said
        self._tried = True
        async with self._turnstile:
            return await self._again()

    async def kept(self) -> None:
        async with self._turnstile:
            await self._now.kept()
            if self._answer is not self._now:
                await self._answer.kept()

    def leave(self) -> None:
        self._left = True
        self._now.leave()

    async def _again(self) -> Sequence[Said]:
        """Nothing, unless it was refused because it does not fit."""
        await self._now.kept()
        if not self._question.follows or not is_overflow(self._now.failure):
            return ()
        try:
            return await self._compacted()
        except ClewError as error:
            self._failure = error
            return ()

    async def _asked(self, question: Question) -> Hearing:
        """Who was left meanwhile listens to nothing new."""
        hearing = await self._desk.ask(question, self._go_to)
        if self._left:
            hearing.leave()
        return hearing

    async def _compacted(self) -> Sequence[Said]:
        """On a new line. Without a summary, all stays as it is: the question was refused."""
        refused, last = self._answer, self._desk.tree[self._question.follows]
        summary = await self._summarised(last)
        self._now = refused
        self._go_to(refused.id)
        if summary is None or self._left:
            return ()
        first = beginning(summary.text, last, summary.since, self._question.asked)
        self._answer = self._now = await self._asked(structs.replace(self._question, asked=(first,), follows=""))
        return [Compacted(turn_of(self._desk.tree[refused.id]), turn_of(summary.spot))]

    async def _summarised(self, last: Spot) -> _Summary | None:
        """By whoever can hold the line: the next only where the one before could not."""
        for question, since in self._ways(last):
            self._now = await self._asked(question)
            while await self._now.heard():
                pass
            await self._now.kept()
            spot = self._desk.tree[self._now.id]
            message = message_of(spot)
            if message is not None and message.content and spot.outcome == "whole":
                return _Summary(spot, message.content, since)
            if self._left or not is_overflow(self._now.failure):
                return None
        return None

    def _ways(self, last: Spot) -> Iterator[tuple[Question, Sequence[Spot]]]:
        """Whoever is asked; whoever answered last, with a larger window perhaps; and for the older half alone."""
        wishes = structs.replace(self._question.wishes, schema=None, tool_choice=_NO_TOOLS)
        own = structs.replace(self._question, asked=(summary_request(last),), follows=last.id, wishes=wishes)
        yield own, ()
        maker = last.exchange
        if maker is not None and maker.backend in self._desk.backends and maker.asked_model != own.model:
            yield structs.replace(own, backend=maker.backend, model=maker.asked_model), ()
        line = self._desk.tree.line(last.id)
        if len(line) > 1:
            half = len(line) // 2
            older = line[half - 1]
            yield structs.replace(own, asked=(summary_request(older),), follows=older.id), line[half:]
