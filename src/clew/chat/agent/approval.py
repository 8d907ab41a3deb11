"""Approval: a decision about a call before it runs.

    async def approve(call: ToolCall, tool: Tool) -> Decision: ...

Only `True` lets the call run. `False`, `Denied("why")` and any other value do not, and the model reads that. `Later()` says
that the decision takes longer than the program: the run ends with the call pending, and `resume` continues once there is a
decision. A call that needs approval where nobody can be asked is put off in the same way, and never run. When a call of a
sub-agent is put off, the agent that called the sub-agent is suspended and resumed with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from clew.chat.agent.tools import Tool, call_function
from clew.chat.messages import ToolCall


class Denied(Struct, frozen=True):
    """A call that may not run. The model reads the reason.

    >>> Denied("not in production").reason
    'not in production'
    """

    reason: str = ""

    def __bool__(self) -> bool:
        """False, so that `if decision` is safe."""
        return False


class Later(Struct, frozen=True):
    """There is no decision yet: the run ends here, and can be resumed.

    >>> bool(Later())
    False
    """

    def __bool__(self) -> bool:
        return False


class Suspended(Exception):
    """A run cannot continue: these calls wait for decisions, its own calls or those of sub-agents."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        super().__init__(", ".join(call.id for call in calls))
        self.calls = tuple(calls)


Decision: TypeAlias = bool | Denied | Later

Approval: TypeAlias = Callable[[ToolCall, Tool], Decision | Awaitable[Decision]]
"""Called for each call that needs approval, one after another. It may be a plain function that waits for people: it runs in
a thread of its own."""


async def decision_about(
    call: ToolCall, tool: Tool, approve: Approval | None, decisions: Mapping[str, Decision]
) -> tuple[bool, Decision]:
    """Whether a person was asked, and the decision. `decisions` are those that exist already, by the ids of calls."""
    if call.id in decisions:
        return True, _strict(decisions[call.id])
    if not tool.needs_approval(call):
        return False, True
    return True, _strict(await call_function(approve, call, tool)) if approve else Later()


def _strict(decision: object) -> Decision:
    """Only True lets a call run: a function that returns nothing has not said yes."""
    if decision is True or isinstance(decision, Denied | Later):
        return decision
    return Denied("" if decision is False else f"whoever was asked said neither yes nor no: {decision!r}")
