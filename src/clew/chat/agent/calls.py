"""The calls of one answer: who may run, and what came of each.

Decisions come first, one after another; as long as one of them is put off, none of the calls runs, so that an answer's calls
are either all pending or all begun. Then they run side by side; but sub-agents that may be put off themselves come before
all others, since what they did is in threads of their own and can be taken up again, and what other tools gave could not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from clew.chat.agent.approval import Decision, Denied, Later, Suspended, decided
from clew.chat.agent.calling import output_of
from clew.chat.agent.events import CallApproved, CallDenied, CallSuspended, ToolFinished, ToolStarted
from clew.chat.agent.tools import Tool, ToolFailed
from clew.chat.agent.working import AT_WORK, AtWork, Working
from clew.chat.contents import Output
from clew.chat.messages import ToolCall
from clew.model.halves import whole_text
from clew.model.json import JsonValue

__all__ = ["INTERRUPTED", "outputs_of"]

INTERRUPTED: Final = (
    "Interrupted: the program ended while this was running. Whether it was carried out, in whole or in part, is not known; "
    "find that out before you do it again."
)
"""The result of a call that a crash interrupted, and that may not be run twice."""

_Running: TypeAlias = Sequence[tuple[ToolCall, Tool]]

_DENIED: Final = "Denied: this call was not approved, and was not run."


class _Fate(Struct, frozen=True, eq=False):
    """What is to become of a call: why it does not run, or what was decided about it, and whether somebody was asked."""

    call: ToolCall
    tool: Tool | None
    decision: Decision | ToolFailed
    asked: bool = False


async def outputs_of(working: Working, calls: Sequence[ToolCall], turn: str, resumed: bool) -> dict[str, Output]:
    """What each call gave. Raises Suspended if a decision is put off, and TakenElsewhere if another run is at it, or was.
    `turn` is the one whose answer they are in; `resumed`: nobody knows from this run whether they were begun already."""
    begun = resumed and await working.hold.was_begun(working.conversation, turn)
    fates = [await _fate(working, call, begun) for call in calls]
    if waiting := [fate.call for fate in fates if isinstance(fate.decision, Later)]:
        for call in waiting:
            await working.tell(CallSuspended(call))
        raise Suspended(waiting)
    failed: dict[str, Output] = {fate.call.id: why for fate in fates if (why := await _prevented(working, fate))}
    given = failed | await _run_all(working, [fate for fate in fates if fate.call.id not in failed], turn)
    working.spending.called(all(isinstance(each, Exception) for each in given.values()))
    return given


async def _fate(working: Working, call: ToolCall, begun: bool) -> _Fate:
    tool = next((tool for tool in working.plan.tools if tool.name == call.name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in working.plan.tools) or "none"
        return _Fate(call, None, ToolFailed(f"There is no tool {call.name!r}; there are: {known}."))
    if begun and not tool.idempotent and call.id not in working.made:
        return _Fate(call, tool, ToolFailed(INTERRUPTED))
    asked, decision = await decided(call, tool, working.plan.approve, working.made)
    return _Fate(call, tool, decision, asked)


async def _prevented(working: Working, fate: _Fate) -> ToolFailed | None:
    """Why it does not run, which is told; None if it does."""
    match fate.decision:
        case ToolFailed() as why:
            await working.tell(ToolFinished(fate.call, str(why), is_error=True, seconds=0.0))
            return why
        case Denied(reason):
            await working.tell(CallDenied(fate.call, reason))
            return ToolFailed(f"{_DENIED} Reason: {reason}" if reason else _DENIED)
        case _:
            if fate.asked:
                await working.tell(CallApproved(fate.call))
            return None


async def _run_all(working: Working, fates: Sequence[_Fate], turn: str) -> dict[str, Output]:
    """Those that may be put off first. That the others are begun is kept before the first of them runs."""
    known = [(fate, fate.tool) for fate in fates if fate.tool]
    given = await _side_by_side(working, [(fate.call, tool) for fate, tool in known if tool.may_wait], turn)
    others = [(fate, tool) for fate, tool in known if not tool.may_wait]
    if any(fate.asked or not tool.idempotent for fate, tool in others):  # an approval is for one run of the call
        await working.hold.take(working.conversation, turn)
    return given | await _side_by_side(working, [(fate.call, tool) for fate, tool in others], turn)


async def _side_by_side(working: Working, running: _Running, turn: str) -> dict[str, Output]:
    """Raises Suspended once all of them have ended, if one is put off."""
    tasks = {call.id: asyncio.create_task(_run(AtWork(working, call, turn), tool)) for call, tool in running}
    try:
        await asyncio.gather(*tasks.values())
    finally:  # nothing runs on when this is left, by failure or by cancelling
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    given = {id: task.result() for id, task in tasks.items()}
    if waiting := [call for each in given.values() if isinstance(each, Suspended) for call in each.calls]:
        raise Suspended(waiting)
    return given


async def _run(at: AtWork, tool: Tool) -> Output:
    """What it gave; a Suspended if it was put off."""
    AT_WORK.set(at)
    working, call = at.working, at.call
    await working.tell(ToolStarted(call))
    began = time.monotonic()
    try:
        output = await output_of(tool, call)
    except Suspended as put_off:
        return put_off
    is_error = isinstance(output, Exception)
    said: JsonValue = whole_text(str(output)) if isinstance(output, Exception) else output
    await working.tell(ToolFinished(call, said, is_error=is_error, seconds=time.monotonic() - began))
    return output
