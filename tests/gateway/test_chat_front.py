"""A client of Chat Completions, through the whole gateway, with Claude and with DeepSeek behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.gate import KEY, Answer, Gate, claude

Json = dict[str, Any]
QUESTION: Json = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Hello"}]}


def ask(gate: Gate, body: Json, path: str = "/v1/chat/completions", **headers: str) -> Answer:
    given = {"authorization": f"Bearer {KEY}", "x-api-key": "", "anthropic-version": "", **headers}
    return gate.ask(body, path=path, headers=given)


def chunks(answer: Answer) -> list[Json]:
    """The chunks of a whole stream."""
    *events, end = answer.raw.decode().removesuffix("\n\n").split("\n\n")
    assert end == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events if not event.startswith(":")]


@pytest.fixture
def sim(simulators: StartSimulator) -> Simulator:
    return simulators()


@pytest.fixture
def gate(tmp_path: Path, sim: Simulator) -> Iterator[Gate]:
    with ExitStack() as stack:
        yield stack.enter_context(Gate(tmp_path, claude(sim)))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions"])
def test_a_question_is_answered_by_claude_as_a_completion(gate: Gate, path: str) -> None:
    answer = ask(gate, QUESTION, path)
    assert answer.status == 200, answer.raw
    said = answer.json
    assert (said["object"], said["model"], said["choices"][0]["finish_reason"]) == (
        "chat.completion",
        "claude-opus-5-5",
        "stop",
    )
    assert said["choices"][0]["message"]["content"]
    assert answer.headers["x-clew-backend"] == "claude"


def test_a_stream_of_claudes_is_a_stream_of_chunks(gate: Gate) -> None:
    answer = ask(gate, {**QUESTION, "stream": True})
    assert answer.status == 200, answer.raw
    said = chunks(answer)
    assert said[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [each["choices"][0]["finish_reason"] for each in said][-1] == "stop"
    assert {each["object"] for each in said} == {"chat.completion.chunk"}
