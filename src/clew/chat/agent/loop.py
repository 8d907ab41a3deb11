"""The loop of an agent's run, from a question or pending calls to its end.

    ask ─► step ─► calls? ── no ──► answered, or of the wrong type: ask again
             ▲       │ yes
             │       ├─ a limit is reached ──► ends, the calls pending
             │       ├─ decisions about calls that need one; one is put off ──► ends, all calls pending
             │       ├─ sub-agents that may be put off work first; one is ──► ends, all calls pending
             └───────┴─ all calls run side by side; their results, in the order of the calls, are the next question

It is straight-line code in one task. Each event waits until the listener wants the next one, so a change that a listener
makes takes effect exactly there.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from clew.chat.agent.calls import outputs_of
from clew.chat.agent.events import (
    CallProposed,
    Ending,
    LimitReached,
    OutputRejected,
    Result,
    RunEnded,
    StepFinished,
    StepRetried,
    StepStarted,
)
from clew.chat.agent.plan import Reached, ask_for_schema, backend_of
from clew.chat.agent.run import RunContext
from clew.chat.agent.structured import correction
from clew.chat.agent.tools import Suspended, ToolFailed
from clew.chat.answer import AsyncAnswer
from clew.chat.conversation import AsyncConversation
from clew.chat.messages import Content, Message, ToolCall, blocks_in, result_block
from clew.chat.prices import Cost, cost_of_turn
from clew.chat.service import Compacted, Ended
from clew.chat.turns import Turn
from clew.errors import BackendBroken, BackendError, BackendOverloaded, BackendTimedOut, BackendUnreachable, RequestInvalid
from clew.model.json import JsonObject

Start: TypeAlias = Callable[[AsyncConversation], AsyncAnswer | None]
"""Makes the first question of a run; None if there are calls to continue with."""

_ENDINGS: Final[dict[str, Ending]] = {"refusal": "refused", "max_tokens": "cut", "model_context_window_exceeded": "cut"}
"""The stop reasons with which an answer does not count as one."""

_TEMPORARY: Final = (BackendBroken, BackendOverloaded, BackendTimedOut, BackendUnreachable)
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_LONGEST_ASKED = 300.0
"""A backend that asks for a longer pause is not tried again."""
_NOT_RUN: Final = "Not run: the work stopped before this call, and something else was asked."


def ask_question(conversation: AsyncConversation, content: Content) -> AsyncAnswer:
    """Ask. Pending calls get a result that says they were not run; results without an answer go with the question."""
    results: list[JsonObject] = []
    if calls := conversation.calls:
        results = [result_block(call.id, ToolFailed(_NOT_RUN)) for call in calls]
    elif (turns := conversation.turns) and turns[-1].answer is None:
        asked = (block for message in turns[-1].asked for block in blocks_in(message))
        results = [block for block in asked if block.get("type") == "tool_result"]
    said = [content] if isinstance(content, str) else content
    return conversation.ask([*results, *said] if results else content)


def resume_last(conversation: AsyncConversation) -> AsyncAnswer | None:
    """Ask the last question again if it failed; None if there are calls to continue with, or there is an answer.

    Raises RequestInvalid if nothing was said.
    """
    turns = conversation.turns
    if not turns:
        raise RequestInvalid("nothing was asked yet, so there is nothing to resume")
    return None if turns[-1].outcome == "whole" else conversation.retry()


class AgentLoop:
    """The steps of one run: the model answers, its calls run, their results go back."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._conversation, self._spending = context.conversation, context.spending
        self._message: Message | None = None
        self._turn = ""
        self._resumed = True
        """Were the pending calls there before this run?"""
        self._has_called = False
        self._rejected = 0

    async def run(self, start: Start) -> Result[Any]:
        """Run to the end. Raises BackendError if a model call fails for good; `resume` tries it again."""
        clock = asyncio.timeout(self._spending.left)
        try:
            async with clock:
                result = await self._work(start(self._conversation))
        except TimeoutError:
            if not clock.expired():
                raise
            result = await self._end_at_limit(self._spending.late)
        finally:
            await self._context.claim.leave(self._conversation)
        await self._context.emit(RunEnded(result))
        return result

    async def _work(self, answer: AsyncAnswer | None) -> Result[Any]:
        if reached := self._spending.reached():
            return await self._end_at_limit(reached)
        turns = self._conversation.turns
        if turns and turns[-1].outcome == "whole":  # the run may begin with the calls of this answer
            self._turn, self._message = turns[-1].id, turns[-1].answer
        while True:
            if answer is not None:
                ended = await _take_step(self._context, answer)
                self._message, self._resumed = ended.message, False
                self._turn = ended.turn.id if ended.turn else ""
            calls, (output, misfit) = self._conversation.calls, self._read_output()
            if not calls and misfit is None:
                if self._has_called:
                    await self._context.claim.end(self._conversation)
                return self._result(self._ending, output=output)
            if reached := self._spending.reached():
                return await self._end_at_limit(reached)
            if not calls:
                answer = await self._ask_again(misfit or "")
                continue
            self._has_called = True
            try:
                outputs = await outputs_of(self._context, calls, self._turn, self._resumed)
            except Suspended as put_off:
                return self._result("suspended", waiting=put_off.calls)
            answer = self._conversation.results(outputs)

    async def _ask_again(self, why: str) -> AsyncAnswer:
        """Ask for an answer of the right type. Raises BackendBroken after too many wrong ones."""
        if self._rejected >= self._context.plan.retries:
            raise BackendBroken(f"the answer is not of the type that was asked for: {why}")
        self._rejected += 1
        await self._context.emit(OutputRejected(self._spending.steps, why))
        return self._conversation.ask(correction(why))

    def _read_output(self) -> tuple[object, str | None]:
        """The answer as the type that was asked for, and why it is not of that type; None if it is."""
        form = self._context.plan.form
        if self._ending != "answered":
            return None, None
        if form is None:
            return self._text, None
        try:
            return form.read(self._text), None
        except msgspec.MsgspecError as error:
            return None, str(error)

    async def _end_at_limit(self, reached: Reached) -> Result[Any]:
        await self._context.emit(LimitReached(reached))
        return self._result("limit", limit=reached)

    def _result(
        self, ending: Ending, *, output: object = None, limit: Reached | None = None, waiting: tuple[ToolCall, ...] = ()
    ) -> Result[Any]:
        return Result(
            ending=ending,
            thread=self._conversation.thread,
            output=output,
            message=self._message,
            pending=tuple(self._conversation.calls),
            waiting=waiting,
            limit=limit,
            steps=self._spending.steps,
            usage=self._spending.usage,
            cost=self._spending.cost,
        )

    @property
    def _ending(self) -> Ending:
        return _ENDINGS.get(self._message.stop_reason or "", "answered") if self._message else "answered"

    @property
    def _text(self) -> str:
        return (self._message.content if self._message else None) or ""


