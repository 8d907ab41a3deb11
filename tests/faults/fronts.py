"""The fronts besides the Messages API: how their clients ask, and what they make of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from clew.dialects import DIALECTS
from tests.build import Json
from tests.engine.gate import KEY, Answer, Gate
from tests.faults.scene import MODEL

__all__ = ["FRONTS", "Front"]


class Front(NamedTuple):
    """A client's side of a dialect."""

    dialect: str
    path: str
    asked: Callable[[str], Json]
    """A question, but for `model` and `stream`."""
    is_end: Callable[[str], bool]
    """Whether the data of an event says that the answer is whole."""
    keep_alive: bytes
    """What a client hears that waits for long: its end."""

    def question(self, words: str = "Why?", *, stream: bool = True, **fields: Any) -> Json:
        return {"model": MODEL, "stream": stream, **self.asked(words), **fields}

    def ask(self, gate: Gate, body: Json | None = None) -> Answer:
        headers = {"authorization": f"Bearer {KEY}", "x-api-key": "", "anthropic-version": ""}
        return gate.ask(body or self.question(), path=self.path, headers=headers)

    def story(self, answer: Answer) -> str:
        """What a client makes of an answer: "whole", "error", or "broken" where it was told neither."""
        if answer.headers["content-type"].startswith("application/json"):
            error = answer.json.get("error")
            assert (error is None) == (answer.status == 200), answer.raw
            assert error is None or set(error) == {"message", "type", "param", "code"}
            return "whole" if error is None else "error"
        return self.story_of_stream(answer.raw)

    def story_of_stream(self, raw: bytes) -> str:
        told = [line[6:] for line in raw.decode().splitlines() if line.startswith("data: ")]
        ends, errors = sum(map(self.is_end, told)), sum(map(_is_error, told))
        assert not (ends and errors), told
        return "whole" if ends else "error" if errors else "broken"


def _is_error(data: str) -> bool:
    if data == "[DONE]":
        return False
    value = json.loads(data)
    return "error" in value and bool(value["error"])


ALL = {
    "openai-chat": Front(
        "openai-chat",
        "/v1/chat/completions",
        lambda words: {"messages": [{"role": "user", "content": words}]},
        lambda data: data == "[DONE]",
        b": keep-alive\n\n",
    ),
    "openai-responses": Front(
        "openai-responses",
        "/v1/responses",
        lambda words: {"input": words},
        lambda data: '"type":"response.completed"' in data,
        b"}\n\n",
    ),
}
FRONTS = {name: ALL[name] for name in DIALECTS if name != "anthropic"}
"""Every dialect but Anthropic's is here: one without a row fails when the tests are collected."""
