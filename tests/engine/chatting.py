"""Backends that speak Chat Completions: the rows of the presets at a simulator's address, and one that says what a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from clew.backends.row import Backend
from clew.http.message import HttpRequest
from clew.http.responder import Responder
from clew.http.server import listen
from clew.settings.load import load
from clew.testing import Simulator
from clew.testing.simulator import Background
from tests.build import Json
from tests.waiting import forever

__all__ = ["SSE", "Teller", "chat", "chat_row", "chunk", "pieces", "telling", "thinks"]

SSE = "text/event-stream"
DONE = b"data: [DONE]\n\n"


def chat_row(name: str, url: str, *lines: str) -> Backend:
    """The row as a user would configure it, in these lines of its table."""
    table = [f"[backends.{name}]", 'dialect = "openai-chat"', f'url = "{url}/v1"', f'key = "{Simulator.key}"', *lines]
    with TemporaryDirectory() as home:
        file = Path(home) / "clew.toml"
        file.write_text("\n".join(table))
        return load(file, {"CLEW_HOME": home}).settings.backends[name]


def chat(simulator: Simulator, preset: str, *lines: str) -> Backend:
    """A preset's row at a simulator's address, under the preset's name."""
    return chat_row(preset, simulator.url, f'preset = "{preset}"', *lines)


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c-1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


@dataclass
class Teller:
    """What it is asked, in order; and where."""

    url: str = ""
    asked: list[Json] = field(default_factory=list[Json])


@contextmanager
def telling(*parts: bytes | float, kind: str = SSE, headers: Sequence[tuple[str, str]] = ()) -> Iterator[Teller]:
    """A server that answers everything with these bytes; a number is a silence of so many seconds, or until the client leaves. One part alone goes out
    in one write with the head."""
    teller = Teller()

    async def handle(request: HttpRequest, respond: Responder) -> None:
        teller.asked.append(json.loads(request.body))
        if len(parts) == 1 and isinstance(parts[0], bytes):
            respond.send(200, [("content-type", kind), *headers], parts[0])
            return
        respond.start(200, [("content-type", kind), *headers])
        for part in parts:
            if isinstance(part, bytes):
                respond.push(part)
            else:
                await (forever() if part == inf else asyncio.sleep(part))
        respond.end()

    with Background() as loop:
        server = loop.call(listen(handle))
        teller.url = server.url
        try:
            yield teller
        finally:
            loop.call(server.close(grace=0))


def pieces(simulator: Simulator, since: int = 0) -> list[tuple[str, str, bool, str]]:
    """What the last request had of reasoning: field, whose, whether to the byte, and what became of it."""
    found = simulator.journal(since)[-1]["thinking"]
    return [(each["field"], each["whose"], each["same"], each["fate"]) for each in found]


def thinks(body: Json) -> bool:
    """Whether DeepSeek is asked to think."""
    return body.get("thinking", {}).get("type") == "enabled"
