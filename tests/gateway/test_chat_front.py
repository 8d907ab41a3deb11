"""A client of Chat Completions, through the whole gateway, with Claude and with DeepSeek behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.settings.values import ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.chatting import chat
from tests.engine.gate import KEY, Gate, claude
from tests.engine.talk import refusals
from tests.gateway.chat_client import PATH, QUESTION, TOOL, USER, ask, chunks, told_by
from tests.manifest import proves

Json = dict[str, Any]
STRICT = {"prefix_enforcement": "on"}
LOOP: Json = {**QUESTION, "tools": [TOOL], "reasoning_effort": "medium"}


@pytest.fixture
def sim(simulators: StartSimulator) -> Simulator:
    return simulators(stance=STRICT)


@pytest.fixture
def gate(tmp_path: Path, sim: Simulator) -> Iterator[Gate]:
    with Gate(tmp_path, claude(sim)) as gate:
        yield gate


def parallel(simulators: StartSimulator, **more: Any) -> Simulator:
    return simulators(scenario="parallel", **more)


def returned(message: Json) -> Json:
    """What most clients keep of an answer."""
    return {"role": "assistant", "content": message["content"], "tool_calls": message["tool_calls"]}


def results_of(message: Json) -> list[Json]:
    return [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in message["tool_calls"]]


def changes_in(gate: Gate) -> list[tuple[str, str]]:
    """What was altered in the last request, as the store says."""
    assert gate.store is not None
    last = gate.store.exchanges("local", limit=1)[0]
    return [(change.path, change.what) for change in last.changes]


@pytest.mark.parametrize("path", [PATH, "/chat/completions"])
def test_a_question_is_answered_by_claude_as_a_completion(gate: Gate, path: str) -> None:
    answer = ask(gate, QUESTION, path)
    said = answer.json
    assert (said["object"], said["model"]) == ("chat.completion", "claude-opus-5-5")
    assert said["choices"][0]["finish_reason"] == "stop"
    assert told_by(answer)["content"]
    assert {"prompt_tokens", "completion_tokens", "total_tokens"} <= set(said["usage"])
    assert answer.headers["x-clew-backend"] == "claude"
    assert answer.headers["x-clew-thinking"]
    assert said["id"] == f"chatcmpl-{answer.headers['x-clew-exchange']}"


@proves("case:120", "case:121")
@pytest.mark.parametrize("wants_usage", [True, False])
def test_a_stream_of_claudes_is_a_stream_of_chunks(gate: Gate, wants_usage: bool) -> None:
    """Cases 120 and 121."""
    body = {**QUESTION, "stream": True, "reasoning_effort": "low"}
    said = chunks(ask(gate, {**body, "stream_options": {"include_usage": True}} if wants_usage else body))
    choices = [choice for each in said for choice in each["choices"]]
    assert choices[0]["delta"] == {"role": "assistant", "content": ""}
    assert not [choice for choice in choices[1:] if "role" in choice["delta"]]
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]
    assert any(choice["delta"].get("reasoning_content") for choice in choices)
    details = [choice["delta"]["reasoning_details"] for choice in choices if "reasoning_details" in choice["delta"]]
    assert [[entry["index"] for entry in each] for each in details] == [[0]]
    assert [bool(each.get("usage")) for each in said][-1] is wants_usage
    assert {each["model"] for each in said} == {"claude-opus-5-5"}


@proves("case:123")
def test_a_client_that_returns_nothing_gets_claude_its_thoughts_and_ids_back(
    simulators: StartSimulator, tmp_path: Path
) -> None:
    """Case 123: restored by tool ids, and accepted by a vendor that checks what stands before each block."""
    sim = parallel(simulators, stance=STRICT)
    with Gate(tmp_path, claude(sim)) as gate:
        first = told_by(ask(gate, LOOP))
        ids = [call["id"] for call in first["tool_calls"]]
        assert len(set(ids)) == 3
        assert all(re.fullmatch("[A-Za-z0-9]{9}", each) for each in ids)
        history = [USER, returned(first), *results_of(first)]
        assert told_by(ask(gate, {**LOOP, "messages": history}))["content"]
    made, sent = (entry["body"]["messages"] for entry in sim.journal())
    assert refusals(sim) == []
    assert [block["type"] for block in sent[1]["content"]] == ["thinking", "text", *["tool_use"] * 3]
    uses = [block["id"] for block in sent[1]["content"] if block["type"] == "tool_use"]
    assert uses == [block["tool_use_id"] for block in sent[2]["content"]]
    assert not set(uses) & set(ids)
    assert sent[0] == made[0]


def test_deepseek_gets_its_reasoning_back_and_fields_that_only_it_reads(simulators: StartSimulator, tmp_path: Path) -> None:
    sim = parallel(simulators, kind="deepseek-chat", realm="ds")
    with Gate(tmp_path, chat(sim, "deepseek")) as gate:
        first = told_by(ask(gate, {**LOOP, "seed": 7}))
        history = [USER, returned(first), *results_of(first)]
        assert told_by(ask(gate, {**LOOP, "seed": 7, "messages": history}))["content"]
        assert ("seed", "left out") not in changes_in(gate)
    asked = [entry["body"] for entry in sim.journal()]
    assert refusals(sim) == []
    assert asked[0]["seed"] == 7
    assert asked[1]["messages"][1]["reasoning_content"]
    assert len(first["tool_calls"]) == 3


@proves("case:129")
def test_a_client_of_functions_has_its_loop(simulators: StartSimulator, tmp_path: Path) -> None:
    """Case 129: one call at a time, as `function_call`, with its result by name."""
    sim = simulators(scenario="loop")
    body = {"model": "claude-opus-5-5", "functions": [TOOL["function"]], "function_call": "auto"}
    with Gate(tmp_path, claude(sim)) as gate:
        messages = [{"role": "system", "name": "s", "content": "Be brief."}, USER]
        for _ in range(3):
            answer = ask(gate, {**body, "messages": messages})
            said = told_by(answer)
            assert answer.json["choices"][0]["finish_reason"] == "function_call"
            assert "tool_calls" not in said
            call = said["function_call"]
            messages += [{"role": "assistant", "content": None, "function_call": call}]
            messages += [{"role": "function", "name": call["name"], "content": "ok"}]
        assert told_by(ask(gate, {**body, "messages": messages}))["content"]
        assert ("messages.0.name", "left out") in changes_in(gate)
    assert refusals(sim) == []
    assert sim.journal()[0]["body"]["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


@proves("case:126")
def test_system_and_developer_messages_stay_in_place(gate: Gate, sim: Simulator) -> None:
    """Case 126."""
    said = told_by(ask(gate, {**QUESTION, "messages": [{"role": "developer", "content": "A"}, USER]}))
    history = [{"role": "developer", "content": "A"}, USER, {"role": "assistant", "content": said["content"]}]
    history += [{"role": "user", "content": "Hm."}, {"role": "system", "content": "B"}]
    assert told_by(ask(gate, {**QUESTION, "messages": history}))
    history += [{"role": "assistant", "content": "Hm."}, {"role": "developer", "content": "C"}]
    history += [{"role": "user", "content": "And?"}]
    assert told_by(ask(gate, {**QUESTION, "messages": history}))
    second, third = (entry["body"] for entry in sim.journal()[1:])
    assert third["system"] == [{"type": "text", "text": "A"}]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user", "system"]
    assert [message["role"] for message in third["messages"][4:]] == ["assistant", "user", "user"]
    assert third["messages"][:4] == second["messages"]
    assert "<system-message>" in third["messages"][5]["content"][0]["text"]
    assert refusals(sim) == []


@proves("case:127")
def test_a_schema_for_the_answer_goes_to_claude(gate: Gate, sim: Simulator) -> None:
    """Case 127."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": schema}}
    assert told_by(ask(gate, {**QUESTION, "response_format": form}))["content"]
    assert sim.journal()[-1]["body"]["output_config"]["format"] == {"type": "json_schema", "schema": schema}
    assert ("response_format.json_schema.name", "left out") in changes_in(gate)
    assert refusals(sim) == []


