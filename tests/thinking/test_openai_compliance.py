"""The doctor for requests of OpenAI's dialects: one request for each rule, and the simulator's word on the same bytes."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from clew.model.facts.rules import openai_rules
from clew.testing import Simulator
from clew.thinking.openai_compliance import check_openai, openai_dialect_of

USER = {"role": "user", "content": "Hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "1"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]}
TOOL = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
THOUGHT = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}


def responses(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5.5", "input": [USER, *items], "tools": [TOOL], "store": False, **more}


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5.5", "max_completion_tokens": 100, "messages": [USER, *messages], **more}


def calling(*ids: str) -> dict[str, Any]:
    calls = [{"id": id_, "type": "function", "function": {"name": "run", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id_: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": id_, "content": "1"}


BROKEN = {
    "responses.summary-missing": (responses({"type": "reasoning", "encrypted_content": "x"}, SAID), "input[1].summary"),
    "responses.id-characters": (responses({**SAID, "id": ""}), "input[1].id"),
    "responses.id-prefix": (responses({**CALL, "id": "msg_1"}, OUTPUT), "input[1].id"),
    "responses.call-id-long": (
        responses({**CALL, "call_id": "c" * 65}, {**OUTPUT, "call_id": "c" * 65}),
        "input[1].call_id",
    ),
    "responses.name-long": (responses(tools=[{**TOOL, "name": "n" * 65}]), "tools[0].name"),
    "responses.trigger-place": (responses({"type": "compaction_trigger"}, SAID), "input[1]"),
    "responses.item-repeated": (responses({**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}), "input[2].id"),
    "responses.output-orphan": (responses(OUTPUT), "input[1]"),
    "responses.call-unanswered": (responses(CALL), "input[1]"),
    "responses.blob-missing": (responses({"type": "reasoning", "id": "rs_1", "summary": []}, SAID), "input[1]"),
    "responses.blob-invalid": (
        responses({**THOUGHT, "id": "rs_1", "encrypted_content": "clew2.k.x.y"}, SAID),
        "input[1].encrypted_content",
    ),
    "responses.reasoning-alone": (responses({"type": "reasoning", "summary": []}, USER), "input[1]"),
    "chat.tool-name": (
        chat(tools=[{"type": "function", "function": {"name": "n" * 65, "parameters": {"type": "object"}}}]),
        "tools[0].function.name",
    ),
    "chat.call-unanswered": (chat(calling("a", "b"), result("a"), USER), "messages[1]"),
    "chat.result-orphan": (chat(calling("a"), result("a"), result("b")), "messages[3]"),
}
LEGAL = [
    responses(THOUGHT, {**CALL, "id": "fc_1"}, OUTPUT, SAID),
    responses(CALL, {**CALL, "call_id": "c2"}, SAID, {**OUTPUT, "call_id": "c2"}, OUTPUT),
    responses(
        {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "x"},
        {**OUTPUT, "type": "custom_tool_call_output"},
    ),
    chat(calling("a", "b"), result("b"), result("a"), USER),
]


def violations_in(body: dict[str, Any]) -> list[tuple[str, str]]:
    dialect = openai_dialect_of(body)
    assert dialect is not None
    return [(found.rule, found.path) for found in check_openai(dialect, body)]


@pytest.mark.parametrize("rule", openai_rules().rules)
def test_a_request_that_breaks_a_rule_is_found_at_its_place(rule: str) -> None:
    """Once, but for a long call id: the call has it, and its output."""
    body, path = BROKEN[rule]
    found = violations_in(body)
    assert found[0] == (rule, path)
    assert found[1:] == ([(rule, "input[2].call_id")] if rule == "responses.call-id-long" else [])


@pytest.mark.parametrize("body", LEGAL, ids=range(len(LEGAL)))
def test_what_is_legal_passes(body: dict[str, Any]) -> None:
    assert violations_in(body) == []


def test_an_output_may_answer_a_call_that_only_the_vendor_has() -> None:
    assert violations_in(responses(OUTPUT, previous_response_id="resp_1")) == []


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"model": "m", "input": "Hi"}, "openai-responses"),
        ({"model": "m", "messages": [USER, {"role": "developer", "content": "x"}]}, "openai-chat"),
        ({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "openai-chat"),
        ({"model": "m", "max_tokens": 9, "messages": [USER], "system": "x"}, None),
        ({"model": "m", "max_tokens": 9, "messages": [USER, {"role": "system", "content": "x"}]}, None),
        ({"model": "m"}, None),
        ({"messages": 7, "tools": [3]}, None),
    ],
)
def test_a_dialect_is_known_by_the_shape_of_a_request(body: dict[str, Any], dialect: str | None) -> None:
    assert openai_dialect_of(body) == dialect


@pytest.fixture(scope="module")
def simulators() -> Iterator[dict[str, Simulator]]:
    with Simulator(kind="openai-responses") as one, Simulator(kind="openai-chat") as two:
        yield {"responses": one, "chat": two}


OTHER_WORDS = {"chat.tool-name"}
"""The simulator names the pattern, which has no length."""
PATHS = {"responses": "/v1/responses", "chat": "/v1/chat/completions"}


def refusal_of(sim: Simulator, kind: str, body: dict[str, Any]) -> Any:
    headers = {"authorization": f"Bearer {sim.key}"}
    return httpx2.post(sim.url + PATHS[kind], json=body, headers=headers, trust_env=False).json()


@pytest.mark.slow
@pytest.mark.parametrize("rule", [rule for rule in openai_rules().rules if rule != "responses.reasoning-alone"])
def test_the_simulator_refuses_the_same_in_the_same_words(rule: str, simulators: dict[str, Simulator]) -> None:
    kind = rule.partition(".")[0]
    sim, (body, _) = simulators[kind], BROKEN[rule]
    found, *_ = check_openai(f"openai-{kind}", body)
    refusal = refusal_of(sim, kind, body)["error"]["message"]
    assert found.path in refusal if rule in OTHER_WORDS else refusal.removesuffix(".") == found.words.removesuffix(".")


@pytest.mark.slow
def test_the_simulator_refuses_reasoning_of_its_own_that_nothing_follows(simulators: dict[str, Simulator]) -> None:
    """It has to be its own, else there is something worse about it."""
    asked = {"model": "gpt-5.5", "store": False, "include": ["reasoning.encrypted_content"]}
    answer = refusal_of(simulators["responses"], "responses", {**asked, "input": "[[scenario:thinking]] Why?"})
    body = {**asked, "input": [USER, answer["output"][0], USER]}
    [found] = check_openai("openai-responses", body)
    assert refusal_of(simulators["responses"], "responses", body)["error"]["message"] == found.words
