"""A step: one model call, told as it comes, and tried again where it failed for a reason that may pass."""

from __future__ import annotations

import asyncio

from clew.chat.agent.events import CallProposed, StepFinished, StepRetried, StepStarted
from clew.chat.agent.plan import hold_to_form
from clew.chat.agent.retrying import wait_after
from clew.chat.agent.rows import row_of
from clew.chat.agent.structured import takes_schema
from clew.chat.agent.working import Working
from clew.chat.answer import AsyncAnswer
from clew.chat.conversation import AsyncConversation
from clew.chat.events import Compacted, Ended
from clew.chat.messages import ToolCall
from clew.chat.prices import Cost, cost_of
from clew.chat.turns import Turn
from clew.errors import BackendBroken, BackendError

__all__ = ["take_step"]


async def take_step(working: Working, answer: AsyncAnswer) -> Ended:
    """The answer, when it is kept. Raises BackendError and its kin if it fails for good: the turn can be tried again."""
    conversation, spending = working.conversation, working.spending
    spending.step()
    step = spending.steps
    await working.tell(StepStarted(step, conversation.backend, conversation.model))
    attempt = 0
    while True:
        try:
            return await _heard(working, step, answer)
        except BackendError as error:
            _spent(working, answer.turn)
            wait = wait_after(error, attempt, working.plan.retries)
            if wait is None:
                raise
            await working.tell(StepRetried(step, error, wait))
            await asyncio.sleep(wait)
            answer, attempt = conversation.retry(), attempt + 1


async def _heard(working: Working, step: int, answer: AsyncAnswer) -> Ended:
    """One attempt. Who is asked is settled when it begins, so a listener may still change it at the step's start."""
    conversation, form = working.conversation, working.plan.form
    hold_to_form(form, conversation, form is not None and takes_schema(conversation))
    async with answer:
        async for said in answer:
            if isinstance(said, Ended):
                cost = _spent(working, said.turn, whole=True)
                await working.tell(StepFinished(step, said.message, said.turn, cost))
                return said
            if isinstance(said, Compacted):
                _spent(working, said.summary)
            await working.tell(CallProposed(step, said) if isinstance(said, ToolCall) else said)
    raise BackendBroken("the answer was stopped")


def _spent(working: Working, turn: Turn | None, *, whole: bool = False) -> Cost | None:
    """What a turn took. One that failed may have taken nothing; of a whole one it is told, or not known."""
    usage = turn.usage if turn else None
    cost = _cost(working.conversation, turn) if turn and usage else None
    if usage is not None or whole:
        working.spending.add(usage, cost)
    return cost


def _cost(conversation: AsyncConversation, turn: Turn) -> Cost | None:
    row = row_of(conversation, turn.backend)
    return cost_of(turn.model, turn.usage, backend=row, complete=turn.outcome == "whole", at=turn.at)
