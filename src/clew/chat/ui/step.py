"""One model call as parts: each event of an answer becomes what the AI SDK's client shows of it, in the order of its making.

Nothing is moved and nothing is joined: a block is a part, with an id of its own. What a maker wants back of its thinking
travels as the provider's metadata, where the SDK's own Anthropic provider puts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.chat.ui.parts import Part
from clew.model.assemble import AssembledBlock, Assembler
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta
from clew.model.json import JsonObject, JsonValue

__all__ = ["Step", "proof", "result_part"]

_PROVIDER: Final = "anthropic"
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULT: Final = "_tool_result"
_UNREADABLE: Final = "The model's arguments for this call are not JSON."


class Step:
    """`feed` it the events of one answer. `name` tells its parts from those of other steps of the message."""

    def __init__(self, name: str) -> None:
        self.stop_reason = ""
        self._name = name
        self._assembler = Assembler()
        self._open: dict[int, JsonObject] = {}
        self._sources = 0

    def feed(self, event: Event) -> Iterator[Part]:
        """The parts that this event is. Raises StreamIllegal for one that may not come here."""
        whole = self._assembler.feed(event)
        match event:
            case BlockStart():
                yield from self._start(event.index, event.content_block)
            case BlockDelta():
                yield from self._grow(event.index, event.delta)
            case BlockStop():
                yield from self._stop(event.index, whole)
            case MessageDelta():
                self.stop_reason = str(event.delta.get("stop_reason") or self.stop_reason)
            case _:
                pass

    def _id(self, index: int) -> str:
        return f"{self._name}.{index}"

    def _start(self, index: int, block: JsonObject) -> Iterator[Part]:
        self._open[index] = block
        kind = block.get("type")
        if kind in _CALLS:
            yield {"type": "tool-input-start", **_call(block)}
        elif kind == "redacted_thinking":
            yield {"type": "reasoning-start", "id": self._id(index), **proof(redactedData=block.get("data"))}
        elif kind in ("text", "thinking"):
            shown = _SHOWN[kind]
            yield {"type": f"{shown}-start", "id": self._id(index)}
            if text := block.get(kind):
                yield {"type": f"{shown}-delta", "id": self._id(index), "delta": text}

    def _grow(self, index: int, delta: JsonObject) -> Iterator[Part]:
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

    def _stop(self, index: int, whole: AssembledBlock | None) -> Iterator[Part]:
        block = whole.block if whole else self._open[index]
        del self._open[index]
        kind = str(block.get("type"))
        if kind in _CALLS:
            yield _called(block, whole.unparsed if whole else None)
        elif kind == "text":
            yield {"type": "text-end", "id": self._id(index)}
        elif kind == "thinking":
            yield {"type": "reasoning-end", "id": self._id(index), **proof(signature=block.get("signature"))}
        elif kind == "redacted_thinking":
            yield {"type": "reasoning-end", "id": self._id(index)}
        elif kind.endswith(_RESULT):
            yield result_part(block)
        else:
            yield {"type": "data-block", "id": self._id(index), "data": block}


_SHOWN: Final = {"text": "text", "thinking": "reasoning"}


def proof(**values: JsonValue) -> JsonObject:
    """What the maker wants back, if there is anything."""
    given: JsonObject = {name: value for name, value in values.items() if isinstance(value, str) and value}
    return {"providerMetadata": {_PROVIDER: given}} if given else {}


def _call(block: JsonObject) -> JsonObject:
    """A call's names. One that the vendor runs itself is nothing for the client to do."""
    named: JsonObject = {"toolCallId": block.get("id"), "toolName": block.get("name")}
    return named if block.get("type") == "tool_use" else {**named, "providerExecuted": True}


def _called(block: JsonObject, unparsed: str | None) -> Part:
    if unparsed is not None:
        return {"type": "tool-input-error", **_call(block), "input": unparsed, "errorText": _UNREADABLE}
    return {"type": "tool-input-available", **_call(block), "input": block.get("input") or {}}


def result_part(block: JsonObject) -> Part:
    """What a tool of the vendor's own gave."""
    content, call = block.get("content"), block.get("tool_use_id")
    fault = content.get("error_code") if isinstance(content, dict) else None
    if isinstance(fault, str):
        return {"type": "tool-output-error", "toolCallId": call, "errorText": fault, "providerExecuted": True}
    return {"type": "tool-output-available", "toolCallId": call, "output": content, "providerExecuted": True}
