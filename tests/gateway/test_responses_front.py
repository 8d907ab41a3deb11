"""A client of the Responses API, through the whole gateway: the streams that it gets, from Claude and from OpenAI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.dialects.openai_responses.accumulate import ApiError, accumulated, events_in
from tests.engine.chatting import chat_row
from tests.engine.gate import Answer, Gate, claude
from tests.engine.talk import refusals
from tests.gateway.responding import create, openai
from tests.manifest import proves

USER: dict[str, Any] = {"role": "user", "content": "Hello"}
TOO_LONG = "status 400 type=invalid_request_error message='prompt is too long: 9 tokens > 8 maximum'"


@pytest.fixture
def sim(simulators: StartSimulator) -> Simulator:
    return simulators(scenario="parallel", stance={"prefix_enforcement": "on"})


@pytest.fixture
def gate(tmp_path: Path, sim: Simulator) -> Iterator[Gate]:
    with Gate(tmp_path, claude(sim)) as gate:
        yield gate


def stream(gate: Gate, *items: Any) -> Answer:
    return create(gate, [USER, *items], stream=True, store=False)


@proves("case:93")
def test_a_turn_of_claudes_is_a_stream_that_clients_put_together(gate: Gate, sim: Simulator) -> None:
    """And what the client returns is a history that Claude takes, with its own thoughts."""
    answer = stream(gate)
    found = accumulated(answer.raw)
    exchange = answer.headers["x-clew-exchange"]

    assert found["id"] == f"resp_{exchange}"
    kinds = [item["type"] for item in found["output"]]
    assert kinds[0] == "reasoning"
    assert kinds.count("function_call") > 1
    assert [item["id"].rpartition("_")[2] for item in found["output"]] == [str(at) for at in range(len(kinds))]
    outputs = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}
        for item in found["output"]
        if item["type"] == "function_call"
    ]
    assert accumulated(stream(gate, *found["output"], *outputs).raw)["status"] == "completed"
    assert refusals(sim) == []
    assert sim.journal()[-1]["body"]["messages"][1]["content"][0]["type"] == "thinking"


@proves("case:118")
def test_an_answer_in_one_piece_has_the_shape_of_the_streams(gate: Gate) -> None:
    whole, streamed = create(gate, [USER], store=False).json, accumulated(stream(gate).raw)

    assert set(whole) == set(streamed)
    assert [item["type"] for item in whole["output"]] == [item["type"] for item in streamed["output"]]


@proves("case:103")
def test_a_context_that_is_full_is_told_inside_a_stream(gate: Gate, sim: Simulator) -> None:
    sim.fault(TOO_LONG, times=None)
    answer = stream(gate)
    events = events_in(answer.raw)

    assert answer.status == 200
    assert [each["type"] for each in events] == ["response.created", "response.in_progress", "error", "response.failed"]
    assert events[-1]["response"]["error"]["code"] == "context_length_exceeded"
    whole = create(gate, [USER], store=False)
    assert (whole.status, whole.json["error"]["code"]) == (400, "context_length_exceeded")


def test_an_error_after_the_first_content_is_told_under_the_same_id(gate: Gate, sim: Simulator) -> None:
    sim.fault("error overloaded_error content=3")
    raw = stream(gate).raw
    events = events_in(raw)

    with pytest.raises(ApiError):
        accumulated(raw)
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"]["code"] == "server_is_overloaded"
    assert events[-1]["response"]["id"] == events[0]["response"]["id"]


def test_an_answer_that_breaks_off_ends_as_a_failed_response(gate: Gate, sim: Simulator) -> None:
    sim.fault("cut content=3")
    events = events_in(stream(gate).raw)

    assert [each["type"] for each in events[-2:]] == ["error", "response.failed"]
    assert events[-1]["response"]["id"] == events[0]["response"]["id"]


def test_a_stream_of_openais_reaches_its_clients_with_our_ids_and_seals(tmp_path: Path, simulators: StartSimulator) -> None:
    backend = simulators(kind="openai-responses")
    with Gate(tmp_path, openai(backend)) as gate:
        answer = stream(gate)
        found = accumulated(answer.raw)
        exchange = answer.headers["x-clew-exchange"]

        assert all(exchange in item["id"] for item in found["output"])
        blobs = [item["encrypted_content"] for item in found["output"] if item["type"] == "reasoning"]
        assert blobs
        assert all(blob.startswith("clew2.") for blob in blobs)
        second = stream(gate, *found["output"], {"role": "user", "content": "And now?"})
        assert accumulated(second.raw)["status"] == "completed"
    assert "clew2." not in json.dumps(backend.journal())


def test_a_refusal_names_the_field_as_the_client_knows_it(tmp_path: Path, simulators: StartSimulator) -> None:
    """A vendor of the client's own dialect says it itself, with a code; of the others clew knows what the field was."""
    vendor, spoken, sim = simulators(kind="openai-responses"), simulators(kind="openai-chat"), simulators()
    backends = openai(vendor, "own_items = true"), chat_row("chat", spoken.url), claude(sim)
    stored = {"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}
    with Gate(tmp_path, *backends) as gate:
        told = create(gate, [USER], unknown_field=1).json["error"]
        assert (told["param"], told["code"]) == ("unknown_field", "unknown_parameter")
        gate.use("chat")
        told = create(gate, [stored]).json["error"]
        assert (told["param"], told["message"].partition(":")[0]) == ("input.0", "input.0")
        gate.use("claude")
        assert create(gate, [USER], max_output_tokens=-1).json["error"]["param"] == "max_output_tokens"
        assert create(gate, [USER], reasoning={"effort": "zz"}).json["error"]["param"] == "reasoning.effort"


SEARCH: dict[str, Any] = {"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}, "store": False}


def test_a_tool_that_the_vendor_runs_can_be_demanded_of_the_vendor_alone(tmp_path: Path, simulators: StartSimulator) -> None:
    """Claude would answer without the search that the client insists on."""
    vendor, sim = simulators(kind="openai-responses"), simulators()
    with Gate(tmp_path, openai(vendor, "own_items = true"), claude(sim)) as gate:
        assert create(gate, "[[scenario:text]]", **SEARCH).status == 200
        [asked] = [entry["body"] for entry in vendor.journal()]
        assert (asked["tools"], asked["tool_choice"]) == (SEARCH["tools"], SEARCH["tool_choice"])

        gate.use("claude")
        for forced in (SEARCH, {**SEARCH, "tool_choice": "required"}):
            for streams in (False, True):
                refused = create(gate, "[[scenario:text]]", **forced, stream=streams)
                assert (refused.status, refused.json["error"]["param"]) == (400, "tool_choice")
        assert create(gate, "[[scenario:text]]", **{**SEARCH, "tool_choice": "auto"}).status == 200
    with Gate(tmp_path, openai(vendor), store=False) as gate:  # of this API, and without tools of its own
        assert create(gate, "[[scenario:text]]", **SEARCH).json["error"]["param"] == "tool_choice"
