"""One call of a tool: what the model gave is checked and converted, the function runs, and what it gave becomes a result.

Nothing that a tool does ends the run: wrong arguments, exceptions and time that is up become results that say what was
wrong, without a traceback, so that the model can mend it.
"""

from __future__ import annotations

import asyncio

import msgspec

from clew.chat.agent.approval import Suspended
from clew.chat.agent.marks import TakenElsewhere
from clew.chat.agent.schema import plain
from clew.chat.agent.threads import called
from clew.chat.agent.tools import Tool, ToolFailed
from clew.chat.contents import Output, result_block
from clew.chat.messages import ToolCall
from clew.errors import RequestInvalid
from clew.model.json import JsonValue

__all__ = ["output_of"]

_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


async def output_of(tool: Tool, call: ToolCall) -> Output:
    """What the call gives; a ToolFailed if it does not. Raises Suspended if it is put off, and TakenElsewhere if
    another run does what it would."""
    try:
        return await _tried(tool, _arguments(tool, call))
    except ToolFailed as failure:
        return failure


def _arguments(tool: Tool, call: ToolCall) -> dict[str, object]:
    try:
        given: JsonValue = msgspec.json.decode(call.arguments or "{}")
        return tool.arguments.read(given)
    except msgspec.ValidationError as error:
        raise ToolFailed(f"The arguments of {tool.name} are wrong: {error}. Nothing was done.") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ToolFailed(f"The arguments of {tool.name} are no valid JSON: {error}. Nothing was done.") from None
    except Exception as error:  # of a type that checks its own values
        raise ToolFailed(f"The arguments of {tool.name} are wrong: {_words(error)}. Nothing was done.") from error


async def _tried(tool: Tool, arguments: dict[str, object]) -> JsonValue:
    """Call the tool, and again after a failure, as often as it allows."""
    for attempt in range(tool.retries):
        try:
            return await _once(tool, arguments)
        except ToolFailed:
            await asyncio.sleep(min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT))
    return await _once(tool, arguments)


async def _once(tool: Tool, arguments: dict[str, object]) -> JsonValue:
    clock = asyncio.timeout(tool.timeout)
    try:
        async with clock:
            value = await called(tool.function, **arguments)
        return _sayable(plain(value))
    except (ToolFailed, Suspended, TakenElsewhere):
        raise
    except TimeoutError as error:
        if not clock.expired():
            raise ToolFailed(_words(error)) from error
        raise ToolFailed(f"{tool.name} took longer than {tool.timeout:g} s, and may not have come to its end.") from None
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise ToolFailed(_words(error)) from error  # the tool's own doing: nobody cancelled the call
    except (Exception, SystemExit) as error:
        raise ToolFailed(_words(error)) from error


def _is_cancelled() -> bool:
    """Does somebody want this task to end?"""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _sayable(value: JsonValue) -> JsonValue:
    """The value, if it can be a result."""
    try:
        msgspec.json.encode(result_block("", value))
    except RequestInvalid as error:
        raise ToolFailed(str(error)) from None
    return value


def _words(error: BaseException) -> str:
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
