"""Tool loops with every Responses kind over a real socket: what a vendor gave, it takes back, and the journal says so."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from clew.simulator.openai_responses.vendors import responses_vendors
from clew.testing import Simulator
from tests.simulator.openai_responses.talking import Talk, events, model_of, post

SIM = Callable[[str], Simulator]
KINDS = list(responses_vendors())


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_goes_through_with_what_the_vendor_gave(sim_of: SIM, kind: str) -> None:
    """Its own reasoning came back untouched, nothing foreign."""
    sim = sim_of(kind)
    talk = Talk(sim, kind).ask("[[scenario:loop]] go")
    for _ in range(4):
        talk.turn()
    talk.ask("And now?").turn()
    assert [entry["verdict"] for entry in sim.journal()] == [{"ok": True}] * 5
    pieces = [piece for entry in sim.journal()[:4] for piece in entry["thinking"]]
    assert len(pieces) == 6
    assert {(piece["whose"], piece["same"], piece["fate"]) for piece in pieces} == {("own", True, "kept")}
    assert {piece["maker"] for piece in pieces} == {model_of(kind)}


def rebuilt(told: list[Any]) -> list[dict[str, Any]]:
    """The items that the deltas of a stream come to, without their blobs."""
    items: dict[int, dict[str, Any]] = {}
    for event in told:
        index = event.get("output_index")
        if event["type"] == "response.output_item.added":
            items[index] = {**event["item"], "said": ""}
        elif event["type"].endswith(".delta"):
            items[index]["said"] += event["delta"]
    return [items[index] for index in sorted(items)]


def said(item: dict[str, Any]) -> str:
    parts = [*(item.get("content") or []), *item.get("summary", [])]
    texts = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
    return texts or item.get("arguments") or item.get("input") or ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", ["loop", "text", "parallel", "interleaved"])
def test_a_stream_adds_up_to_the_whole_answer(sim_of: SIM, kind: str, scenario: str) -> None:
    sim = sim_of(kind)
    talk = Talk(sim, kind).ask(f"[[scenario:{scenario}]] go")
    whole = talk.send().json
    told = [event for event in events(talk.send(stream=True).body) if event != "[DONE]"]
    assert told[0]["type"] == "response.created" and told[-1]["type"] == "response.completed"
    assert [event["sequence_number"] for event in told] == [*range(len(told))]
    done = [event["item"] for event in told if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == [item["type"] for item in whole["output"]]
    assert [said(item) for item in done] == [said(item) for item in whole["output"]]
    if responses_vendors()[kind].stream.call_deltas:
        assert [item["said"] for item in rebuilt(told)] == [said(item) for item in done]
    assert told[-1]["response"]["usage"].keys() == whole["usage"].keys()


@pytest.mark.parametrize("path", ["/responses", "/v1/responses", "/openai/v1/responses"])
def test_responses_are_found_under_any_prefix(sim_of: SIM, path: str) -> None:
    body = {"model": "gpt-5.6", "input": "Hello"}
    assert post(sim_of("openai-responses"), body, path=path).json["status"] == "completed"


def test_same_seed_same_answer(simulators: Any) -> None:
    def answer(seed: int) -> Any:
        sim = simulators(kind="openai-responses", seed=seed)
        told = Talk(sim, "openai-responses").ask("Hello").send().json
        return json.dumps({key: value for key, value in told.items() if not key.endswith("_at")})

    assert answer(1) == answer(1) != answer(2)
