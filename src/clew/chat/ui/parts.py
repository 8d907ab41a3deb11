"""The AI SDK's UI message stream, version 1: parts as JSON objects, and how they are sent.

A stream is one message of the assistant. It begins with `start`; each model call is a step, from `start-step` to
`finish-step`; texts, reasoning and calls are parts with ids of their own inside a step. A part that was started and never
ended broke off.

The SDK has no parts for two things, so they are data parts. A compaction is `data-compaction`, where the last part with the
same id holds:

    summarising ─► done      the message continues, on a new branch
                └► failed    the question stays refused

An approval inside a sub-agent is a request about the call that started the sub-agent, because the front end knows only that
call. There is one request for all waiting calls: its id is the list of their ids, and `data-approval` says what they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from clew.chat.agent.tools import Decision, Denied
from clew.chat.messages import ToolCall, summarised_turn
from clew.chat.service import Compacted
from clew.errors import (
    BackendError,
    BackendOverloaded,
    BackendRejected,
    BackendTimedOut,
    BackendUnreachable,
    ClewError,
    CredentialsExhausted,
)
from clew.model.json import JsonObject, JsonValue
from clew.model.texts import LongText

Part: TypeAlias = JsonObject
"""One part of the stream, such as `{"type": "text-delta", "id": …, "delta": …}`."""

MEDIA_TYPE: Final = "text/event-stream"
DONE: Final = b"data: [DONE]\n\n"
PING: Final = b": still here\n\n"

_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}

_KEPT: Final = "Your question is kept."
_ADVICE: Final[tuple[tuple[type[ClewError], str], ...]] = (
    (CredentialsExhausted, "Correct the key and ask again, or choose another backend."),
    (BackendRejected, "Asking again in the same way will not help: choose another model or backend."),
    (BackendOverloaded, "Try again in a moment, or choose another backend."),
    (BackendTimedOut, "Try again, or choose another backend."),
    (BackendUnreachable, "Try again, or choose another backend."),
    (BackendError, "Try again."),
)
"""What to do after an error; the first class that fits counts."""

COMPACTION: Final = "data-compaction"
CompactionState: TypeAlias = Literal["summarising", "failed"]

_ID_SEPARATOR: Final = " "
"""No id of a call has a space."""


def ui_headers() -> dict[str, str]:
    """Return the headers of a stream: the one that the client checks, and those that stop proxies from buffering.

    >>> ui_headers()["x-vercel-ai-ui-message-stream"]
    'v1'
    """
    return {"x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no", "cache-control": "no-cache, no-store"}


def frame_of(part: Part) -> bytes:
    """A part as one SSE event. JSON has no raw line breaks, so it fits on one line.

    >>> frame_of({"type": "start"})
    b'data: {"type":"start"}\\n\\n'
    """
    try:
        return b"data: %b\n\n" % msgspec.json.encode(part)
    except UnicodeEncodeError:  # half a character, which JSON can write as an escape, and JavaScript can hold
        return b"data: %b\n\n" % json.dumps(part).encode()


def finish_reason(stop_reason: str | None) -> str:
    """A stop reason of the Messages API in the words of the AI SDK.

    >>> finish_reason("tool_use"), finish_reason("pause_turn")
    ('tool-calls', 'other')
    """
    return _REASONS.get(stop_reason or "", "other")


def output_part(call: JsonValue, output: JsonValue, *, is_error: bool) -> Part:
    """The output of a call; a failure is a text."""
    if not is_error:
        return {"type": "tool-output-available", "toolCallId": call, "output": output}
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return {"type": "tool-output-error", "toolCallId": call, "errorText": text}


# Errors


def error_text(error: BaseException) -> str:
    """What happened, in the backend's words, and what to do next. A fault in clew is shown without any details."""
    if not isinstance(error, ClewError):
        return f"The chat server failed; its log has the details. {_KEPT} Try again."
    words = str(error).strip().rstrip(".") or "The answer failed"
    advice = next((text for kind, text in _ADVICE if isinstance(error, kind)), "See `clew doctor`.")
    if isinstance(error, BackendRejected) and error.status in (401, 403):
        advice = (
            "The backend does not accept the credential that came with the question: check it, or choose another backend."
        )
    return f"{words}. {_KEPT} {advice}"


# Compaction


def compaction_part(before: str, state: CompactionState) -> Part:
    """The state of a compaction; `before` is the question that did not fit."""
    return {"type": COMPACTION, "id": before, "data": {"state": state, "before": before}}


def compacted_part(compacted: Compacted) -> Part:
    """The end of a compaction: `before` is the question, `of` the last turn that fitted. Both turns stay, as a branch."""
    before, summary = compacted.before, compacted.summary
    data: JsonObject = {"state": "done", "before": before.id, "of": before.follows, "summary": summary.id}
    return {"type": COMPACTION, "id": before.id, "data": data}


def summary_part(block: JsonObject) -> Part | None:
    """The part for a stored block that summarises the conversation before it; None for any other block."""
    of = summarised_turn([{"role": "user", "content": [block]}])
    return {"type": COMPACTION, "data": {"state": "done", "of": of, "text": block.get("text")}} if of else None