# One step: a model call with its events, tried again after a failure that may pass


async def _take_step(context: RunContext, answer: AsyncAnswer) -> Ended:
    """The answer, once it is stored. Raises BackendError if it fails for good: the turn can be tried again."""
    conversation, spending = context.conversation, context.spending
    spending.step()
    step = spending.steps
    await context.emit(StepStarted(step, conversation.backend, conversation.model))
    attempt = 0
    while True:
        try:
            return await _attempt(context, step, answer)
        except BackendError as error:
            _add_spending(context, answer.turn)
            wait = wait_after(error, attempt, context.plan.retries)
            if wait is None:
                raise
            await context.emit(StepRetried(step, error, wait))
            await asyncio.sleep(wait)
            answer, attempt = conversation.retry(), attempt + 1


async def _attempt(context: RunContext, step: int, answer: AsyncAnswer) -> Ended:
    """One attempt. The backend is chosen when it begins, so a listener can still change it at the start of the step."""
    ask_for_schema(context.plan.form, context.conversation)
    async with answer:
        async for event in answer:
            if isinstance(event, Ended):
                cost = _add_spending(context, event.turn, whole=True)
                await context.emit(StepFinished(step, event.message, event.turn, cost))
                return event
            if isinstance(event, Compacted):
                _add_spending(context, event.summary)
            await context.emit(CallProposed(step, event) if isinstance(event, ToolCall) else event)
    raise BackendBroken("the answer was stopped")


def _add_spending(context: RunContext, turn: Turn | None, *, whole: bool = False) -> Cost | None:
    """Add what a turn took, and return its cost. A failed turn without usage took nothing; a whole one is not known."""
    usage, cost = turn.usage if turn else None, None
    if turn and usage:
        cost = cost_of_turn(turn, backend_of(context.conversation, turn.backend))
    if usage is not None or whole:
        context.spending.add(usage, cost)
    return cost


def wait_after(error: BackendError, attempt: int, retries: int) -> float | None:
    """Seconds until the next try; None if there is none. Attempts count from 0.

    >>> wait_after(BackendOverloaded("no room", retry_after=2.0), 0, 1)
    2.0
    >>> wait_after(BackendError("no"), 0, 1) is None
    True
    """
    if attempt >= retries or not isinstance(error, _TEMPORARY):
        return None
    asked = error.retry_after if isinstance(error, BackendOverloaded) else None
    if asked is not None:
        return asked if asked <= _LONGEST_ASKED else None
    return min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT) * random.uniform(0.5, 1)  # noqa: S311  (spreads retries, keeps no secret)
