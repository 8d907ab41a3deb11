"""Clients of the Responses API that ask for a summary in place of their history, and go on with it, on any backend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.pipeline.compaction import PROMPT
from clew.testing import Simulator
from tests.engine.gate import Answer, Gate, claude, other
from tests.gateway.responding import Json, asked_of, create, error_of, response

HISTORY: list[Json] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Write a parser."},
    {"role": "assistant", "content": "I wrote one."},
]
TRIGGER: Json = {"type": "compaction_trigger"}
SAID = "Hello. This is a plain answer."
OTHER_KEY = "the-key-of-another"


@pytest.fixture
def sims() -> Iterator[tuple[Simulator, Simulator]]:
    with Simulator(scenario="text") as first, Simulator(scenario="text", realm="glm") as second:
        yield first, second


@pytest.fixture
def gate(tmp_path: Path, sims: tuple[Simulator, Simulator]) -> Iterator[Gate]:
    with Gate(tmp_path, claude(sims[0]), other(sims[1]), others={OTHER_KEY: "somebody"}) as gate:
        yield gate


def words_of(message: Json) -> str:
    return "".join([block["text"] for block in message["content"]])


def kinds_of(answer: Answer) -> list[tuple[str, str]]:
    return [
        (event["type"], event.get("item", {}).get("type", "")) for event in answer.events if event["type"] != "keepalive"
    ]


def test_a_trigger_gives_exactly_one_item_and_later_requests_have_the_summary(gate: Gate, sims: Any) -> None:
    answer = create(gate, [*HISTORY, TRIGGER], stream=True, store=False)
    assert kinds_of(answer) == [
        ("response.created", ""),
        ("response.in_progress", ""),
        ("response.output_item.added", "compaction"),
        ("response.output_item.done", "compaction"),
        ("response.completed", ""),
    ]
    [item] = response(answer)["output"]
    [asked] = asked_of(sims[0])
    assert [words_of(message) for message in asked["messages"]] == ["Write a parser.", "I wrote one.", PROMPT]
    assert asked["tool_choice"] == {"type": "none"}

    for backend, simulator in (("claude", sims[0]), ("glm", sims[1])):
        gate.use(backend)
        response(create(gate, [HISTORY[0], item, {"role": "user", "content": "Go on."}], store=False))
        summary, question = asked_of(simulator)[-1]["messages"]
        assert words_of(summary).endswith(SAID)
        assert words_of(summary).startswith("Summary of the conversation so far")
        assert words_of(question) == "Go on."


def test_the_older_form_is_answered_in_one_piece(gate: Gate) -> None:
    answer = create(gate, HISTORY, path="/v1/responses/compact")
    assert answer.status == 200, answer.raw
    assert set(answer.json) == {"id", "object", "created_at", "output", "usage"}
    assert answer.json["object"] == "response.compaction"
    assert [item["type"] for item in answer.json["output"]] == ["compaction"]
    gate.use("glm")
    response(create(gate, [*answer.json["output"], {"role": "user", "content": "Go on."}]))


def test_a_summary_is_made_of_a_history_that_is_only_named(gate: Gate, sims: Any) -> None:
    said = response(create(gate, HISTORY[:2]))
    for input in ([], None):
        answer = create(gate, input, previous_response_id=said["id"], path="/v1/responses/compact")
        assert answer.status == 200, answer.raw
        asked = asked_of(sims[0])[-1]
        assert [words_of(message) for message in asked["messages"]] == ["Write a parser.", SAID, PROMPT]


def test_a_stored_history_that_begins_with_a_summary_has_it_still(gate: Gate, sims: Any) -> None:
    [item] = response(create(gate, [*HISTORY, TRIGGER]))["output"]
    said = response(create(gate, [item, {"role": "user", "content": "Go on."}]))
    response(create(gate, "And on.", previous_response_id=said["id"]))
    assert [words_of(message) for message in asked_of(sims[0])[-1]["messages"]][1:] == ["Go on.", SAID, "And on."]
    assert words_of(asked_of(sims[0])[-1]["messages"][0]).endswith(SAID)


def test_it_is_in_the_log_as_what_it_is_and_in_no_thread(gate: Gate) -> None:
    response(create(gate, [*HISTORY, TRIGGER], stream=True))
    assert gate.store is not None
    [exchange] = gate.store.exchanges("local")
    assert (exchange.kind, exchange.outcome, exchange.backend) == ("compact", "whole", "claude")
    assert exchange.usage is not None
    assert gate.store.threads("local") == []


@pytest.mark.parametrize("damage", ["byte", "principal", "short"])
def test_a_summary_that_does_not_verify_is_refused_with_a_reason(gate: Gate, sims: Any, damage: str) -> None:
    [item] = response(create(gate, [*HISTORY, TRIGGER], stream=True))["output"]
    sealed, asked = item["encrypted_content"], len(asked_of(sims[0]))
    if damage == "byte":
        sealed = sealed[:100] + ("A" if sealed[100] != "A" else "B") + sealed[101:]
    elif damage == "short":
        sealed = "clew1.AAAA"
    key = {"key": OTHER_KEY} if damage == "principal" else {}
    refused = error_of(create(gate, [{**item, "encrypted_content": sealed}, HISTORY[1]], **key))
    assert (refused["status"], refused["code"], refused["param"]) == (400, "invalid_encrypted_content", "input")
    assert "could not be verified" in refused["message"]
    assert len(asked_of(sims[0])) == asked


def test_a_vendors_own_summary_is_left_out_elsewhere_and_reported(gate: Gate, sims: Any) -> None:
    answer = create(gate, [{"type": "compaction", "encrypted_content": "gAAAAAB"}, HISTORY[1]])
    response(answer)
    assert [words_of(message) for message in asked_of(sims[0])[-1]["messages"]] == ["Write a parser."]
    assert gate.store is not None
    [exchange] = gate.store.exchanges("local")
    assert [change.path for change in exchange.changes if change.path == "input.0"] == ["input.0"]


def test_an_answer_without_text_is_no_summary_and_the_client_is_told(tmp_path: Path) -> None:
    with Simulator(scenario="only-thinking") as sim, Gate(tmp_path, claude(sim)) as gate:
        answer = create(gate, [*HISTORY, TRIGGER])
        assert answer.status == 502
        assert "no summary" in answer.json["error"]["message"]
        streamed = create(gate, [*HISTORY, TRIGGER], stream=True)  # a refusal, or an error at the end of the stream
        assert "no summary" in streamed.raw.decode()
        assert "response.completed" not in streamed.raw.decode()


def test_a_trigger_that_is_not_the_last_item_is_refused(gate: Gate) -> None:
    refused = error_of(create(gate, [TRIGGER, *HISTORY]))
    assert (refused["status"], refused["param"]) == (400, "input.0")


def test_the_summary_of_one_gateway_opens_in_another_with_its_secret(tmp_path: Path, sims: Any) -> None:
    with Gate(tmp_path / "a", claude(sims[0]), store=False) as gate:
        [item] = response(create(gate, [*HISTORY, TRIGGER]))["output"]
    with Gate(tmp_path / "b", claude(sims[1]), store=False) as beside:
        response(create(beside, [item, {"role": "user", "content": "Go on."}]))
    assert SAID in json.dumps(asked_of(sims[1])[-1])
