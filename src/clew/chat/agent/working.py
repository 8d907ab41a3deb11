"""Working: what every part of a run needs at hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import TypeAlias

from msgspec import Struct, field

from clew.chat.agent.approval import Decision
from clew.chat.agent.events import AgentEvent
from clew.chat.agent.limits import Spending
from clew.chat.agent.marks import Hold
from clew.chat.agent.plan import Plan
from clew.chat.conversation import AsyncConversation
from clew.chat.messages import ToolCall

__all__ = ["AT_WORK", "AtWork", "Tell", "Working"]

Tell: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
"""Tells whoever listens, and waits until they want the next."""


class Working(Struct, frozen=True, eq=False):
    """An agent on a conversation, what it has spent, whom it tells, and what was decided already."""

    plan: Plan
    conversation: AsyncConversation
    spending: Spending
    tell: Tell
    made: Mapping[str, Decision] = {}
    """Decisions by the ids of calls, its own and those of sub-agents."""
    hold: Hold = field(default_factory=Hold)
    """On the calls that it runs."""


class AtWork(Struct, frozen=True, eq=False):
    """The call that a tool is run for, and the turn whose answer it is in."""

    working: Working
    call: ToolCall
    turn: str


AT_WORK: ContextVar[AtWork] = ContextVar("clew_at_work")
"""For tools that are agents: they work for somebody."""
