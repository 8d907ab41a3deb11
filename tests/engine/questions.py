"""Questions and answers, byte for byte: what a client asks and how backends answer it, for engines without sockets."""

import json
from typing import Any

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.engine.snapshot import Snapshot, snapshot_of
from clew.model.facts import models
from clew.settings.values import BuildSettings, Retry, Settings, StoreSettings, ThinkingSettings
from clew.thinking.keyring import keyring_of
from tests.build import user
from tests.engine.chatting import DONE
from tests.engine.chatting import chunk as chat_chunk

OPUS = "claude-opus-5-5"
SEALER = keyring_of(b"a secret of thirty-two bytes, or more").sealer()


def snapshot(realm: str = "anthropic", model: str = "", **more: Any) -> Snapshot:
    keys = (Secret("sk-test-key"),)
    rows = {
        name: Backend(name=name, url="http://127.0.0.1:9", realm=realm, auth="key", keys=keys, model=model)
        for name in ("b", "spare")
    }
    built = Settings(active="b", backends=rows, failover=("spare",), models=models(), retry=Retry(retries=0), **more)
    return snapshot_of(built, SEALER)


SNAPSHOTS = (
    snapshot(),
    snapshot(),
    snapshot(model="claude-haiku-4-5"),
    snapshot("glm"),
    snapshot(thinking=ThinkingSettings(policy="session")),
    snapshot(build=BuildSettings(forced_tools="auto")),
    snapshot(first_content_seconds=1),
    snapshot(store=StoreSettings(content=False, bodies="off")),
)

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": OPUS,
    "content": [{"type": "thinking", "thinking": "h", "signature": "s"}, {"type": "text", "text": "yes"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1},
}
EVENTS = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "yes"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " sk-test-key"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "busy sk-test-key"}}


def sse(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def framed(body: bytes, *more: str, status: str = "200 OK", kind: str = "application/json", chunked: bool = False) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", "request-id: req_1", "x-other: no", *more]
    coding = ["transfer-encoding: chunked"] if chunked else [f"content-length: {len(body)}"]
    head = "".join(f"{line}\r\n" for line in [*lines, *coding]).encode() + b"\r\n"
    half = len(body) // 2
    parts = (body[:half], body[half:]) if half else (body,)
    return head + (
        b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part) + b"0\r\n\r\n" if chunked else body
    )


def question(words: str, **more: Any) -> bytes:
    return json.dumps({"model": OPUS, "messages": [user(words)], "max_tokens": 9, **more}).encode()


WHOLE = framed(json.dumps(MESSAGE).encode())
STREAM = framed(b"".join(map(sse, EVENTS)), kind="text/event-stream", chunked=True)
STARTED = framed(b"", kind="text/event-stream", chunked=True)[: -len(b"0\r\n\r\n")]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def block(index: int, block: dict[str, Any], *deltas: dict[str, Any], at: int | None = None) -> list[bytes]:
    """A block and its deltas; `at`: which block these are for, if not for it."""
    place = index if at is None else at
    return [
        sse({"type": "content_block_start", "index": index, "content_block": block}),
        *(sse({"type": "content_block_delta", "index": place, "delta": delta}) for delta in deltas),
        sse({"type": "content_block_stop", "index": index}),
    ]


TOOL: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "t", "input": {}}
WORD = {"type": "text_delta", "text": "yes"}
UNUSUAL = [
    block(
        0, TOOL, {"type": "input_json_delta", "partial_json": '{"a":'}, {"type": "input_json_delta", "partial_json": "1}"}
    ),
    block(0, TOOL, {"type": "input_json_delta", "partial_json": '{"a":'}),
    block(0, {"type": "fallback", "to": {"model": "claude-other"}}),
    block(0, {"type": "redacted_thinking", "data": "d"}) + block(1, {"type": "odd"}, WORD),
    block(0, {"type": "text", "text": "oh "}, WORD, {"type": "citations_delta", "citation": {}}),
    block(0, {"type": "text", "text": ""}, {"type": "thinking_delta", "thinking": "h"}),
    block(0, {"type": "text", "text": ""}, WORD, at=1),
    block(0, {"type": "text", "text": ""}, WORD) * 2,
    [each.replace(b'"yes"', b"yes") for each in block(0, {"type": "text", "text": ""}, WORD)],
]
"""What is between the start and the end of streams that are not like others, or not legal."""

ENDED = [
    [STARTED, *(chunk(sse(event)) for event in EVENTS), b"0\r\n\r\n"],
    *([STARTED, *(chunk(sse(event)) for event in EVENTS[:end]), chunk(sse(ERROR)), b"0\r\n\r\n"] for end in range(9)),
    *([STARTED, *map(chunk, [sse(EVENTS[0]), *odd, *map(sse, EVENTS[-2:])]), b"0\r\n\r\n"] for odd in UNUSUAL),
    [framed(b"{}", status="529 Overloaded")],
    [framed(b"{}", status="400 Bad Request")],
    [framed(json.dumps(ERROR).encode())],
    [WHOLE[:40], WHOLE[40:]],
    [STREAM, b"HTTP/1.1 200"],
    [STARTED + chunk(b"".join(map(sse, EVENTS))), b"0\r\n\r\n"],
]
BROKEN = [
    *([STARTED, *(chunk(sse(event)) for event in EVENTS[:end])] for end in range(len(EVENTS) + 1)),
    [STARTED, chunk(sse(EVENTS[4])), chunk(b"event: x\n")],
    [STARTED, chunk(b"".join(map(sse, EVENTS[:5]))), b"what"],
    [STARTED + chunk(b"".join(map(sse, EVENTS)))],
    [WHOLE[:-1]],
    [],
]


def chat_snapshot() -> Snapshot:
    """Of backends that speak Chat Completions."""
    keys = (Secret("sk-test-key"),)
    rows = {
        name: Backend(
            name=name, url="http://127.0.0.1:9", dialect="openai-chat", realm="r", auth="key", keys=keys, model="m"
        )
        for name in ("b", "spare")
    }
    built = Settings(active="b", backends=rows, failover=("spare",), models=models(), retry=Retry(retries=0))
    return snapshot_of(built, SEALER)


CHAT_CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "t", "arguments": ""}}
CHAT_USED = {"usage": {"prompt_tokens": 50, "completion_tokens": 7}}


def _finished(reason: str) -> bytes:
    choice = {"index": 0, "delta": {}, "finish_reason": reason, "stop_reason": "END"}
    return b"data: " + json.dumps({"choices": [choice], **CHAT_USED}).encode() + b"\n\n"


CHAT_CHUNKS = [
    chat_chunk(role="assistant", content=None, reasoning_content=""),
    chat_chunk(reasoning_content="Hm,"),
    chat_chunk(reasoning_content=" well."),
    chat_chunk(content="Yes"),
    chat_chunk(content=", sk-test-key."),
    chat_chunk(content=[{"type": "image_url", "image_url": {"url": "data:,"}}], audio={"data": "AA", "transcript": "Oh."}),
    chat_chunk(tool_calls=[CHAT_CALL]),
    chat_chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"a":'}}]),
    chat_chunk(tool_calls=[{"index": 0, "function": {"arguments": "1}"}}]),
    _finished("stop"),
    DONE,
]
CHAT_STREAM = framed(b"".join(CHAT_CHUNKS), "x-ratelimit-remaining-requests: 7", kind="text/event-stream", chunked=True)
