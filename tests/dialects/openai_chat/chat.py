"""Streams of the Chat Completions protocol, written short, and what the decoder makes of them."""

import json

from msgspec import structs

from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.assemble import assemble
from clew.model.blocks import payload_of
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, StreamFailed
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue, objects_of
from clew.model.lifecycle import STRICT, Lifecycle
from tests.model.streams import reads

ASKED = AnswerContext(model="claude-x", message_id="msg_1", input_tokens=7)
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


class ReadStream:
    """A reader whose payloads are kept beside the events, and whose calls have ids that every client takes."""

    def __init__(self, asked: AnswerContext = ASKED, speech: ChatAnswerOptions | None = None) -> None:
        self._reader = ChatStreamReader(
            structs.replace(asked, own_ids=False), ChatOptions(answer=speech or ChatAnswerOptions())
        )
        self.payloads: dict[int, JsonObject] = {}
        self.failure: Failure | None = None

    @property
    def late(self) -> JsonObject:
        late = self._reader.late
        return {} if late is None else payload_of(str(late["signature"])) or {}

    @property
    def wire_ids(self) -> dict[str, str]:
        return self._reader.ids.wire

    def begin(self) -> list[Event]:
        return self._reader.begin()

    def feed(self, data: bytes) -> list[Event]:
        return [event for event in self._reader.feed(data) if self._is_shown(event)]

    def flush(self) -> list[Event]:
        return [event for event in self._reader.flush() if self._is_shown(event)]

    def _is_shown(self, event: Event) -> bool:
        if isinstance(event, StreamFailed):
            words = {name: str(event.error[name]) for name in ("type", "message")}
            self.failure = Failure(event.status, words["type"], words["message"], event.wait, event.broken)
        if not isinstance(event, BlockDelta) or event.kind != "signature_delta":
            return True
        if payload := payload_of(str(event.delta["signature"])):
            self.payloads[event.index] = payload
        return False


class Told:
    """What came of a stream, held to the strict grammar on the way. Each event comes in a read of its own, unless `burst`:
    then each piece is a read."""

    def __init__(
        self,
        *pieces: bytes,
        speech: ChatAnswerOptions | None = None,
        asked: AnswerContext = ASKED,
        eager: bool = False,
        burst: bool = False,
    ) -> None:
        pieces = pieces if burst else tuple([read for piece in pieces for read in reads(piece)])
        self._pieces, self._speech, self._asked = pieces, speech, asked
        self.stream = ReadStream(structs.replace(asked, eager=eager), speech)
        self.events: list[Event] = self.stream.begin()
        for piece in pieces:
            self.events += self.stream.feed(piece)
        self.events += self.stream.flush()
        lifecycle = Lifecycle(STRICT)
        for event in self.events:
            lifecycle.accept(event)

    @property
    def whole(self) -> JsonObject:
        """The message with signatures, and with the backend's own ids of calls."""
        reader = ChatStreamReader(self._asked, ChatOptions(answer=self._speech or ChatAnswerOptions()))
        return assemble([*(event for piece in self._pieces for event in reader.feed(piece)), *reader.flush()])

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


def read_signatures(message: JsonObject) -> JsonObject:
    """The message with the payload of each thought in place of its signature: the order of members says nothing."""
    content = [{**each, "signature": payload_of(str(each.get("signature")))} for each in objects_of(message["content"])]
    return {**message, "content": list(content)}


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
