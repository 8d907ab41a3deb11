"""Working: what every part of a run needs at hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeAlias

from msgspec import Struct

from clew.chat.agent.events import AgentEvent
from clew.chat.agent.limits import Spending
from clew.chat.agent.plan import Plan
from clew.chat.conversation import AsyncConversation
from clew.chat.messages import ToolCall

__all__ = ["AT_WORK", "AtWork", "Tell", "Working"]

Tell: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
"""Tells whoever listens, and waits until they want the next."""


class Working(Struct, frozen=True, eq=False):
    """An agent on a conversation, what it has spent, and whom it tells."""

    plan: Plan
    conversation: AsyncConversation
    spending: Spending
    tell: Tell


class AtWork(Struct, frozen=True, eq=False):
    """The call that a tool is run for."""

    working: Working
    call: ToolCall


AT_WORK: ContextVar[AtWork] = ContextVar("clew_at_work")
"""For tools that are agents: they work for somebody."""
