"""The events of an answer or of an agent's run as parts of a UI message stream, for apps that serve a chat of their own.

    run = agent.stream(asked.content, thread=asked.thread)
    StreamingResponse(ui_frames(ui_stream(run)), headers=ui_headers(), media_type="text/event-stream")

A call that waits for a decision becomes a request for approval, which the front end answers with its next message.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from typing import Final, TypeAlias

import msgspec

from clew.chat.agent.events import (
    AgentEvent,
    CallDenied,
    CallProposed,
    CallSuspended,
    FromAgent,
    RunEnded,
    StepFinished,
    StepRetried,
    StepStarted,
    ToolFinished,
)
from clew.chat.agent.run import AsyncRun
from clew.chat.answer import AsyncAnswer
from clew.chat.messages import ToolCall
from clew.chat.service import AnswerEvent, Compacted, Ended, TextDelta, ThinkingDelta
from clew.chat.ui.parts import (
    DONE,
    Part,
    agent_approval_parts,
    compacted_part,
    error_text,
    finish_reason,
    frame_of,
    output_part,
)
from clew.engine.ids import new_id
from clew.model.json import JsonObject, JsonValue

ChatEvent: TypeAlias = AnswerEvent | AgentEvent

_FINISH_REASONS: Final = {"answered": "stop", "suspended": "tool-calls", "refused": "content-filter"}


async def ui_stream(
    events: AsyncIterable[ChatEvent], *, message: str = "", metadata: JsonObject | None = None
) -> AsyncGenerator[Part]:
    """Return the parts of an answer or of a run, from the result of a conversation's `ask` or of an agent's `stream` or
    `resume`.

    `message` is the id of the message that the answer continues, if it does; `metadata` is sent at its beginning. A consumer
    that stops iterating stops the answer.

    >>> import asyncio
    >>> from clew import TextDelta
    >>> async def said():
    ...     yield TextDelta("Hello")
    >>> async def kinds():
    ...     return [part["type"] async for part in ui_stream(said())]
    >>> asyncio.run(kinds())
    ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish']
    """
    stream = EventParts()
    start: Part = {"type": "start", **({"messageId": message} if message else {})}
    try:
        yield {**start, "messageMetadata": metadata} if metadata else start
        async for event in events:
            for part in stream.feed(event):
                yield part
        for part in stream.end():
            yield part
    finally:
        if isinstance(events, AsyncAnswer | AsyncRun):
            await events.stop()


async def ui_frames(parts: AsyncIterable[Part]) -> AsyncGenerator[bytes]:
    """Encode parts as SSE events, with the end of the stream. A failure becomes an error part with a readable text.

    >>> import asyncio
    >>> async def parts():
    ...     yield {"type": "start"}
    ...     raise ClewError("nobody is there")
    >>> async def frames():
    ...     return [frame async for frame in ui_frames(parts())]
    >>> from clew import ClewError
    >>> asyncio.run(frames())[-1]
    b'data: [DONE]\\n\\n'
    """
    try:
        async for part in parts:
            yield frame_of(part)
    except Exception as error:  # the client learns of it here, or never
        yield frame_of({"type": "error", "errorText": error_text(error)})
    yield DONE


class EventParts:
    """`feed` it the events of an answer or of a run, and call `end` after the last one."""

    def __init__(self) -> None:
        self._name = new_id()
        self._count = 0
        self._kind = ""
        """The kind of the open part: text, reasoning, or none."""
        self._in_step = False
        self._denied: set[str] = set()
        self._waiting: dict[str, list[ToolCall]] = {}
        """Waiting calls of sub-agents, by the calls that started the sub-agents."""
        self._finish: Part = {"type": "finish", "finishReason": "stop"}

    def feed(self, event: ChatEvent) -> Iterator[Part]:
        match event:
            case TextDelta(text):
                yield from self._add_text("text", text)
            case ThinkingDelta(text):
                yield from self._add_text("reasoning", text)
            case ToolCall() as call:
                yield from self._add_call(call)
            case CallProposed(_, call):
                yield from self._add_call(call)
            case StepStarted():
                yield from self._end_step()
                yield from self._begin_step()
            case StepRetried():
                self._kind = ""
                yield {"type": "reset-step"}
            case StepFinished() | Ended():
                yield from self._close_part()
                self._finish["finishReason"] = finish_reason(event.message.stop_reason)
            case _:
                yield from self._feed_other(event)

    def end(self) -> Iterator[Part]:
        yield from self._close_part()
        yield from self._end_step()
        yield self._finish

    def _feed_other(self, event: ChatEvent) -> Iterator[Part]:
        """The events about calls, compactions and the end of a run."""
        match event:
            case CallSuspended(call):
                yield {"type": "tool-approval-request", "approvalId": call.id, "toolCallId": call.id}
            case CallDenied(call):
                self._denied.add(call.id)
                yield {"type": "tool-output-denied", "toolCallId": call.id}
            case ToolFinished(call, output, is_error) if call.id not in self._denied:
                yield output_part(call.id, output, is_error=is_error)
            case FromAgent(agent, call, inner):
                yield from self._from_agent(agent, call, inner)
            case Compacted():
                yield compacted_part(event)
            case RunEnded(result):
                # A front end has no word for a limit, so the metadata says it.
                limit: JsonObject = {"limit": str(result.limit)} if result.limit else {}
                self._finish["finishReason"] = _FINISH_REASONS.get(result.ending, "other")
                self._finish["messageMetadata"] = {"thread": result.thread, "steps": result.steps, **limit}
            case _:
                pass

    def _from_agent(self, agent: str, call: ToolCall, event: AgentEvent) -> Iterator[Part]:
        """The events of a sub-agent, or of its own sub-agents, belong to the call that the front end knows."""
        match event:
            case FromAgent(event=inner):
                yield from self._from_agent(agent, call, inner)
            case TextDelta(text):
                yield {"type": "data-agent", "data": {"agent": agent, "call": call.id, "text": text}, "transient": True}
            case CallSuspended(waiting):
                self._waiting.setdefault(call.id, []).append(waiting)
                yield from agent_approval_parts(agent, call, self._waiting[call.id])
            case _:
                pass

    def _add_text(self, kind: str, text: str) -> Iterator[Part]:
        if self._kind != kind:
            yield from self._close_part()
            yield from self._begin_step()
            self._kind, self._count = kind, self._count + 1
            yield {"type": f"{kind}-start", "id": self._id}
        yield {"type": f"{kind}-delta", "id": self._id, "delta": text}

    @property
    def _id(self) -> str:
        return f"{self._name}.{self._count}"

    def _close_part(self) -> Iterator[Part]:
        if self._kind:
            yield {"type": f"{self._kind}-end", "id": self._id}
            self._kind = ""

    def _begin_step(self) -> Iterator[Part]:
        if not self._in_step:
            self._in_step = True
            yield {"type": "start-step"}

    def _end_step(self) -> Iterator[Part]:
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}

    def _add_call(self, call: ToolCall) -> Iterator[Part]:
        yield from self._close_part()
        yield from self._begin_step()
        names: Part = {"toolCallId": call.id, "toolName": call.name}
        try:
            input: JsonValue = msgspec.json.decode(call.arguments or "{}")
            yield {"type": "tool-input-available", **names, "input": input}
        except (ValueError, RecursionError):
            yield {"type": "tool-input-error", **names, "input": call.arguments, "errorText": "The arguments are not JSON."}
