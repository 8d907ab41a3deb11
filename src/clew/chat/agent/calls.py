"""The calls of one answer: which of them may run, and the output of each.

Decisions come first, one after another. While one of them is put off, no call runs, so the calls of an answer are either all
pending or all begun. Then they run side by side; but sub-agents that may be put off themselves come before all others: their
work is in threads of their own and can be continued, the outputs of other tools could not be kept.

Nothing that a tool does ends the run. Wrong arguments, exceptions and timeouts become results that say what was wrong,
without a traceback, so that the model can correct it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from clew.chat.agent.events import CallApproved, CallDenied, CallSuspended, ToolFinished, ToolStarted
from clew.chat.agent.run import CURRENT_CALL, CallContext, RunContext, TakenElsewhere
from clew.chat.agent.schema import plain
from clew.chat.agent.tools import Decision, Denied, Later, Suspended, Tool, ToolFailed, call_function, decision_about
from clew.chat.messages import Output, ToolCall, result_block
from clew.errors import RequestInvalid
from clew.model.json import JsonValue, whole_text

INTERRUPTED: Final = (
    "Interrupted: the program ended while this was running. Whether it was carried out, in whole or in part, is not known; "
    "find that out before you do it again."
)
"""The result of a call that a crash interrupted, and that may not run twice."""

_DENIED: Final = "Denied: this call was not approved, and was not run."
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


class _DecidedCall(Struct, frozen=True, eq=False):
    """A call with the decision about it, or the reason why it does not run, and whether a person was asked."""

    call: ToolCall
    tool: Tool | None
    decision: Decision | ToolFailed
    asked: bool = False


async def outputs_of(context: RunContext, calls: Sequence[ToolCall], turn: str, resumed: bool) -> dict[str, Output]:
    """The output of each call. Raises Suspended if a decision is put off, and TakenElsewhere if another run has the calls.

    `turn` is the turn whose answer has the calls. `resumed`: the calls were there before this run, and may have been begun.
    """
    begun = resumed and await context.claim.was_begun(context.conversation, turn)
    decided = [await _decide(context, call, begun) for call in calls]
    if waiting := [each.call for each in decided if isinstance(each.decision, Later)]:
        for call in waiting:
            await context.emit(CallSuspended(call))
        raise Suspended(waiting)
    outputs: dict[str, Output] = {each.call.id: why for each in decided if (why := await _reason_not_to_run(context, each))}
    allowed = [(each, each.tool) for each in decided if each.tool and each.call.id not in outputs]
    outputs |= await _run_side_by_side(context, [(each.call, tool) for each, tool in allowed if tool.may_wait], turn)
    others = [(each, tool) for each, tool in allowed if not tool.may_wait]
    if any(each.asked or not tool.idempotent for each, tool in others):  # an approval is for one run of the call
        await context.claim.take(context.conversation, turn)
    outputs |= await _run_side_by_side(context, [(each.call, tool) for each, tool in others], turn)
    context.spending.count_step_of_calls(all(isinstance(each, Exception) for each in outputs.values()))
    return outputs


async def _decide(context: RunContext, call: ToolCall, begun: bool) -> _DecidedCall:
    tool = next((tool for tool in context.plan.tools if tool.name == call.name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in context.plan.tools) or "none"
        return _DecidedCall(call, None, ToolFailed(f"There is no tool {call.name!r}; there are: {known}."))
    if begun and not tool.idempotent and call.id not in context.decisions:
        return _DecidedCall(call, tool, ToolFailed(INTERRUPTED))
    asked, decision = await decision_about(call, tool, context.plan.approve, context.decisions)
    return _DecidedCall(call, tool, decision, asked)


async def _reason_not_to_run(context: RunContext, decided: _DecidedCall) -> ToolFailed | None:
    """Emit the decision, and return why the call does not run; None if it does."""
    match decided.decision:
        case ToolFailed() as why:
            await context.emit(ToolFinished(decided.call, str(why), is_error=True, seconds=0.0))
            return why
        case Denied(reason):
            await context.emit(CallDenied(decided.call, reason))
            return ToolFailed(f"{_DENIED} Reason: {reason}" if reason else _DENIED)
        case _:
            if decided.asked:
                await context.emit(CallApproved(decided.call))
            return None


async def _run_side_by_side(context: RunContext, calls: Sequence[tuple[ToolCall, Tool]], turn: str) -> dict[str, Output]:
    """Raises Suspended after all of them have ended, if one is put off."""
    tasks = {call.id: asyncio.create_task(_run(CallContext(context, call, turn), tool)) for call, tool in calls}
    try:
        await asyncio.gather(*tasks.values())
    finally:  # after a failure or a cancellation no call may still run
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    outputs = {id: task.result() for id, task in tasks.items()}
    if waiting := [call for each in outputs.values() if isinstance(each, Suspended) for call in each.calls]:
        raise Suspended(waiting)
    return outputs


async def _run(current: CallContext, tool: Tool) -> Output:
    """Run one call with its events. The output is a Suspended if the call was put off."""
    CURRENT_CALL.set(current)
    emit, call = current.run.emit, current.call
    await emit(ToolStarted(call))
    began = time.monotonic()
    try:
        output = await output_of(tool, call)
    except Suspended as put_off:
        return put_off
    is_error = isinstance(output, Exception)
    shown: JsonValue = whole_text(str(output)) if isinstance(output, Exception) else output
    await emit(ToolFinished(call, shown, is_error=is_error, seconds=time.monotonic() - began))
    return output


# One call


async def output_of(tool: Tool, call: ToolCall) -> Output:
    """The output of a call; a ToolFailed if it failed, after as many tries as the tool allows.

    Raises Suspended if the call is put off, and TakenElsewhere if another run does its work.
    """
    try:
        arguments = _arguments_of(tool, call)
        for attempt in range(tool.retries):
            try:
                return await _call_once(tool, arguments)
            except ToolFailed:
                await asyncio.sleep(min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT))
        return await _call_once(tool, arguments)
    except ToolFailed as failure:
        return failure


def _arguments_of(tool: Tool, call: ToolCall) -> dict[str, object]:
    try:
        given: JsonValue = msgspec.json.decode(call.arguments or "{}")
        return tool.arguments.read(given)
    except msgspec.ValidationError as error:
        raise ToolFailed(f"The arguments of {tool.name} are wrong: {error}. Nothing was done.") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ToolFailed(f"The arguments of {tool.name} are not valid JSON: {error}. Nothing was done.") from None
    except Exception as error:  # of a type that checks its own values
        raise ToolFailed(f"The arguments of {tool.name} are wrong: {_error_text(error)}. Nothing was done.") from error


async def _call_once(tool: Tool, arguments: dict[str, object]) -> JsonValue:
    clock = asyncio.timeout(tool.timeout)
    try:
        async with clock:
            value = await call_function(tool.function, **arguments)
        return _checked(plain(value))
    except (ToolFailed, Suspended, TakenElsewhere):
        raise
    except TimeoutError as error:
        if not clock.expired():
            raise ToolFailed(_error_text(error)) from error
        raise ToolFailed(f"{tool.name} took longer than {tool.timeout:g} s, and may not have come to its end.") from None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling() > 0:
            raise
        raise ToolFailed(_error_text(error)) from error  # the tool raised it: nobody cancelled the call
    except (Exception, SystemExit) as error:
        raise ToolFailed(_error_text(error)) from error


def _checked(value: JsonValue) -> JsonValue:
    """The value, if it can be a result."""
    try:
        msgspec.json.encode(result_block("", value))
    except RequestInvalid as error:
        raise ToolFailed(str(error)) from None
    return value


def _error_text(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