@proves("case:128")
def test_what_cannot_be_said_is_refused_or_reported(gate: Gate) -> None:
    """Case 128."""
    refused = ask(gate, {**QUESTION, "n": 2})
    assert (refused.status, refused.json["error"]["param"]) == (400, "n")
    assert refused.json["error"]["type"] == "invalid_request_error"
    assert told_by(ask(gate, {**QUESTION, "logprobs": True, "seed": 1, "wishes": "many"}))
    assert {("logprobs", "left out"), ("seed", "left out"), ("wishes", "left out")} <= set(changes_in(gate))


def test_images_files_and_stops_go_to_claude(gate: Gate, sim: Simulator) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{pixel}", "detail": "high"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}},
    ]
    body = {**QUESTION, "messages": [{"role": "user", "content": parts}], "stop": ["END"], "max_completion_tokens": 500}
    assert told_by(ask(gate, body))
    sent = sim.journal()[-1]["body"]
    assert [block["type"] for block in sent["messages"][0]["content"]] == ["text", "image", "document"]
    assert (sent["stop_sequences"], sent["max_tokens"]) == (["END"], 500)
    assert ("messages.0.content.1.image_url.detail", "left out") in changes_in(gate)
    assert refusals(sim) == []


def test_an_answer_whose_length_is_left_open_is_as_long_as_the_model_can(gate: Gate, sim: Simulator) -> None:
    told_by(ask(gate, QUESTION))
    assert sim.journal()[-1]["body"]["max_tokens"] == 128_000
    assert ("max_tokens", "set") in changes_in(gate)


