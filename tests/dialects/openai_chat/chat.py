"""Streams of the Chat Completions protocol, written short, and what the decoder makes of them."""

import json

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.stream import ChatStream
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.assemble import assemble
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, StreamFailed
from clew.model.json import JsonObject, JsonValue
from clew.model.lifecycle import STRICT, Lifecycle

ASKED = Asked("claude-x", message_id="msg_1", input_tokens=7)
DONE = b"data: [DONE]\n\n"


def data(value: JsonValue) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: JsonValue = None, *, finish: str | None = None, **more: JsonValue) -> bytes:
    return data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def stream(*deltas: JsonValue, finish: str = "stop") -> bytes:
    """An ordinary stream of these deltas."""
    return b"".join(map(chunk, deltas)) + chunk({}, finish=finish) + DONE


def call(
    index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: JsonValue = None
) -> JsonObject:
    """A delta with one entry of `tool_calls`; what is None is absent."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    entry = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return {"tool_calls": [{**entry, "function": function}]}


class Told:
    """What came of a stream, held to the strict grammar on the way."""

    def __init__(
        self, *pieces: bytes, speech: ChatAnswerOptions | None = None, asked: Asked = ASKED, eager: bool = False
    ) -> None:
        self.stream = ChatStream(asked, speech)
        self.events: list[Event] = self.stream.begin(eager=True) if eager else []
        for piece in pieces:
            self.events += self.stream.feed(piece)
        self.events += self.stream.flush()
        lifecycle = Lifecycle(STRICT)
        for event in self.events:
            lifecycle.accept(event)

    @property
    def message(self) -> JsonObject:
        return assemble(self.events)

    @property
    def blocks(self) -> list[tuple[JsonValue, ...]]:
        """Blocks in short: ("thinking", text), ("text", text), (id, name, input)."""
        content = self.message["content"]
        assert isinstance(content, list)
        return [_short(block) for block in content if isinstance(block, dict)]

    @property
    def steps(self) -> list[str]:
        """The events of blocks in short: `thinking 0`, `+a`, `stop 0`."""
        return [step for event in self.events if (step := _step(event))]

    @property
    def stop(self) -> JsonValue:
        return self.message["stop_reason"]

    @property
    def usage(self) -> JsonValue:
        return next(event.usage for event in self.events if isinstance(event, MessageDelta))

    @property
    def error(self) -> JsonObject | None:
        return next((event.error for event in self.events if isinstance(event, StreamFailed)), None)


def _short(block: JsonObject) -> tuple[JsonValue, ...]:
    if block["type"] == "tool_use":
        return (block["id"], block["name"], block["input"])
    return (block["type"], block[str(block["type"])])


def _step(event: Event) -> str:
    match event:
        case BlockStart():
            return f"{event.block_type} {event.index}"
        case BlockDelta():
            return "+" + str(next(value for name, value in event.delta.items() if name != "type"))
        case BlockStop():
            return f"stop {event.index}"
        case _:
            return ""