def summary_text(part: JsonObject) -> str:
    """The text of a summary part that a front end sends back; "" for any other part."""
    data = part.get("data")
    text = data.get("text") if part.get("type") == COMPACTION and isinstance(data, dict) else None
    return text if isinstance(text, str) else ""


# Approvals


def agent_approval_parts(agent: str, call: ToolCall, waiting: Sequence[ToolCall]) -> Iterator[Part]:
    """The request about the waiting calls of the sub-agent that `call` started. More calls later extend the same request.

    >>> sent, inside = ToolCall(id="t1", name="scout"), ToolCall(id="t2", name="delete", arguments="{}")
    >>> [part["type"] for part in agent_approval_parts("scout", sent, [inside])]
    ['data-approval', 'tool-approval-request']
    """
    calls: list[JsonValue] = [
        {"toolCallId": each.id, "toolName": each.name, "arguments": each.arguments} for each in waiting
    ]
    yield {"type": "data-approval", "id": call.id, "data": {"agent": agent, "call": call.id, "calls": calls}}
    ids = _ID_SEPARATOR.join(each.id for each in waiting)
    yield {"type": "tool-approval-request", "approvalId": ids, "toolCallId": call.id}


def decisions_in(part: JsonObject) -> dict[str, Decision]:
    """The user's decision about the calls of a request, by their ids.

    >>> decisions_in({"toolCallId": "t1", "approval": {"id": "t2 t3", "approved": True}})
    {'t2': True, 't3': True}
    """
    given = part.get("approval")
    approval: JsonObject = given if isinstance(given, dict) else {}
    named, reason = approval.get("id"), approval.get("reason")
    ids = named.split(_ID_SEPARATOR) if isinstance(named, str) and named else [str(part.get("toolCallId"))]
    decision = True if approval.get("approved") is True else Denied(reason if isinstance(reason, str) else "")
    return dict.fromkeys(ids, decision)


# Parts as a message

_CALL_STATES: Final = {
    "tool-input-start": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
    "tool-approval-request": "approval-requested",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}


class MessageFold:
    """`feed` it parts; `message` is the UI message so far."""

    def __init__(self) -> None:
        self._id: JsonValue = ""
        self._metadata: JsonObject = {}
        self._parts: list[JsonObject] = []
        self._growing: dict[str, JsonObject] = {}
        self._texts: dict[str, LongText] = {}
        """The texts of the parts that still grow."""
        self._calls: dict[str, JsonObject] = {}

    @property
    def message(self) -> JsonObject:
        for id, text in self._texts.items():
            self._growing[id]["text"] = text.whole()
        parts: list[JsonValue] = [*self._parts]
        return {"id": self._id, "role": "assistant", "metadata": self._metadata, "parts": parts}

    def whole(self) -> Iterator[JsonObject]:
        """The message, if there is anything in it."""
        if self._parts:
            yield self.message

    def has_call(self, part: Part) -> bool:
        """Is the call of this part in the message?"""
        return str(part.get("toolCallId")) in self._calls

    def feed_all(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.feed(part)

    def feed(self, part: Part) -> None:
        kind = str(part["type"])
        if kind in ("start", "finish", "message-metadata"):
            self._id = self._id or part.get("messageId", "")
            more = part.get("messageMetadata")
            self._metadata = {**self._metadata, **more} if isinstance(more, dict) else self._metadata
        elif kind == "start-step":
            self._parts.append({"type": "step-start"})
        elif kind.startswith(("text-", "reasoning-")):
            self._feed_text(kind, part)
        elif kind.startswith("tool-"):
            id = str(part["toolCallId"])
            if id not in self._calls:
                self._calls[id] = {"type": f"tool-{part.get('toolName', '')}", "toolCallId": id}
                self._parts.append(self._calls[id])
            call = self._calls[id]
            call |= {name: part[name] for name in ("input", "output", "errorText", "providerExecuted") if name in part}
            if state := _CALL_STATES.get(kind):
                call["state"] = state
            if kind == "tool-approval-request":
                call["approval"] = {"id": part["approvalId"]}
        elif kind.startswith(("data-", "source-")):
            self._parts.append(part)

    def _feed_text(self, kind: str, part: Part) -> None:
        ui_kind, _, phase = kind.partition("-")
        id = str(part["id"])
        if phase == "start":
            self._growing[id] = {"type": ui_kind, "text": "", "state": "streaming"}
            self._texts[id] = LongText()
            self._parts.append(self._growing[id])
        growing = self._growing[id]
        if "delta" in part:
            self._texts[id].add(str(part["delta"]))
        if "providerMetadata" in part:
            growing["providerMetadata"] = part["providerMetadata"]
        if phase == "end":
            growing |= {"text": self._texts.pop(id).whole(), "state": "done"}


def message_of_parts(parts: Iterable[Part]) -> JsonObject:
    """The UI message that these parts make.

    >>> message_of_parts([{"type": "start", "messageId": "m"}, {"type": "text-start", "id": "t"}])["parts"]
    [{'type': 'text', 'text': '', 'state': 'streaming'}]
    """
    fold = MessageFold()
    fold.feed_all(parts)
    return fold.message
