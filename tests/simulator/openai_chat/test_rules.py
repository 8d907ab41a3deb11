"""Every rule of the chat book from both sides, over a real socket: what breaks it, and the nearest thing that does not."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.simulator.openai_chat.judge.case import CHAT_RULES
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.openai_chat.more_pairs import CONVERSATIONS
from tests.simulator.openai_chat.pairs import SHAPES, THOUGHT, Pair, answered
from tests.simulator.openai_chat.talking import TOOL, called, model_of, post, user, verdict_of

SIM = Callable[[str], Simulator]
PAIRS = [*SHAPES, *CONVERSATIONS]

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
    rules = {name.removeprefix("chat.") for name in CHAT_RULES.rules if not name.startswith("chat.status-")}
    assert {pair.rule for pair in PAIRS} | ELSEWHERE == rules
    for vendor in chat_vendors().values():
        assert set(vendor.without) <= {name for name in rules if not CHAT_RULES.rules[f"chat.{name}"].special}
        assert set(vendor.special) <= {name for name in rules if CHAT_RULES.rules[f"chat.{name}"].special}
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
