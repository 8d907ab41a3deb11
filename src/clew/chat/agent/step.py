"""A step: one model call, with its events, and tried again after a failure that may pass."""

from __future__ import annotations

import asyncio
import random
from typing import Final

from clew.chat.agent.context import RunContext, ask_for_schema, backend_of
from clew.chat.agent.events import CallProposed, StepFinished, StepRetried, StepStarted
from clew.chat.answer import AsyncAnswer
from clew.chat.events import Compacted, Ended
from clew.chat.messages import ToolCall
from clew.chat.prices import Cost, cost_of
from clew.chat.turns import Turn
from clew.errors import BackendBroken, BackendError, BackendOverloaded, BackendTimedOut, BackendUnreachable

__all__ = ["take_step", "wait_after"]

_TEMPORARY: Final = (BackendBroken, BackendOverloaded, BackendTimedOut, BackendUnreachable)
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_LONGEST_ASKED = 300.0
"""A backend that asks for a longer pause is not tried again."""


async def take_step(context: RunContext, answer: AsyncAnswer) -> Ended:
    """The answer, once it is stored. Raises BackendError and its kin if it fails for good: the turn can be tried again."""
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
        row = backend_of(context.conversation, turn.backend)
        cost = cost_of(turn.model, usage, backend=row, complete=turn.outcome == "whole", at=turn.at)
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
