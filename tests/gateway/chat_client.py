"""A client of Chat Completions for tests: what it asks, and how it reads a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.engine.gate import KEY, Answer, Gate

__all__ = ["PATH", "QUESTION", "TOOL", "ask", "chunks", "told_by"]

Json = dict[str, Any]
PATH = "/v1/chat/completions"
USER: Json = {"role": "user", "content": "Read a.txt"}
QUESTION: Json = {"model": "claude-opus-5-5", "messages": [USER]}
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "Read",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}


def ask(gate: Gate, body: Json, path: str = PATH, headers: Mapping[str, str] | None = None) -> Answer:
    """As OpenAI's clients do: with a bearer, and without a version."""
    given = {"authorization": f"Bearer {KEY}", "x-api-key": "", "anthropic-version": "", **(headers or {})}
    return gate.ask(body, path=path, headers=given)


def chunks(answer: Answer) -> list[Json]:
    """The chunks of a whole stream."""
    assert answer.status == 200, answer.raw
    *events, end = answer.raw.decode().removesuffix("\n\n").split("\n\n")
    assert end == "data: [DONE]", end
    return [json.loads(event.removeprefix("data: ")) for event in events if not event.startswith(":")]


def told_by(answer: Answer) -> Json:
    """The message of an answer in one piece."""
    assert answer.status == 200, answer.raw
    return answer.json["choices"][0]["message"]
