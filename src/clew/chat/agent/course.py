"""Course: one run of an agent, from a question or a pending call to its end.

    ask ─► step ─► calls? ── no ──► answered, or of the wrong type: ask again
             ▲       │ yes
             │       ├─ a limit is reached ──► ends, the calls pending
             │       ├─ somebody decides about those that want it; one is put off ──► ends, all of them pending
             │       ├─ sub-agents that may be put off work first; one is ──► ends, all of them pending
             └───────┴─ all are run side by side; their results, in the order of the calls, are the next question

Straight-line code in one task. What happens is told as it happens, and telling waits until whoever listens wants the next:
so what they change takes effect exactly there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from clew.chat.agent.approval import Suspended
from clew.chat.agent.calls import outputs_of
from clew.chat.agent.events import Ending, LimitReached, OutputRejected, Result, RunEnded
from clew.chat.agent.limits import Reached
from clew.chat.agent.step import take_step
from clew.chat.agent.structured import again
from clew.chat.agent.working import Working
from clew.chat.answer import AsyncAnswer
from clew.chat.conversation import AsyncConversation
from clew.chat.messages import Message, ToolCall
from clew.errors import BackendBroken

__all__ = ["Course", "Start"]

Start: TypeAlias = Callable[[AsyncConversation], AsyncAnswer | None]
"""What a run begins with: a question, or nothing if there are calls to go on with."""

_ENDINGS: Final[dict[str, Ending]] = {
    "refusal": "refused",
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
}
"""By the stop reasons of answers that are none."""


class Course:
    """One run."""

    def __init__(self, working: Working) -> None:
        self._working = working
        self._message: Message | None = None
        self._turn = ""
        self._resumed = True
        """Were the calls that wait there before this run?"""
        self._has_called = False
        self._rejected = 0

    async def run(self, start: Start) -> Result[Any]:
        """To the end. Raises BackendError and its kin if a model call fails for good; `resume` tries it again."""
        clock = asyncio.timeout(self._working.spending.left)
        try:
            async with clock:
                result = await self._work(start(self._working.conversation))
        except TimeoutError:
            if not clock.expired():
                raise
            result = await self._limited(self._working.spending.late)
        finally:
            await self._working.hold.leave(self._working.conversation)
        await self._working.tell(RunEnded(result))
        return result

    async def _work(self, answer: AsyncAnswer | None) -> Result[Any]:
        if reached := self._working.spending.reached():
            return await self._limited(reached)
        self._look_back()
        while True:
            if answer is not None:
                await self._step(answer)
            calls, misfit = self._working.conversation.calls, self._misfit()
            if not calls and misfit is None:
                return await self._answered()
            if reached := self._working.spending.reached():
                return await self._limited(reached)
            try:
                answer = await self._called() if calls else await self._again(misfit or "")
            except Suspended as put_off:
                return self._result("suspended", waiting=put_off.calls)

    def _look_back(self) -> None:
        """The answer whose calls are pending, where that is what the run begins with."""
        turns = self._working.conversation.turns
        if turns and turns[-1].outcome == "whole":
            self._turn, self._message = turns[-1].id, turns[-1].answer

    async def _step(self, answer: AsyncAnswer) -> None:
        ended = await take_step(self._working, answer)
        self._message, self._resumed = ended.message, False
        self._turn = ended.turn.id if ended.turn else ""

    async def _called(self) -> AsyncAnswer:
        """The results as the next question. Raises Suspended if a decision is put off."""
        self._has_called = True
        conversation = self._working.conversation
        return conversation.results(await outputs_of(self._working, conversation.calls, self._turn, self._resumed))

    async def _again(self, why: str) -> AsyncAnswer:
        """The question once more: the answer is not of the type that was asked for. Raises BackendBroken in the end."""
        if self._rejected >= self._working.plan.retries:
            raise BackendBroken(f"the answer is not of the type that was asked for: {why}")
        self._rejected += 1
        await self._working.tell(OutputRejected(self._working.spending.steps, why))
        return self._working.conversation.ask(again(why))

    def _misfit(self) -> str | None:
        """Why the answer is not of the type that was asked for; None if it is, or if there is none."""
        form = self._working.plan.form
        if form is None or self._message is None or self._ending != "answered":
            return None
        try:
            form.read(self._text)
        except msgspec.MsgspecError as error:
            return str(error)
        return None

    # Ends.

    async def _answered(self) -> Result[Any]:
        if self._has_called:
            await self._working.hold.end(self._working.conversation)
        form, ending = self._working.plan.form, self._ending
        output = None if ending != "answered" else form.read(self._text) if form else self._text
        return self._result(ending, output=output)

    async def _limited(self, reached: Reached) -> Result[Any]:
        await self._working.tell(LimitReached(reached))
        return self._result("limit", limit=reached)

    def _result(
        self, ending: Ending, *, output: object = None, limit: Reached | None = None, waiting: tuple[ToolCall, ...] = ()
    ) -> Result[Any]:
        conversation, spending = self._working.conversation, self._working.spending
        return Result(
            ending=ending,
            thread=conversation.thread,
            output=output,
            message=self._message,
            pending=tuple(conversation.calls),
            waiting=waiting,
            limit=limit,
            steps=spending.steps,
            usage=spending.usage,
            cost=spending.cost,
        )

    @property
    def _ending(self) -> Ending:
        return _ENDINGS.get(self._message.stop_reason or "", "answered") if self._message else "answered"

    @property
    def _text(self) -> str:
        return (self._message.content if self._message else None) or ""
