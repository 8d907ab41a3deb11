"""Approval: somebody decides about a call before it runs.

    async def approve(call: ToolCall, tool: Tool) -> Decision: ...

`True` alone lets it run; `False`, `Denied("why")` and whatever is no decision do not, and the model is told so. `Later()`
says that the decision takes longer than the program: the run ends with the call pending, and `resume` goes on once there is
one. A tool that wants approval where nobody can be asked is put off in the same way, never run. A sub-agent whose call is
put off is suspended with whoever sent it, and resumed with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from clew.chat.agent.threads import called
from clew.chat.agent.tools import Tool
from clew.chat.messages import ToolCall

__all__ = ["Approval", "Decision", "Denied", "Later", "Suspended", "decided"]


class Denied(Struct, frozen=True):
    """A call that may not run. The model reads the reason.

    >>> Denied("not in production").reason
    'not in production'
    """

    reason: str = ""

    def __bool__(self) -> bool:
        """As False does: whoever asks `if decision` is safe."""
        return False


class Later(Struct, frozen=True):
    """There is no decision yet: the run ends here, and can be resumed.

    >>> bool(Later())
    False
    """

    def __bool__(self) -> bool:
        return False


class Suspended(Exception):
    """A run cannot go on: these calls wait for decisions, its own or those of sub-agents."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        super().__init__(", ".join(call.id for call in calls))
        self.calls = tuple(calls)


Decision: TypeAlias = bool | Denied | Later

Approval: TypeAlias = Callable[[ToolCall, Tool], Decision | Awaitable[Decision]]
"""Asked about each call that wants it, one after another. One that waits for people may be a plain function: it has a thread
of its own."""


async def decided(
    call: ToolCall, tool: Tool, approve: Approval | None, made: Mapping[str, Decision]
) -> tuple[bool, Decision]:
    """Whether somebody was asked, and what the decision is. `made` are decisions that are there, by the ids of calls."""
    if call.id in made:
        return True, _plain(made[call.id])
    if not tool.needs_approval(call):
        return False, True
    return True, _plain(await called(approve, call, tool)) if approve else Later()


def _plain(decision: object) -> Decision:
    """A call runs by True alone: a function that forgets to say yes or no has not said yes."""
    if decision is True or isinstance(decision, Denied | Later):
        return decision
    return Denied("" if decision is False else f"whoever was asked said neither yes nor no: {decision!r}")
