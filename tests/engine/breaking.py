"""A backend whose streams break off inside a block, after as many deltas as the question says, in one of six ways."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clew.http.message import HttpRequest
from clew.http.responder import Responder
from clew.http.server import listen
from clew.model.events import BlockDelta, BlockStart, BlockStop, MessageStart, Ping
from clew.testing.simulator import Background
from clew.wire.events import encode_event
from tests.build import Json, user
from tests.engine.chatting import SSE, Teller, chunk
from tests.waiting import turns

__all__ = ["BLOCKS", "WAYS", "breaking", "breaks_after"]

BLOCKS = ("thinking", "text", "tool_use")
WAYS = ("closed", "reset", "ended", "error", "junk", "silent")
"""A FIN, a RST, an end of the body that is in order, an error of the backend, an event that is no JSON, and a silence."""

_MESSAGE: Json = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": None}
_ERRORS = {
    "chat": b'data: {"error":{"code":503,"message":"overloaded"}}\n\n',
    "anthropic": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}\n\n',
}
_JUNK = {"chat": b"data: {oh\n\n", "anthropic": b"event: content_block_delta\ndata: {oh\n\n"}


def breaks_after(deltas: int, **fields: object) -> Json:
    """The question."""
    return {"model": "claude-opus-5-5", "max_tokens": 2000, "stream": True, "messages": [user(f"{deltas}")], **fields}


def chat_chunks(block: str, deltas: int) -> Sequence[bytes]:
    """A thought comes first wherever the block is no thought: it is whole by then."""
    if block == "thinking":
        return [chunk(role="assistant", content=""), *(chunk(reasoning_content=f"t{n} ") for n in range(deltas))]
    begun = [chunk(role="assistant", content=""), chunk(reasoning_content="Hm.")]
    if block == "text":
        return [*begun, *(chunk(content=f"w{n} ") for n in range(deltas))]
    opening = chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "Read", "arguments": '{"file_path": "'}}])
    return [*begun, opening, *(chunk(tool_calls=[{"index": 0, "function": {"arguments": f"a{n}"}}]) for n in range(deltas))]


_STARTS: dict[str, Json] = {
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
    "text": {"type": "text", "text": ""},
    "tool_use": {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}},
}
_DELTAS = {
    "thinking": ("thinking_delta", "thinking"),
    "text": ("text_delta", "text"),
    "tool_use": ("input_json_delta", "partial_json"),
}


def anthropic_events(block: str, deltas: int) -> Sequence[bytes]:
    """The same in the client's own dialect."""
    begun = [MessageStart({**_MESSAGE, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}), Ping()]
    thought = [
        BlockStart(0, _STARTS["thinking"]),
        BlockDelta(0, {"type": "thinking_delta", "thinking": "Hm."}),
        BlockDelta(0, {"type": "signature_delta", "signature": "s"}),
        BlockStop(0),
    ]
    before = [] if block == "thinking" else thought
    index, (kind, member) = bool(before), _DELTAS[block]
    said = [BlockDelta(int(index), {"type": kind, member: f"a{n}"}) for n in range(deltas)]
    return [encode_event(event) for event in [*begun, *before, BlockStart(int(index), _STARTS[block]), *said]]


@contextmanager
def breaking(dialect: str, block: str, way: str) -> Iterator[Teller]:
    teller, over = Teller(), asyncio.Event()
    told = chat_chunks if dialect == "chat" else anthropic_events

    async def handle(request: HttpRequest, respond: Responder) -> None:
        asked = json.loads(request.body)
        teller.asked.append(asked)
        respond.start(200, [("content-type", SSE)])
        for each in told(block, _deltas(asked)):
            await respond.write(each)
            await asyncio.sleep(0)
        await _break_off(respond, way)

    async def _break_off(respond: Responder, way: str) -> None:
        if way == "closed":
            respond.hang_up()
        elif way == "reset":
            await turns()  # what was written and not sent would be lost
            respond.abort()
        elif way == "silent":
            await over.wait()
        else:
            await respond.write({"error": _ERRORS, "junk": _JUNK}[way][dialect] if way != "ended" else b": \n\n")
            respond.end()

    with Background() as loop:
        server = loop.call(listen(handle))
        teller.url = server.url
        try:
            yield teller
        finally:
            over.set()
            loop.call(server.close(grace=0))


def _deltas(asked: Json) -> int:
    content = asked["messages"][-1]["content"]
    return int(content if isinstance(content, str) else content[-1]["text"])
