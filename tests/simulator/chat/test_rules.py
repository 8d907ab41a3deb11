"""Every rule of the chat book from both sides, over a real socket: what breaks it, and the nearest thing that does not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from clew.simulator.chat.rules import chat_rules
from clew.simulator.chat.vendors import chat_vendors
from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.chat.talking import TOOL, called, model_of, post, result, user, verdict_of

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SIM = Callable[[str], Simulator]


@dataclass(frozen=True)
class Pair:
    """A rule, the kind that has it, and a request from either side. `none` of a request: the field is not sent."""

    rule: str
    kind: str
    bad: dict[str, Any]
    good: dict[str, Any] = field(default_factory=dict)


def answered(call: dict[str, Any], text: str = "Sunny.") -> dict[str, Any]:
    """A history with a call and its result."""
    return {"messages": [user("Hi."), call, result(call["tool_calls"][0]["id"], text)], "tools": [TOOL]}


def said(content: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content}]}


def tool(**function: Any) -> dict[str, Any]:
    made = {**TOOL["function"], **function}
    return {"tools": [{"type": "function", "function": {key: value for key, value in made.items() if value is not None}}]}


def choice(value: Any) -> dict[str, Any]:
    return {"tools": [TOOL], "tool_choice": value}


TWO_CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [called("call_1")["tool_calls"][0], called("call_1")["tool_calls"][0]],
}
THOUGHT = {"reasoning_content": "Hm."}

PAIRS = [
    Pair("model-missing", "openai-chat", {"model": ""}),
    Pair("model-missing", "mistral", {"model": None}),
    Pair("messages-missing", "openai-chat", {"messages": None}, said("Hi.")),
    Pair("messages-empty", "openai-chat", {"messages": []}, said("Hi.")),
    Pair("field-unknown", "openai-chat", {"thinking": {"type": "enabled"}}, {"reasoning_effort": "low"}),
    Pair("field-unknown", "openai-chat", {"output_config": {"effort": "low"}}, {"verbosity": "low"}),
    Pair("field-unknown", "openai-chat", {"system": "Be brief."}, said("Be brief.", "system")),
    Pair("field-unknown", "mistral", {"max_completion_tokens": 9}, {"max_tokens": 9}),
    Pair(
        "field-unknown",
        "mistral",
        {"stream": True, "stream_options": {"include_usage": True}},
        {"stream": True, "stream_options": {}},
    ),
    Pair("field-unknown", "gemini-chat", {"store": False}, {"extra_body": {"google": {}}}),
    Pair("field-type", "openai-chat", {"stream": "yes"}, {"stream": False}),
    Pair("role-unknown", "deepseek-chat", said("Hi.", "developer"), said("Hi.", "latest_reminder")),
    Pair("role-unknown", "openai-chat", said("Hi.", "human"), said("Hi.", "developer")),
    Pair("message-field-unknown", "openai-chat", answered(called(**THOUGHT)), answered(called())),
    Pair("message-field-unknown", "mistral", answered(called("abcdefghi", **THOUGHT)), answered(called("abcdefghi"))),
    Pair(
        "message-field-unknown",
        "openai-chat",
        said([{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]),
        said([{"type": "text", "text": "Hi."}]),
    ),
    Pair("content-missing", "openai-chat", said(None), said("")),
    Pair(
        "assistant-empty",
        "kimi-chat",
        {"messages": [user("Hi."), {"role": "assistant", "content": ""}, user("Go on.")]},
        {"messages": [user("Hi."), {"role": "assistant", "content": "Yes."}, user("Go on.")]},
    ),
    Pair(
        "part-unknown",
        "openai-chat",
        said([{"type": "tool_result", "tool_use_id": "call_1", "content": "Sunny."}]),
        said([{"type": "text", "text": "Sunny."}]),
    ),
    Pair("part-unknown", "openai-chat", said([IMAGE], "system"), said([IMAGE])),
    Pair("part-shape", "openai-chat", said([{"type": "text"}]), said([{"type": "text", "text": ""}])),
    Pair(
        "image-url",
        "openai-chat",
        said([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]),
        said([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
    ),
    Pair(
        "call-shape",
        "openai-chat",
        {
            "messages": [
                user("Hi."),
                {**called(), "tool_calls": [{"id": "call_1", "function": {"name": "a", "arguments": ""}}]},
            ]
        },
        answered(called()),
    ),
    Pair("arguments-not-text", "openai-chat", answered(called(arguments={})), answered(called(arguments="{}"))),
    Pair(
        "result-id-missing",
        "openai-chat",
        {"messages": [user("Hi."), called(), {"role": "tool", "content": "Sunny."}]},
        answered(called()),
    ),
    Pair(
        "tool-shape",
        "openai-chat",
        {"tools": [{"name": "look", "input_schema": {"type": "object"}}]},
        tool(name="look"),
    ),
    Pair("tool-shape", "deepseek-chat", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, tool()),
    Pair("tool-name", "openai-chat", tool(name="look up"), tool(name="look-up_1")),
    Pair("tool-name", "openai-chat", tool(name="x" * 65), tool(name="x" * 64)),
    Pair("tool-schema", "openai-chat", tool(parameters={"type": "string"}), tool(parameters=None)),
    Pair("tool-parameters", "minimax-chat", tool(parameters=None), tool(parameters={"type": "object", "properties": {}})),
    Pair("tool-repeated", "deepseek-chat", {"tools": [TOOL, TOOL]}, {"tools": [TOOL]}),
    Pair("model-unknown", "openai-chat", {"model": "claude-opus-5"}, {"model": "gpt-4o"}),
    Pair("model-unknown", "openrouter", {"model": "gpt-5.6"}, {"model": "openai/gpt-5.6"}),
    Pair("parameter-unsupported", "xai", {"model": "grok-4", "stop": ["x"]}, {"model": "grok-3", "stop": ["x"]}),
    Pair("parameter-unsupported", "xai", {"model": "grok-4", "presence_penalty": 0}, {"presence_penalty": None}),
    Pair(
        "parameter-unsupported",
        "xai",
        {"model": "grok-4-fast", "reasoning_effort": "low"},
        {"model": "grok-4.3", "reasoning_effort": "low"},
    ),
    Pair("parameter-unsupported", "openai-chat", {"max_tokens": 99}, {"max_completion_tokens": 99}),
    Pair(
        "parameter-unsupported",
        "kimi-chat",
        {"model": "kimi-k3", "thinking": {"type": "enabled"}},
        {"model": "kimi-k2.6", "thinking": {"type": "enabled", "keep": "all"}},
    ),
    Pair("parameter-pinned", "kimi-chat", {"temperature": 0.3}, {"temperature": 1}),
    Pair("effort-value", "xai", {"model": "grok-4.3", "reasoning_effort": "xhigh"}, {"model": "grok-4.3"}),
    Pair("effort-value", "openrouter", {"reasoning": {"effort": "ultra"}}, {"reasoning": {"effort": "max"}}),
    Pair(
        "thinking-shape",
        "deepseek-chat",
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"thinking": {"type": "enabled"}},
    ),
    Pair("thinking-shape", "deepseek-chat", {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "disabled"}}),
    Pair("max-tokens", "deepseek-chat", {"max_tokens": 0}, {"max_tokens": 1}),
    Pair("max-tokens", "deepseek-chat", {"max_tokens": 384001}, {"max_tokens": 384000}),
    Pair(
        "max-tokens-both",
        "openai-chat",
        {"model": "gpt-4o", "max_tokens": 9, "max_completion_tokens": 9},
        {"model": "gpt-4o", "max_tokens": 9},
    ),
    Pair("number-range", "deepseek-chat", {"temperature": 2.1}, {"temperature": 2}),
    Pair(
        "stop-count",
        "openai-chat",
        {"model": "gpt-4o", "stop": ["a", "b", "c", "d", "e"]},
        {"model": "gpt-4o", "stop": ["1a", "1b", "1c", "1d"]},
    ),
    Pair("stream-options", "openai-chat", {"stream_options": {"include_usage": True}}, {"stream": True}),
    Pair("tool-choice", "openai-chat", choice({"type": "any"}), choice("required")),
    Pair("tool-choice-without-tools", "openai-chat", {"tool_choice": "required"}, {"tool_choice": "none"}),
    Pair(
        "tool-choice-unknown",
        "openai-chat",
        choice({"type": "function", "function": {"name": "look"}}),
        choice({"type": "function", "function": {"name": "get_weather"}}),
    ),
    Pair(
        "tool-choice-thinking",
        "kimi-chat",
        {"model": "kimi-k2.6", **choice("required")},
        {"model": "kimi-k2.6", "thinking": {"type": "disabled"}, **choice("required")},
    ),
    Pair(
        "tool-choice-thinking",
        "kimi-chat",
        choice({"type": "function", "function": {"name": "get_weather"}}),
        choice("required"),
    ),
    Pair(
        "tool-choice-thinking",
        "deepseek-chat",
        choice("required"),
        {"thinking": {"type": "disabled"}, **choice("required")},
    ),
    Pair("tool-choice-thinking", "deepseek-chat", choice("required"), choice("none")),
    Pair(
        "tool-choice-thinking",
        "openrouter",
        {"model": "deepseek/deepseek-v4-pro", **choice("required")},
        {"model": "deepseek/deepseek-v4-pro", "reasoning": {"enabled": False}, **choice("required")},
    ),
    Pair("call-unanswered", "openai-chat", {"messages": [user("Hi."), called(), user("So?")]}, answered(called())),
    Pair("call-unanswered", "mistral", {"messages": [user("Hi."), called("abcdefghi")]}, answered(called("abcdefghi"))),
    Pair("result-orphan", "openai-chat", {"messages": [user("Hi."), result("call_1")]}, answered(called())),
    Pair(
        "result-orphan",
        "openai-chat",
        {"messages": [user("Hi."), called(), result("call_1"), result("call_1")]},
        answered(called()),
    ),
    Pair(
        "ids-repeated",
        "openai-chat",
        {"messages": [user("Hi."), TWO_CALLS, result("call_1"), result("call_1")]},
        answered(called()),
    ),
    Pair(
        "arguments-not-json",
        "minimax-chat",
        answered(called(arguments='{"city":')),
        answered(called(arguments='{"city":"Rome"}')),
    ),
    Pair("id-pattern", "mistral", answered(called("call_1")), answered(called("aB3dE6gH9"))),
    Pair(
        "order",
        "mistral",
        {"messages": [*answered(called("abcdefghi"))["messages"], user("So?")]},
        {"messages": [*answered(called("abcdefghi"))["messages"], {"role": "assistant", "content": "It is."}, user("So?")]},
    ),
    Pair(
        "last-role",
        "mistral",
        {"messages": [user("Hi."), {"role": "assistant", "content": "Well"}]},
        {"messages": [user("Hi."), {"role": "assistant", "content": "Well", "prefix": True}]},
    ),
    Pair("successive", "deepseek-r1", {"messages": [user("Hi."), user("Well?")]}, {"messages": [user("Hi.\nWell?")]}),
    Pair(
        "image-remote",
        "ollama",
        said([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
        said([IMAGE]),
    ),
    Pair("user-missing", "zai-chat", said("Be brief.", "system"), said("Be brief.")),
    Pair("budget", "qwen-chat", {"enable_thinking": True, "thinking_budget": 0}, {"thinking_budget": 1}),
    Pair("budget", "qwen-chat", {"enable_thinking": True, "thinking_budget": 81921}, {"thinking_budget": 81920}),
    Pair(
        "tool-choice-thinking",
        "qwen-chat",
        {"enable_thinking": True, **choice("required")},
        {"enable_thinking": False, **choice("required")},
    ),
    Pair("message-field-unknown", "groq", answered(called(**THOUGHT)), answered(called(reasoning="Hm."))),
    Pair("message-field-unknown", "cerebras", answered(called(**THOUGHT)), answered(called(reasoning="Hm."))),
    Pair("field-unknown", "cerebras", {"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
    Pair("field-unknown", "groq", {"thinking": {"type": "enabled"}}, {"include_reasoning": True}),
    Pair(
        "parameter-unsupported",
        "ollama",
        {"model": "llama3.2", "reasoning_effort": "low"},
        {"model": "gpt-oss:20b", "reasoning_effort": "low"},
    ),
    Pair(
        "thinking-shape",
        "zai-chat",
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "enabled", "clear_thinking": False}},
    ),
    Pair("image-unsupported", "vllm", said([IMAGE]), {"model": "Qwen-VL", **said([IMAGE])}),
    Pair("reasoning-forbidden", "deepseek-r1", answered(called(**THOUGHT)), answered(called())),
    Pair("reasoning-missing", "deepseek-chat", answered(called()), answered(called(reasoning_content=""))),
    Pair(
        "reasoning-missing",
        "deepseek-chat",
        {**answered(called(reasoning_content=None))},
        {**answered(called()), "thinking": {"type": "disabled"}},
    ),
    Pair(
        "reasoning-missing",
        "deepseek-chat",
        {"messages": [*answered(called())["messages"], {"role": "assistant", "content": "So."}, user("And?")]},
        {"messages": [user("Hi."), {"role": "assistant", "content": "So."}, user("And?")]},
    ),
    Pair("reasoning-missing", "kimi-chat", answered(called(reasoning_content="")), answered(called(reasoning_content=" "))),
    Pair(
        "reasoning-missing",
        "openrouter",
        {"model": "deepseek/deepseek-v4-pro", **answered(called())},
        {"model": "deepseek/deepseek-v4-pro", **answered(called(reasoning_details=[]))},
    ),
    Pair(
        "details-shape",
        "openrouter",
        {"model": "qwen/qwen3", **answered(called(reasoning_details=[{"type": "thinking", "thinking": "Hm."}]))},
        {"model": "qwen/qwen3", **answered(called(reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]))},
    ),
    Pair(
        "details-unsigned",
        "openrouter",
        answered(called(reasoning_details=[{"type": "reasoning.text", "text": "Hm."}])),
        answered(called(reasoning_details=[])),
    ),
    Pair(
        "details-signature",
        "openrouter",
        answered(called(reasoning_details=[{"type": "reasoning.text", "text": "Hm.", "signature": "bm8="}])),
        answered(called()),
    ),
    Pair(
        "details-data",
        "openrouter",
        {
            "model": "openai/gpt-5.6",
            **answered(called(reasoning_details=[{"type": "reasoning.encrypted", "data": "gAAAAA==", "id": "rs_1"}])),
        },
        {"model": "openai/gpt-5.6", **answered(called(reasoning_details=[{"type": "reasoning.summary", "summary": "Hm."}]))},
    ),
    Pair(
        "signature-missing",
        "gemini-chat",
        answered(called()),
        {"model": "gemini-2.5-flash", **answered(called())},
    ),
    Pair(
        "signature-missing",
        "gemini-chat",
        answered(called()),
        {"messages": [*answered(called())["messages"], {"role": "assistant", "content": "So."}, user("And?")]},
    ),
    Pair("too-long", "openai-chat", said("x" * 1_700_000), said("x" * 100_000)),
    Pair(
        "too-long",
        "deepseek-r1",
        {**said("x" * 200_000), "max_tokens": 20_000},
        {**said("x" * 200_000), "max_tokens": 10_000},
    ),
]


def signed(signature: str) -> dict[str, Any]:
    message = called()
    message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": signature}}
    return answered(message)


PAIRS += [
    Pair("signature-invalid", "gemini-chat", signed("bm9ib2R5cw=="), signed("skip_thought_signature_validator")),
    Pair("signature-invalid", "gemini-chat", signed("bm9ib2R5cw=="), signed("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")),
]

ELSEWHERE = {"not-found", "key-missing", "key-invalid", "too-large", "body-not-json", "details-repeated", "details-altered"}
"""Rules that a table of bodies cannot show; tests with marks of their own do."""


def body_of(kind: str, changes: dict[str, Any]) -> dict[str, Any]:
    body = {"model": model_of(kind), "messages": [user("Hi.")], **changes}
    return {key: value for key, value in body.items() if value is not None}


@pytest.mark.parametrize(
    "pair",
    [pytest.param(pair, marks=refuses(f"rule:chat.{pair.rule}"), id=f"{pair.rule}-{n}") for n, pair in enumerate(PAIRS)],
)
def test_what_breaks_the_rule_is_refused_by_it(sim_of: SIM, pair: Pair) -> None:
    reply = post(sim_of(pair.kind), body_of(pair.kind, pair.bad))
    assert (verdict_of(reply), reply.status >= 400) == (f"chat.{pair.rule}", True), reply.body


@pytest.mark.parametrize(
    "pair",
    [pytest.param(pair, marks=accepts(f"rule:chat.{pair.rule}"), id=f"{pair.rule}-{n}") for n, pair in enumerate(PAIRS)],
)
def test_the_nearest_thing_that_keeps_the_rule_is_taken(sim_of: SIM, pair: Pair) -> None:
    reply = post(sim_of(pair.kind), body_of(pair.kind, pair.good))
    assert (verdict_of(reply), reply.status) == ("", 200), reply.body


def test_of_two_defects_the_first_in_the_book_is_named(sim_of: SIM) -> None:
    """And of two places the first: numbers by their value."""
    sim = sim_of("openai-chat")
    many = [user("Hi.")] * 12
    many[2] = many[10] = {"role": "human", "content": "Hi."}
    body = body_of("openai-chat", {"messages": many, "tools": [{"name": "x"}], "foo": 1, "tool_choice": "any of them"})
    assert verdict_of(post(sim, body)) == "chat.field-unknown"
    del body["foo"]
    assert (verdict_of(post(sim, body)), sim.journal()[-1]["verdict"]["path"]) == ("chat.role-unknown", "messages.2.role")
    body["messages"][0] = user([{"type": "hologram"}])
    assert (verdict_of(post(sim, body)), sim.journal()[-1]["verdict"]["path"]) == ("chat.role-unknown", "messages.2.role")


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (7, "field-type"),
        ({"role": "user", "content": 7}, "field-type"),
        ({"role": "assistant", "content": None, "tool_calls": [{"type": "function"}]}, "call-shape"),
        ({"role": "assistant", "content": None, "tool_calls": [7]}, "call-shape"),
        ({**called(name="look up")}, "tool-name"),
        ({**called(), "tool_calls": [{**called()["tool_calls"][0], "cache_control": {}}]}, "message-field-unknown"),
    ],
)
def test_messages_that_are_none(sim_of: SIM, message: Any, rule: str) -> None:
    reply = post(sim_of("openai-chat"), body_of("openai-chat", {"messages": [user("Hi."), message]}))
    assert verdict_of(reply) == f"chat.{rule}"


def test_every_rule_has_both_sides_and_every_exception_is_a_rule() -> None:
    rules = {name.removeprefix("chat.") for name in chat_rules() if not name.startswith("chat.status-")}
    assert {pair.rule for pair in PAIRS} | ELSEWHERE == rules
    for vendor in chat_vendors().values():
        assert set(vendor.without) <= {name for name in rules if not chat_rules()[f"chat.{name}"].special}
        assert set(vendor.special) <= {name for name in rules if chat_rules()[f"chat.{name}"].special}
        assert {name for name in vendor.words if not name.startswith("status-")} <= rules


@refuses("rule:chat.not-found")
def test_a_path_that_there_is_not(sim_of: SIM) -> None:
    reply = post(sim_of("openai-chat"), {}, path="/v1/responses")
    assert (reply.status, reply.json["error"]["message"]) == (404, "Invalid URL (POST /v1/responses)")


@accepts("rule:chat.not-found", "rule:chat.key-missing", "rule:chat.key-invalid", "rule:chat.body-not-json")
def test_any_key_works_at_the_right_path(sim_of: SIM) -> None:
    assert post(sim_of("openai-chat"), body_of("openai-chat", {}), key="anything").status == 200


@refuses("rule:chat.key-missing")
@pytest.mark.parametrize(
    "kind", ["openai-chat", "deepseek-chat", "kimi-chat", "openrouter", "mistral", "xai", "azure", "groq"]
)
def test_a_vendor_wants_a_key(sim_of: SIM, kind: str) -> None:
    reply = post(sim_of(kind), body_of(kind, {}), key="")
    assert (reply.status, verdict_of(reply)) == (401, "chat.key-missing")


@pytest.mark.parametrize("kind", ["vllm", "llamacpp", "tags", "sglang", "ollama"])
def test_a_server_of_ones_own_does_not(sim_of: SIM, kind: str) -> None:
    assert post(sim_of(kind), body_of(kind, {}), key="").status == 200


@refuses("rule:chat.key-invalid")
def test_a_key_that_nobody_has(sim_of: SIM) -> None:
    reply = post(sim_of("openai-chat"), body_of("openai-chat", {}), key="sim-invalid")
    assert (reply.status, reply.json["error"]["code"]) == (401, "invalid_api_key")


def test_azure_has_a_header_of_its_own_and_the_journal_does_not_tell_it(sim_of: SIM) -> None:
    sim = sim_of("azure")
    assert post(sim, body_of("azure", {}), key="", authorization="Bearer sim-a-1").status == 401
    assert post(sim, body_of("azure", {}), key="", **{"api-key": "sim-a-1"}).status == 200
    assert ["api-key", "***"] in sim.journal()[-1]["headers"]
    assert [entry["account"] for entry in sim.journal()] == ["", "a"]


def test_another_dialects_header_is_no_key_here(sim_of: SIM) -> None:
    reply = post(sim_of("deepseek-chat"), body_of("deepseek-chat", {}), key="", **{"x-api-key": "sim-a-1"})
    assert verdict_of(reply) == "chat.key-missing"


@refuses("rule:chat.body-not-json")
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": NaN}', b"\xff"])
def test_a_body_that_is_no_object(sim_of: SIM, body: bytes) -> None:
    assert verdict_of(post(sim_of("openai-chat"), body)) == "chat.body-not-json"


@pytest.mark.parametrize("kind", list(chat_vendors()))
def test_a_plain_question_with_a_tool_is_taken_by_every_kind(sim_of: SIM, kind: str) -> None:
    assert post(sim_of(kind), body_of(kind, {"tools": [TOOL], "tool_choice": "auto"})).status == 200


def test_grades_that_are_switched_off_refuse_nothing(simulators: Any) -> None:
    sim = simulators(kind="openai-chat", stance={"without_grades": ["C"]})
    assert post(sim, body_of("openai-chat", answered(called(**THOUGHT)))).status == 200
