"""Whatever a client can send gets a verdict, and whatever is legal gets an answer: no request hurts the simulator."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.simulator.identity import IdMaker
from clew.simulator.openai_chat.completion import chunks, completion
from clew.simulator.openai_chat.judge.case import CHAT_RULES
from clew.simulator.openai_chat.judge.judging import judge_chat
from clew.simulator.openai_chat.memory import AnswerMemory
from clew.simulator.openai_chat.server import ChatModel
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.simulator.server import stance
from clew.testing import Simulator
from tests.counts import examples
from tests.simulator.openai_chat.talking import TOOL, Talk, called, model_of, post, result, user

SIM = Callable[[str], Simulator]
STANCE = stance()
LAX = stance({"without_grades": ["A", "B", "C", "D"]})
"""Nothing is refused but what cannot be read: then the rest of the simulator must not stumble either."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def whole(kind: str) -> dict[str, Any]:
    """A request in which most things are."""
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "x", "format": "anthropic-claude-v1", "index": 0}]
    call = called(reasoning_content="Hm.", reasoning="Hm.", reasoning_details=details)
    call["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "x"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    return {
        "model": model_of(kind),
        "messages": [
            {"role": "system", "content": "Be brief."},
            user([{"type": "text", "text": "Hi."}, picture]),
            call,
            result("call_1"),
            {"role": "assistant", "content": [chunk, {"type": "text", "text": "So."}]},
            {"role": "assistant", "content": "<think>Hm.</think>So."},
            user("And?"),
        ],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "thinking": {"type": "enabled"},
        "reasoning": {"effort": "high"},
        "reasoning_effort": "high",
        "chat_template_kwargs": {"enable_thinking": True},
        "extra_body": {"google": {"thinking_config": {"include_thoughts": True}}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
        "max_tokens": 100,
        "stop": ["x"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "thinking_budget": 5,
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in below for found in places(each, (*path, key)))][0 if path else 1 :]


def changed(body: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The request with another value at one place; None takes it away."""
    other = copy.deepcopy(body)
    here = other
    for key in place[:-1]:
        here = here[key]
    if value is None:
        del here[place[-1]]
    else:
        here[place[-1]] = value
    return other


def answer(kind: str, body: dict[str, Any], taken: Any) -> bool:
    """Judge, and answer if it is legal; is it?"""
    vendor, raw = chat_vendors()[kind], json.dumps(body).encode()
    memory = AnswerMemory(b"secret")
    verdict = judge_chat(raw, vendor=vendor, stance=taken, memory=memory)
    if verdict.violation is not None:
        assert verdict.violation.rule in CHAT_RULES.rules
        assert verdict.violation.message
        return False
    assert verdict.case is not None
    ids = IdMaker(0, vendor.tool_ids).ids("a", "/", raw)
    _, done = ChatModel(scenario="interleaved", seed=0).answer(verdict.case, account="a", ids=ids, created=0)
    json.dumps(completion(done))
    assert list(chunks(done))
    return True


@pytest.mark.parametrize("kind", list(chat_vendors()))
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


@pytest.mark.parametrize("kind", list(chat_vendors()))
def test_with_every_rule_switched_off_all_of_it_is_answered(kind: str) -> None:
    assert answer(kind, whole(kind), LAX)


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_get_a_verdict(raw: bytes) -> None:
    verdict = judge_chat(raw, vendor=chat_vendors()["openai-chat"], stance=STANCE, memory=AnswerMemory(b"secret"))
    assert verdict.violation is not None


BAD = {
    "deep": b'{"model":"x","messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "lone-surrogate": b'{"model":"x","messages":[{"role":"user","content":"\\ud800"}]}',
    "infinity": b'{"model":"x","temperature":1e400}',
    "numbers": b'{"model":5,"messages":{"role":3}}',
    "mixed": b'{"model":"x","messages":[{"role":"user","content":5},7,null]}',
}


@pytest.mark.parametrize("kind", ["openai-chat", "mistral", "gemini-chat", "llamacpp"])
@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_refused_with_words(sim_of: SIM, kind: str, name: str) -> None:
    reply = post(sim_of(kind), BAD[name])
    assert 400 <= reply.status < 500
    assert reply.headers["x-sim-rule"].startswith("chat.")


# Directions of a script that mean something else here.


def body_of(sim: Simulator, kind: str, scenario: str, **fields: Any) -> bytes:
    return post(sim, Talk(sim, kind).ask(f"[[scenario:{scenario}]]").body(stream=True, **fields)).body


def test_pings_are_comments(sim_of: SIM) -> None:
    assert body_of(sim_of("openrouter"), "openrouter", "pings").count(b": OPENROUTER PROCESSING\n\n") == 6
    assert body_of(sim_of("kimi-chat"), "kimi-chat", "pings").count(b": keep-alive\n\n") == 5


def test_an_event_is_its_data_and_a_block_is_nothing(sim_of: SIM) -> None:
    told = body_of(sim_of("deepseek-chat"), "deepseek-chat", "unknown-block")
    assert b'data: {"type":"message_weather","sky":"clear"}\n\n' in told
    assert b"hologram" not in told


@pytest.mark.parametrize("kind", ["deepseek-chat", "tags", "mistral", "vllm", "xai"])
def test_redacted_thoughts_are_not_told_where_they_cannot_be_sealed(sim_of: SIM, kind: str) -> None:
    told = post(sim_of(kind), Talk(sim_of(kind), kind).ask("[[scenario:redacted]]").body()).body
    assert b"delicate" in told
    assert b"nobody outside can read" not in told


def test_a_script_says_its_own_numbers_and_reasons(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    usage = post(sim, Talk(sim, "deepseek-chat").ask("[[scenario:usage]]").body()).json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["prompt_cache_hit_tokens"]) == (120000, 4321, 80000)
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 4000}
    refusal = post(sim, Talk(sim, "deepseek-chat").ask("[[scenario:refusal]]").body()).json["choices"][0]
    assert refusal["finish_reason"] == "content_filter"
    zai = sim_of("zai-chat")
    assert (
        post(zai, Talk(zai, "zai-chat").ask("[[scenario:refusal]]").body()).json["choices"][0]["finish_reason"]
        == "sensitive"
    )


def test_small_pieces_of_any_script(sim_of: SIM) -> None:
    told = body_of(sim_of("deepseek-chat"), "deepseek-chat", "small-pieces").decode()
    pieces = [json.loads(line[6:]) for line in told.split("\n\n") if line.startswith("data: {")]
    deltas = [piece["choices"][0]["delta"] for piece in pieces]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Stück für Stück: 你好 🙂"
    assert max(len(delta.get("reasoning_content") or "") for delta in deltas) == 1
