"""The official Python SDK holds whole conversations with the simulator and its strict judge."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types import Message

from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.manifest import accepts
from tests.simulator.wire import TOOL, ask

THINKING: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
TURNS = 6


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def sim(shared: Simulator) -> Simulator:
    shared.reset()
    return shared


@pytest.fixture
def client(sim: Simulator) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=sim.url, api_key=sim.key, max_retries=0) as client:
        yield client


def converse(client: anthropic.Anthropic, scenario: str, *, stream: bool, model: str, **fields: Any) -> list[Message]:
    """Six user turns; every tool call is answered; everything that came goes back as the SDK holds it."""
    history: list[Any] = []
    said: list[Message] = []
    for turn in range(TURNS):
        history.append({"role": "user", "content": f"[[scenario:{scenario}]] question {turn}"})
        while True:
            message = create(client, stream, model=model, max_tokens=4000, tools=[TOOL], messages=history, **fields)
            said.append(message)
            history.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": f"sunny {turn}"}
                for block in message.content
                if block.type == "tool_use"
            ]
            if not results:
                break
            history.append({"role": "user", "content": results})
    return said


def create(client: anthropic.Anthropic, stream: bool, **fields: Any) -> Message:
    if not stream:
        return client.messages.create(**fields)
    with client.messages.stream(**fields) as events:
        return events.get_final_message()


CASES = [
    pytest.param("default", "claude-opus-5-5", {"thinking": THINKING}, id="thinking"),
    pytest.param("interleaved", "claude-sonnet-5-5", {"thinking": THINKING}, id="interleaved"),
    pytest.param("redacted", "claude-opus-5-5", {"thinking": THINKING}, id="redacted"),
    pytest.param("loop", "claude-opus-5-5", {"thinking": {"type": "adaptive", "display": "omitted"}}, id="omitted"),
    pytest.param("parallel", "claude-fable-5-1", {}, id="always-thinking"),
    pytest.param("loop", "claude-opus-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, id="manual"),
    pytest.param("default", "claude-haiku-4-5", {}, id="without-thinking"),
]


@accepts("rule:R70")
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(("scenario", "model", "fields"), CASES)
def test_the_sdk_holds_a_six_turn_tool_conversation(
    sim: Simulator, client: anthropic.Anthropic, scenario: str, model: str, fields: dict[str, Any], stream: bool
) -> None:
    """Everything that the SDK accumulated is legal when it comes back: signatures, order, ids."""
    said = converse(client, scenario, stream=stream, model=model, **fields)

    entries = sim.journal()
    assert [entry["verdict"] for entry in entries] == [{"ok": True}] * len(said)
    assert {entry["response"]["stream"] for entry in entries} == {stream}
    assert sum(message.stop_reason == "end_turn" for message in said) == TURNS
    assert sum(message.stop_reason == "tool_use" for message in said) >= TURNS
    last = said[-1].content[-1]
    assert last.type == "text"
    assert "sunny 5" in last.text
    assert {block["fate"] for block in entries[-1]["thinking"]} <= {"kept", "stripped"}


def test_all_thinking_that_was_said_comes_back_and_is_kept(sim: Simulator, client: anthropic.Anthropic) -> None:
    said = converse(client, "redacted", stream=True, model="claude-opus-5-5", thinking=THINKING)
    thoughts = sum(block.type in ("thinking", "redacted_thinking") for message in said[:-1] for block in message.content)
    last = sim.journal()[-1]["thinking"]
    assert [block["fate"] for block in last] == ["kept"] * thoughts
    assert {block["maker"] for block in last} == {"claude-opus-5-5"}


def test_omitted_thinking_is_empty_and_signed(client: anthropic.Anthropic) -> None:
    """R41, R66: what a new model does when it is asked for nothing."""
    message = create(
        client,
        True,
        model="claude-opus-5-5",
        max_tokens=500,
        messages=[{"role": "user", "content": "[[scenario:thinking]]"}],
    )
    thought = message.content[0]
    assert thought.type == "thinking"
    assert thought.thinking == ""
    assert len(thought.signature) > 20


@accepts("rule:R70")
@pytest.mark.parametrize("scenario", ["small-pieces", "interleaved", "redacted", "parallel", "omitted"])
def test_the_sdk_makes_the_same_blocks_of_a_stream_as_of_a_message(client: anthropic.Anthropic, scenario: str) -> None:
    fields: dict[str, Any] = {
        "model": "claude-opus-4-6",
        "max_tokens": 500,
        "tools": [TOOL],
        "thinking": {"type": "adaptive"},
        "messages": [{"role": "user", "content": f"[[scenario:{scenario}]]"}],
    }

    def plain(message: Message) -> list[Any]:
        dropped = ("id", "signature", "data", "parsed_output")
        blocks = [block.to_dict() for block in message.content]
        return [{name: value for name, value in block.items() if name not in dropped} for block in blocks]

    streamed, whole = create(client, True, **fields), create(client, False, **fields)
    assert plain(streamed) == plain(whole)
    assert streamed.stop_reason == whole.stop_reason
    assert streamed.usage.output_tokens == whole.usage.output_tokens


def test_structured_output_fits_its_schema(client: anthropic.Anthropic) -> None:
    """R12."""
    schema = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "score": {"type": "integer"}},
        "required": ["title", "score"],
        "additionalProperties": False,
    }
    message = client.messages.create(
        model="claude-opus-4-6",
        max_tokens=300,
        output_config={"format": {"type": "json_schema", "schema": schema}},
        messages=[{"role": "user", "content": "hi"}],
    )
    block = message.content[0]
    assert block.type == "text"
    assert json.loads(block.text) == {"title": "title", "score": 1}


def test_the_binding_beta_reports_no_transformations_when_there_are_none(client: anthropic.Anthropic) -> None:
    """R46: an empty list, streamed in the start event."""
    fields: Any = {
        "model": "claude-opus-5-5",
        "max_tokens": 300,
        "betas": ["thinking-binding-controls-2026-08-01"],
        "messages": [{"role": "user", "content": "hi"}],
    }
    assert client.beta.messages.create(**fields).input_transformations == []
    with client.beta.messages.stream(**fields) as events:
        assert events.get_final_message().input_transformations == []


@accepts("rule:R68")
def test_a_paused_turn_goes_on_when_its_content_is_sent_back(client: anthropic.Anthropic) -> None:
    fields: Any = {
        "model": "claude-opus-5-5",
        "max_tokens": 300,
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    }
    history: list[Any] = [{"role": "user", "content": "[[scenario:paused]]"}]
    first = client.messages.create(**fields, messages=history)
    assert first.stop_reason == "pause_turn"
    history.append({"role": "assistant", "content": [block.to_dict() for block in first.content]})
    second = client.messages.create(**fields, messages=history)
    assert second.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("status 401", anthropic.AuthenticationError),
        ("status 403", anthropic.PermissionDeniedError),
        ("status 404", anthropic.NotFoundError),
        ("status 413", anthropic.RequestTooLargeError),
        ("status 429", anthropic.RateLimitError),
        ("status 500", anthropic.InternalServerError),
        ("status 529", anthropic.OverloadedError),
        ("no-answer rst", anthropic.APIConnectionError),
    ],
)
def test_the_sdk_raises_its_error_for_each_status(
    sim: Simulator, client: anthropic.Anthropic, fault: str, error: type[Exception]
) -> None:
    sim.fault(fault)
    with pytest.raises(error):
        client.messages.create(model="claude-opus-4-6", max_tokens=9, messages=[{"role": "user", "content": "hi"}])


@accepts("rule:R79")
def test_a_refusal_for_thinking_is_not_tried_again(sim: Simulator) -> None:
    """R79: the SDK's own retries leave every 400 alone, and its error has the vendor's words."""
    thought = {"type": "thinking", "thinking": "a", "signature": "AAAA"}
    messages: Any = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "b"}]},
        {"role": "user", "content": "c"},
    ]
    with (
        anthropic.Anthropic(base_url=sim.url, api_key=sim.key, max_retries=2) as client,
        pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"),
    ):
        client.messages.create(model="claude-opus-5-5", max_tokens=99, messages=messages)
    (entry,) = sim.journal()
    assert entry["thinking"] == [
        {"path": "messages.1.content.0", "maker": "", "whose": "foreign", "fate": "refused", "reason": ""}
    ]


@accepts("rule:R69")
@pytest.mark.parametrize("after", [0, 6])
def test_the_sdk_raises_a_status_error_for_an_error_event(sim: Simulator, client: anthropic.Anthropic, after: int) -> None:
    sim.fault(f"error overloaded_error after={after}")
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        create(client, True, model="claude-opus-4-6", max_tokens=99, messages=[{"role": "user", "content": "hello you"}])


def thought_of(sim: Simulator, model: str) -> Any:
    """A thinking block that this simulator made, as the SDK would send it back."""
    with anthropic.Anthropic(base_url=sim.url, api_key=sim.key) as client:
        message = client.messages.create(
            model=model,
            max_tokens=500,
            thinking={"type": "adaptive", "display": "summarized"},
            messages=[{"role": "user", "content": "[[scenario:thinking]]"}],
        )
    return message.content[0].to_dict()


def test_two_vendors_with_one_dialect_refuse_each_others_thinking(simulators: StartSimulator) -> None:
    """`compat`: its own signatures, any model name; R33 for everyone else's blocks."""
    claude, other = simulators(), simulators(kind="compat")
    made = {"claude": thought_of(claude, "claude-opus-5-5"), "other": thought_of(other, "qwen3-32b")}

    def status(sim: Simulator, model: str, block: Any) -> tuple[int, str | None]:
        said = {"role": "assistant", "content": [block, {"type": "text", "text": "Here is a short answer."}]}
        asked = [{"role": "user", "content": "[[scenario:thinking]]"}, said, {"role": "user", "content": "go on"}]
        reply = ask(sim.url, model=model, messages=asked, headers={"x-api-key": sim.key})
        return reply.status, reply.headers.get("x-sim-rule")

    assert status(claude, "claude-opus-5-5", made["claude"]) == (200, None)
    assert status(claude, "claude-opus-5-5", made["other"]) == (400, "R33.invalid-signature")
    assert status(other, "qwen3-32b", made["other"]) == (200, None)
    assert status(other, "qwen3-32b", made["claude"]) == (400, "R33.invalid-signature")


@accepts("rule:R74", "rule:R75")
def test_the_sdk_reads_counts_and_models(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(model="claude-opus-4-6", messages=[{"role": "user", "content": "hi"}])
    assert counted.input_tokens == 1
    assert "claude-opus-5-5" in [model.id for model in client.models.list(limit=100)]
    info = client.models.retrieve("claude-haiku-4-5")
    assert info.capabilities is not None
    assert info.capabilities.thinking.types.enabled.supported
