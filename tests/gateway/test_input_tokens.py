"""Clients of the Responses API that ask how many tokens a request has."""

from __future__ import annotations

from pathlib import Path

from clew.testing import Simulator
from tests.engine.chatting import chat
from tests.engine.gate import Gate, claude
from tests.gateway.responding import asked_of, call_in, create, error_of, openai, response, result_of

QUESTION = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Hello"}]}
COUNT = "/v1/responses/input_tokens"


def test_a_backend_that_counts_is_asked_without_what_is_about_the_answer(tmp_path: Path) -> None:
    with Simulator() as sim, Gate(tmp_path, claude(sim)) as gate:
        answer = create(gate, "What is in a.py?", path=COUNT, instructions="Be brief.")
        assert answer.status == 200, answer.raw
        assert set(answer.json) == {"object", "input_tokens"}
        assert answer.json["object"] == "response.input_tokens"
        [asked] = asked_of(sim)
        assert not {"max_tokens", "stream", "temperature"} & set(asked)
        assert "x-clew-tokens" not in answer.headers
        longer = create(gate, "What is in a.py? " * 50, path=COUNT)
        assert longer.json["input_tokens"] > answer.json["input_tokens"]


def test_a_backend_of_the_responses_api_is_asked_where_it_counts(tmp_path: Path) -> None:
    with Simulator(kind="openai-responses") as sim, Gate(tmp_path, openai(sim, "counts_tokens = true")) as gate:
        answer = create(gate, "What is in a.py?", path=COUNT)
        assert answer.status == 200, answer.raw
        assert "x-clew-tokens" not in answer.headers
        assert [entry["path"] for entry in sim.journal()] == ["/v1/responses/input_tokens"]
        counted = gate.ask(QUESTION, path="/v1/messages/count_tokens")
        assert (counted.status, set(counted.json)) == (200, {"input_tokens"})
    with Simulator(kind="openai-responses") as sim, Gate(tmp_path, openai(sim)) as gate:
        answer = create(gate, "What is in a.py?", path=COUNT)
        assert answer.headers["x-clew-tokens"] == "estimated"
        assert sim.journal() == []


def test_for_a_backend_that_does_not_count_it_is_estimated_and_said_so(tmp_path: Path) -> None:
    with Simulator(kind="deepseek-chat", realm="deepseek") as sim, Gate(tmp_path, chat(sim, "deepseek")) as gate:
        answer = create(gate, "What is in a.py?", path=COUNT)
        assert answer.status == 200, answer.raw
        assert answer.json["input_tokens"] > 10
        assert answer.headers["x-clew-tokens"] == "estimated"
        assert sim.journal() == []


def test_what_is_only_named_is_counted_too(tmp_path: Path) -> None:
    with Simulator(scenario="loop") as sim, Gate(tmp_path, claude(sim)) as gate:
        said = response(create(gate, "What is in a.py?"))
        result = result_of(call_in(said))
        named = create(gate, [result], previous_response_id=said["id"], path=COUNT)
        whole = create(gate, [{"role": "user", "content": "What is in a.py?"}, *said["output"], result], path=COUNT)
        assert named.json == whole.json
        unknown = error_of(create(gate, [result], previous_response_id="resp_1a", path=COUNT))
        assert unknown["code"] == "previous_response_not_found"