def test_the_session_is_the_one_that_the_clients_headers_name(gate: Gate) -> None:
    """opencode says its session in a header; threads of one session are told apart by it."""
    told_by(ask(gate, QUESTION, headers={"x-session-id": "ses_1", "user-agent": "opencode/1.18"}))
    told_by(ask(gate, QUESTION, headers={"x-session-affinity": "ses_2"}))
    assert gate.store is not None
    found = gate.store.exchanges("local", limit=2)
    assert [each.session for each in found] == ["ses_2", "ses_1"]
    assert found[0].thread != found[1].thread


@proves("case:131")
def test_a_client_that_cuts_ids_to_nine_characters_still_names_its_calls(simulators: StartSimulator, tmp_path: Path) -> None:
    """Case 131: as opencode does for models of some names: what is no letter or digit goes, and nine characters stay."""
    sim = parallel(simulators, stance=STRICT)
    with Gate(tmp_path, claude(sim)) as gate:
        first = told_by(ask(gate, LOOP))
        cut = [{**call, "id": re.sub("[^A-Za-z0-9]", "", call["id"])[:9].ljust(9, "0")} for call in first["tool_calls"]]
        message = {**returned(first), "tool_calls": cut}
        assert told_by(ask(gate, {**LOOP, "messages": [USER, message, *results_of(message)]}))["content"]
    assert refusals(sim) == []
    assert sim.journal()[-1]["body"]["messages"][1]["content"][0]["type"] == "thinking"


@proves("case:122")
@pytest.mark.parametrize("is_edited", [False, True])
def test_reasoning_that_comes_back_as_text_alone_is_found_in_the_store(
    simulators: StartSimulator, tmp_path: Path, is_edited: bool
) -> None:
    """Case 122: the AI SDK for compatible vendors returns `reasoning_content` and nothing else."""
    sim = parallel(simulators, stance=STRICT)
    with Gate(tmp_path, claude(sim)) as gate:
        first = told_by(ask(gate, LOOP))
        reasoning = "Something else." if is_edited else first["reasoning_content"]
        message = {**returned(first), "reasoning_content": reasoning}
        assert told_by(ask(gate, {**LOOP, "messages": [USER, message, *results_of(message)]}))["content"]
    assert refusals(sim) == []
    sent = sim.journal()[-1]["body"]["messages"][1]["content"]
    assert sent[0]["type"] == "thinking"
    assert "Something else." not in json.dumps(sent)


