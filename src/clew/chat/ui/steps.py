"""One model call as parts of a UI message (`StepParts`), and parts as the message of the AI SDK's client (`MessageFold`).

Nothing is moved or joined: each block is a part with an id of its own, in the order in which the model made them. The proof
of a thinking block travels as the provider's metadata, where the SDK's own Anthropic provider puts it. A stored answer goes
through the same parts as a streamed one, so a page that is loaded again shows what it showed during the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from clew.chat.ui.parts import Part
from clew.model.assemble import AssembledBlock, Assembler
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta
from clew.model.json import JsonObject, JsonValue
from clew.model.texts import LongText

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_UI_KINDS: Final = {"text": "text", "thinking": "reasoning"}
_UNREADABLE: Final = "The model's arguments for this call are not JSON."
_CALL_STATES: Final = {
    "tool-input-start": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
    "tool-approval-request": "approval-requested",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}


class StepParts:
    """`feed` it the events of one answer. `name` makes the ids of its parts different from those of other steps."""

    def __init__(self, name: str) -> None:
        self.stop_reason = ""
        self._name = name
        self._assembler = Assembler()
        self._open: dict[int, JsonObject] = {}
        self._sources = 0

    def feed(self, event: Event) -> Iterator[Part]:
        """The parts of this event. Raises StreamIllegal for an event that may not come here."""
        whole = self._assembler.feed(event)
        match event:
            case BlockStart():
                yield from self._start_block(event.index, event.content_block)
            case BlockDelta():
                yield from self._delta(event.index, event.delta)
            case BlockStop():
                yield from self._stop_block(event.index, whole)
            case MessageDelta():
                self.stop_reason = str(event.delta.get("stop_reason") or self.stop_reason)
            case _:
                pass

    def _id(self, index: int) -> str:
        return f"{self._name}.{index}"

    def _start_block(self, index: int, block: JsonObject) -> Iterator[Part]:
        self._open[index] = block
        kind = block.get("type")
        if kind in _CALLS:
            yield {"type": "tool-input-start", **_call_names(block)}
        elif kind == "redacted_thinking":
            yield {"type": "reasoning-start", "id": self._id(index), **_proof("redactedData", block.get("data"))}
        elif kind in ("text", "thinking"):
            ui_kind = _UI_KINDS[kind]
            yield {"type": f"{ui_kind}-start", "id": self._id(index)}
            if text := block.get(kind):
                yield {"type": f"{ui_kind}-delta", "id": self._id(index), "delta": text}

    def _delta(self, index: int, delta: JsonObject) -> Iterator[Part]:
        match delta:
            case {"type": "text_delta", "text": str(text)} if text:
                yield {"type": "text-delta", "id": self._id(index), "delta": text}
            case {"type": "thinking_delta", "thinking": str(text)} if text:
                yield {"type": "reasoning-delta", "id": self._id(index), "delta": text}
            case {"type": "input_json_delta", "partial_json": str(text)} if text:
                call = self._open[index].get("id")
                yield {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": text}
            case {"type": "citations_delta", "citation": {"url": str(url), **more}}:
                self._sources += 1
                source: Part = {"type": "source-url", "sourceId": f"{self._name}.source.{self._sources}", "url": url}
                yield {**source, "title": title} if isinstance(title := more.get("title"), str) else source
            case _:
                pass

    def _stop_block(self, index: int, whole: AssembledBlock | None) -> Iterator[Part]:
        block = whole.block if whole else self._open[index]
        del self._open[index]
        kind = str(block.get("type"))
        if kind in _CALLS and whole and whole.unparsed is not None:
            yield {"type": "tool-input-error", **_call_names(block), "input": whole.unparsed, "errorText": _UNREADABLE}
        elif kind in _CALLS:
            yield {"type": "tool-input-available", **_call_names(block), "input": block.get("input") or {}}
        elif kind == "text":
            yield {"type": "text-end", "id": self._id(index)}
        elif kind in ("thinking", "redacted_thinking"):
            proof = _proof("signature", block.get("signature")) if kind == "thinking" else {}
            yield {"type": "reasoning-end", "id": self._id(index), **proof}
        elif kind.endswith("_tool_result"):
            yield _vendor_result(block)
        else:
            yield {"type": "data-block", "id": self._id(index), "data": block}


def _proof(name: str, value: JsonValue) -> JsonObject:
    """What the model's maker wants back of a thinking block, if there is anything."""
    return {"providerMetadata": {"anthropic": {name: value}}} if isinstance(value, str) and value else {}


def _call_names(block: JsonObject) -> JsonObject:
    """A call's id and name. A call that the vendor runs itself is marked: the client has nothing to do."""
    names: JsonObject = {"toolCallId": block.get("id"), "toolName": block.get("name")}
    return names if block.get("type") == "tool_use" else {**names, "providerExecuted": True}


def _vendor_result(block: JsonObject) -> Part:
    """The result of a tool that the vendor runs."""
    content, call = block.get("content"), block.get("tool_use_id")
    error = content.get("error_code") if isinstance(content, dict) else None
    if isinstance(error, str):
        return {"type": "tool-output-error", "toolCallId": call, "errorText": error, "providerExecuted": True}
    return {"type": "tool-output-available", "toolCallId": call, "output": content, "providerExecuted": True}


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
            self._feed_call(kind, part)
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

    def _feed_call(self, kind: str, part: Part) -> None:
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


def message_of_parts(parts: Iterable[Part]) -> JsonObject:
    """The UI message that these parts make.

    >>> message_of_parts([{"type": "start", "messageId": "m"}, {"type": "text-start", "id": "t"}])["parts"]
    [{'type': 'text', 'text': '', 'state': 'streaming'}]
    """
    fold = MessageFold()
    fold.feed_all(parts)
    return fold.message
