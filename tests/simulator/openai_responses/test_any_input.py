"""Whatever a client can send gets a verdict, and whatever is legal gets an answer: no request hurts the simulator."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.simulator.identity import IdMaker
from clew.simulator.openai_responses.judge.case import RESPONSES_RULES
from clew.simulator.openai_responses.judge.judging import judge_responses
from clew.simulator.openai_responses.memory import GivenOutput, OutputMemory
from clew.simulator.openai_responses.server import ResponsesModel
from clew.simulator.openai_responses.stream import events as written
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.simulator.server import stance
from clew.testing import Simulator
from tests.counts import examples
from tests.simulator.openai_chat.test_any_input import VALUES, changed, places
from tests.simulator.openai_responses.talking import TOOL, Talk, called, model_of, post, result, user, verdict_of

SIM = Callable[[str], Simulator]
KIND = "openai-responses"
STANCE = stance()
LAX = stance({"without_grades": ["A", "B", "C", "D"]})
"""Nothing is refused but what cannot be read: then the rest of the simulator must not stumble either."""


def whole(kind: str) -> dict[str, Any]:
    """A request in which most things are."""
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
        "encrypted_content": "gAAAA",
        "status": "completed",
    }
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
    custom = {"type": "custom_tool_call", "call_id": "call_2", "name": "exec", "namespace": "ns", "input": "ls"}
    space = {"type": "namespace", "name": "ns", "description": "", "tools": [{"type": "custom", "name": "exec"}]}
    return {
        "model": model_of(kind),
        "instructions": "Be brief.",
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [space]},
            {"type": "message", "role": "developer", "content": "Hm."},
            user([{"type": "input_text", "text": "Hi."}, picture]),
            reasoning,
            called(id="fc_1", status="completed"),
            custom,
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "So."}],
                "phase": "commentary",
            },
            result(text=[{"type": "input_text", "text": "Sunny."}, picture]),
            result("call_2", kind="custom_tool_call"),
            {"type": "item_reference", "id": "msg_9"},
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
            user("And?"),
        ],
        "tools": [TOOL, {"type": "web_search"}, {"type": "custom", "name": "exec", "format": {"type": "text"}}],
        "tool_choice": {"type": "function", "name": "get_weather"},
        "parallel_tool_calls": False,
        "reasoning": {"effort": "high", "summary": "detailed", "context": "all_turns"},
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}},
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 100,
        "metadata": {"user": "x"},
        "prompt_cache_key": "x",
        "store": True,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "previous_response_id": "resp_9",
    }


def answer(kind: str, body: dict[str, Any], taken: Any) -> bool:
    """Judge, and answer if it is legal; is it?"""
    vendor, raw = responses_vendors()[kind], json.dumps(body).encode()
    memory = OutputMemory(b"secret")
    given_item: dict[str, Any] = {"type": "message", "id": "msg_8", "role": "assistant", "content": "So."}
    memory.record("a", GivenOutput(model="m", items=(given_item,), thoughts={"rs_1": "Hm."}))
    verdict = judge_responses(raw, vendor=vendor, stance=taken, memory=memory, account="a")
    if verdict.violation is not None:
        assert verdict.violation.rule in RESPONSES_RULES.rules
        assert verdict.violation.message
        return False
    assert verdict.case is not None
    ids = IdMaker(0, "call").ids("a", "/", raw)
    _, done = ResponsesModel(scenario="interleaved", seed=0).answer(verdict.case, ids=ids, created=0)
    json.dumps(done.ended())
    assert list(written(done))
    return True


@pytest.mark.parametrize("kind", list(responses_vendors()))
@settings(max_examples=examples(24, soak=800), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_value_anywhere_gets_a_verdict(kind: str, data: st.DataObject) -> None:
    body = whole(kind)
    for _ in range(data.draw(st.integers(1, 3))):
        body = changed(body, data.draw(st.sampled_from(places(body))), data.draw(VALUES))
        if not body:
            break
    answer(kind, body, STANCE)
    answer(kind, body, LAX)


@pytest.mark.parametrize("kind", list(responses_vendors()))
def test_with_every_rule_switched_off_all_of_it_is_answered(kind: str) -> None:
    assert answer(kind, whole(kind), LAX)


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_get_a_verdict(raw: bytes) -> None:
    vendor = responses_vendors()[KIND]
    assert judge_responses(raw, vendor=vendor, stance=STANCE, memory=OutputMemory(b"x"), account="a").violation is not None


BAD = {
    "deep": b'{"model":"x","input":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "lone-surrogate": b'{"model":"x","input":[{"role":"user","content":"\\ud800"}]}',
    "infinity": b'{"model":"x","temperature":1e400}',
    "numbers": b'{"model":5,"input":{"role":3}}',
    "mixed": b'{"model":"x","input":[{"role":"user","content":5},7,null]}',
    "braces": b'{"model":"{0} {place} %s","input":"Hi."}',
}


@pytest.mark.parametrize("kind", [KIND, "xai-responses", "openrouter-responses", "azure-responses"])
@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_refused_with_words(sim_of: SIM, kind: str, name: str) -> None:
    reply = post(sim_of(kind), BAD[name])
    if (name, kind) != ("braces", "azure-responses"):  # a deployment may have any name
        assert 400 <= reply.status < 500
        assert reply.headers["x-sim-rule"].startswith("responses.")


# The judge as a whole: what the vendor gave is taken back; one step away from it is not.

SCENARIOS = ("loop", "parallel", "interleaved", "redacted", "thinking", "text", "small-pieces", "updates")
CHANGES: dict[str, Callable[[list[dict[str, Any]], int], Any]] = {
    "reasoning left out": lambda items, n: items.pop(n),
    "its blob changed": lambda items, n: items[n].update(encrypted_content=items[n]["encrypted_content"][:-8] + "AAAAAAA="),
    "another id": lambda items, n: items[n].update(id="rs_other"),
    "twice": lambda items, n: items.insert(n, copy.deepcopy(items[n])),
    "after its follower": lambda items, n: items.append(items.pop(n)),
}


@pytest.mark.parametrize("change", list(CHANGES))
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenario=st.sampled_from(SCENARIOS), turns=st.integers(1, 3), place=st.integers(0, 9))
def test_what_was_given_is_taken_back_and_one_change_of_reasoning_is_seen(
    sim_of: SIM, change: str, scenario: str, turns: int, place: int
) -> None:
    """A change is refused, or it shows in the journal as missing or as not the same."""
    talk = Talk(sim_of(KIND), KIND).ask(f"[[scenario:{scenario}]] go")
    for _ in range(turns):
        talk.turn()
        if not talk.items[-1]["type"].endswith("_output"):
            talk.ask("Go on.")
    assert talk.send().status == 200
    assert all((piece["same"], piece["fate"]) == (True, "kept") for piece in talk.journal[-1]["thinking"])
    found = [n for n, item in enumerate(talk.items) if item.get("type") == "reasoning"]
    if found:
        CHANGES[change](talk.items, found[place % len(found)])
        reply = talk.send()
        pieces = talk.journal[-1]["thinking"]
        assert verdict_of(reply) or any(piece["fate"] == "missing" or not piece["same"] for piece in pieces)