@proves("case:124")
def test_details_that_come_back_restore_the_thought_without_a_store(simulators: StartSimulator, tmp_path: Path) -> None:
    """Case 124."""
    sim = parallel(simulators, stance=STRICT)
    with Gate(tmp_path, claude(sim), store=False) as gate:
        first = told_by(ask(gate, LOOP))
        message = {**returned(first), "reasoning_details": first["reasoning_details"]}
        assert told_by(ask(gate, {**LOOP, "messages": [USER, message, *results_of(message)]}))["content"]
    assert refusals(sim) == []
    assert sim.journal()[-1]["body"]["messages"][1]["content"][0]["type"] == "thinking"


# Errors.


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("fault", "status", "kind", "code"),
    [
        (
            "status 400 type=invalid_request_error message='prompt is too long: 9 tokens > 8 maximum'",
            400,
            "invalid_request_error",
            "context_length_exceeded",
        ),
        ("status 400 message='no'", 400, "invalid_request_error", None),
        ("status 404", 404, "invalid_request_error", "model_not_found"),
        ("status 413", 413, "invalid_request_error", None),
        ("status 429 retry-after=99", 429, "requests", "rate_limit_exceeded"),
        ("status 500", 500, "server_error", None),
        ("status 529", 503, "server_error", "server_is_overloaded"),
    ],
)
def test_a_backends_error_has_the_shape_and_status_of_openais(
    gate: Gate, sim: Simulator, fault: str, status: int, kind: str, code: str | None, streams: bool
) -> None:
    sim.fault(fault, times=None)
    answer = ask(gate, {**QUESTION, "stream": streams})
    error = answer.json["error"]
    assert (answer.status, error["type"], error["code"]) == (status, kind, code), answer.raw
    assert set(error) == {"message", "type", "param", "code"}
    if status == 429:
        assert "try again in 99s" in error["message"]
        assert answer.headers["retry-after"] == "99"


def test_a_clients_own_account_without_money_is_told_as_openai_tells_it_and_not_tried_again(
    tmp_path: Path, sim: Simulator
) -> None:
    """The status alone would make every SDK try again."""
    sim.fault("status 402 type=billing_error message='Your credit balance is too low'", times=None)
    with Gate(tmp_path, claude(sim, auth="passthrough", keys=())) as gate:
        shown = {"authorization": f"Bearer {sim.key}", "x-clew-key": KEY}
        refused = gate.ask(QUESTION, path=PATH, headers=shown)
    error = refused.json["error"]
    assert (refused.status, error["type"], error["code"]) == (429, "insufficient_quota", "insufficient_quota")
    assert refused.headers["x-should-retry"] == "false"


def test_a_model_that_the_backend_does_not_know_is_named_with_what_to_do(gate: Gate, sim: Simulator) -> None:
    """Clients of OpenAI's dialects ask for models of OpenAI's."""
    sim.fault("status 404 type=not_found_error message='model: gpt-6.1-sol'", times=None)
    refused = ask(gate, {**QUESTION, "model": "gpt-6.1-sol"})
    error = refused.json["error"]
    assert (refused.status, error["code"]) == (404, "model_not_found")
    assert error["message"].startswith("claude does not know the model gpt-6.1-sol (model: gpt-6.1-sol).")
    assert '[backends.claude] model = "…"' in error["message"]


@proves("case:130")
def test_an_error_after_the_first_content_ends_the_stream_without_done(gate: Gate, sim: Simulator) -> None:
    """Case 130."""
    sim.fault("error overloaded_error content=3")
    raw = ask(gate, {**QUESTION, "stream": True}).raw.decode()
    *_, last, rest = raw.split("\n\n")
    assert (rest, "[DONE]" in raw, 'finish_reason":"stop' in raw) == ("", False, False)
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "server_is_overloaded"


def test_the_session_policy_is_for_clients_that_bring_blocks_back(tmp_path: Path, sim: Simulator) -> None:
    """A client of Chat Completions brings no blocks, so the makers decide: Claude gets its own thinking back."""
    with Gate(tmp_path, claude(sim), thinking=ThinkingSettings(policy="session")) as gate:
        said = told_by(ask(gate, LOOP))
        answer = ask(gate, {**LOOP, "messages": [USER, returned(said), *results_of(said)]})
        assert "restored=1" in answer.headers["x-clew-thinking"]
        assert refusals(sim) == []
