"""Where a request goes, under which name, and with whose credential."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec import structs

from clew.backends.names import backend_aliases
from clew.backends.row import Backend
from clew.model.change import Change
from clew.settings.values import RoutingRule
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import user
from tests.engine.conftest import Gating
from tests.engine.gate import Answer, Gate, claude, other
from tests.engine.heads import headers_at, simple
from tests.engine.kept import exchange_of, store_of
from tests.engine.talk import MODEL, OTHER_MODEL, Talk, asked_of, last_asked, refusals, thoughts, thoughts_in
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

SESSION = {"x-claude-code-session-id": "s"}
AGENT = {**SESSION, "x-claude-code-agent-id": "helper"}


def with_quirks(backend: Backend, **quirks: Any) -> Backend:
    return structs.replace(backend, quirks=structs.replace(backend.quirks, **quirks))


def named(answer: Answer) -> str:
    return answer.events[0]["message"]["model"]


# Names.


@public("gateway")
@proves("req:S1-49", "req:C11")
@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("claude-opus-5-5", "glm-5-max"),
        ("claude-sonnet-5-5", "glm-5"),
        ("claude-haiku-5-5", "claude-haiku-5-5"),
        ("exactly-this", "glm-that"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_families_are_mapped_there_and_back(
    gating: Gating, simulators: StartSimulator, asked: str, served: str, stream: bool
) -> None:
    """S1-49, C11: the backend gets its own name, the client its own; unmapped families pass."""
    sim = simulators(kind="compat", realm="glm")
    gate = gating(other(sim, models={"opus": "glm-5-max", "sonnet": "glm-5", "exactly-this": "glm-that"}))
    talk = Talk(gate, asked, tools=[], stream=stream)
    answer = talk.says("Hello.")
    assert last_asked(sim)["model"] == served
    assert (named(answer) if stream else answer.json["model"]) == asked
    assert answer.headers["x-clew-model"] == served
    found = exchange_of(gate, answer)
    assert (found.asked_model, found.model) == (asked, served)
    renames = [change for change in found.changes if change.step == "model"]
    assert renames == ([] if asked == served else [Change("model", "model", "set", f"glm serves {served!r}")])


@public("gateway")
@proves("req:C11")
@pytest.mark.parametrize("stream", [True, False])
def test_a_vendor_that_answers_with_a_dated_name_is_called_as_it_was_asked(
    gating: Gating, a: Simulator, stream: bool
) -> None:
    """C11: Claude Code drops thinking of a model that it did not ask for; and a date makes no other reader."""
    gate = gating(claude(a, models={"haiku": "claude-haiku-4-5-20251001"}))
    manual = {"type": "enabled", "budget_tokens": 1024}
    talk = Talk(gate, "claude-haiku-4-5", tools=[], stream=stream, thinking=manual)
    for words in ("Hello.", "Again."):
        answer = talk.says(words)
        assert a.journal()[-1]["response"]["model"] == "claude-haiku-4-5-20251001"
        assert (named(answer) if stream else answer.json["model"]) == "claude-haiku-4-5"
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:1]


@public("gateway")
@proves("req:S1-50")
@pytest.mark.parametrize(
    ("quirks", "fields", "budget"),
    [
        ({}, {"output_config": {"effort": "medium"}}, 8192),
        ({}, {}, 16_384),
        ({}, {"max_tokens": 4000}, 2976),
        ({"adaptive_budget": 5000}, {"output_config": {"effort": "high"}}, 5000),
        ({"adaptive_budget": 5000}, {"max_tokens": 3000}, 1976),
    ],
)
def test_adaptive_becomes_a_budget_for_backends_that_only_know_one(
    gating: Gating, simulators: StartSimulator, quirks: dict[str, int], fields: dict[str, Any], budget: int
) -> None:
    """S1-50: as configured, else by the effort, and always with room for an answer (S0-37)."""
    sim = simulators(kind="compat", realm="glm")
    gate = gating(with_quirks(other(sim, model="glm-5"), adaptive=False, **quirks))
    talk = Talk(gate, tools=[], thinking={"type": "adaptive"}, **{"max_tokens": 64_000, **fields})
    answer = talk.says("Hello.")
    assert last_asked(sim)["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert "thinking" in [change.path for change in exchange_of(gate, answer).changes]
    assert refusals(sim) == []


@public("gateway")
@proves("req:S1-50")
def test_a_budget_in_place_of_adaptive_brings_the_beta_that_it_needs(gating: Gating, a: Simulator) -> None:
    """S1-50: adaptive thinks between tool calls by itself; where betas are not taken, none go."""
    for quirks, betas in (({}, "one-beta,interleaved-thinking-2025-05-14"), ({"betas": False}, None)):
        gate = gating(with_quirks(claude(a, model="claude-sonnet-4-5"), **quirks), home=f"home-{betas}")
        body = {"model": MODEL, "max_tokens": 4000, "messages": [user("Hello.")], "thinking": {"type": "adaptive"}}
        gate.ask(body, headers={"anthropic-beta": "one-beta"})
        assert headers_at(a).get("anthropic-beta") == betas
        gate.ask({**body, "thinking": {"type": "disabled"}}, headers={"anthropic-beta": "one-beta"})
        assert headers_at(a).get("anthropic-beta") == (betas and "one-beta")
        gate.ask(body, headers={"anthropic-beta": "one-beta"})
        assert last_asked(a)["thinking"] == {"type": "enabled", "budget_tokens": 2976}


# Ways.


@public("gateway")
@proves("req:S1-53")
def test_a_sub_agent_stays_with_the_backend_that_it_began_with(gate: Gate, a: Simulator, b: Simulator) -> None:
    """S1-53: for life, although the user switches; a new one begins where the user is."""
    agent = Talk(gate, headers=AGENT)
    main = Talk(gate, headers=SESSION)
    assert agent.says("A task.").headers["x-clew-backend"] == "claude"
    main.says("One.")
    gate.use("glm")
    assert main.says("Two.").headers["x-clew-backend"] == "glm"
    assert [agent.says(f"More {turn}.").headers["x-clew-backend"] for turn in range(3)] == ["claude"] * 3
    late = Talk(gate, headers={**SESSION, "x-claude-code-agent-id": "another"})
    assert late.says("Another task.").headers["x-clew-backend"] == "glm"
    assert (refusals(a), refusals(b)) == ([], [])


def test_two_sub_agents_of_one_session_never_disturb_each_other(gate: Gate, a: Simulator) -> None:
    """Law 7: the same words, the same session, at the same time."""
    agents = [Talk(gate, headers={**SESSION, "x-claude-code-agent-id": name}, tools=[]) for name in ("one", "two")]
    for turn in range(3):
        for agent in agents:
            agent.says(f"Step {turn}.")
            agent.forgets_thinking()
    threads = {exchange_of(gate, agent.says("Done?")).thread for agent in agents}
    assert len(threads) == 2
    assert refusals(a) == []


@pytest.mark.parametrize(
    ("rule", "model", "headers", "backend"),
    [
        (RoutingRule(family="haiku", backend="glm"), "claude-haiku-5-5", {}, "glm"),
        (RoutingRule(family="haiku", backend="glm"), MODEL, {}, "claude"),
        (RoutingRule(agent="*", backend="glm"), MODEL, {"x_claude_code_agent_id": "any"}, "glm"),
        (RoutingRule(agent="*", backend="glm"), MODEL, {}, "claude"),
        (RoutingRule(agent="x", backend="glm"), MODEL, {"x_claude_code_agent_id": "y"}, "claude"),
        (RoutingRule(request_class="title", backend="glm"), MODEL, {"x_claude_code_request_class": "title"}, "glm"),
    ],
)
def test_rules_outrank_the_active_backend(
    gating: Gating, a: Simulator, b: Simulator, rule: RoutingRule, model: str, headers: dict[str, str], backend: str
) -> None:
    """Issue, routing: by model family, sub-agent, request class."""
    gate = gating(claude(a), other(b), rules=(rule,))
    assert simple(gate, model, **headers).headers["x-clew-backend"] == backend


def test_a_rule_may_name_the_model_too(gating: Gating, a: Simulator, simulators: StartSimulator) -> None:
    sim = simulators(kind="compat", realm="glm")
    gate = gating(claude(a), other(sim), rules=(RoutingRule(family="opus", backend="glm", model="glm-5"),))
    answer = simple(gate)
    assert (last_asked(sim)["model"], named(answer), answer.headers["x-clew-model"]) == ("glm-5", MODEL, "glm-5")


@pytest.mark.parametrize(("alias", "model"), [("anthropic/glm", "glm-5"), ("anthropic/glm/glm-4", "glm-4")])
def test_a_client_may_ask_for_a_backend_by_name(
    gating: Gating, a: Simulator, simulators: StartSimulator, alias: str, model: str
) -> None:
    """Issue, endpoints: the names that `GET /v1/models` offers lead where they say, whatever is active or ruled."""
    sim = simulators(kind="compat", realm="glm")
    rule = RoutingRule(agent="*", backend="claude")
    gate = gating(claude(a), other(sim, model="glm-5"), rules=(rule,), failover=("claude",))
    answer = simple(gate, alias, x_claude_code_agent_id="any")
    assert (last_asked(sim)["model"], named(answer), answer.headers["x-clew-model"]) == (model, alias, model)
    sim.fault("status 529", times=10)
    assert (simple(gate, alias).status, asked_of(a)) == (529, [])


def test_a_pinned_thread_stays_and_others_go_on(gate: Gate) -> None:
    """`clew use --thread`: until it is let go."""
    pinned, free = Talk(gate), Talk(gate)
    thread = exchange_of(gate, pinned.says("One.")).thread
    free.says("Something else.")
    store_of(gate).pin("local", thread, "glm").result()
    assert pinned.says("Two.").headers["x-clew-backend"] == "glm"
    assert free.says("Two.").headers["x-clew-backend"] == "claude"
    store_of(gate).pin("local", thread, "").result()
    assert pinned.says("Three.").headers["x-clew-backend"] == "claude"


def test_a_pin_outranks_what_all_were_told_and_a_rule_outranks_a_pin(gating: Gating, a: Simulator, b: Simulator) -> None:
    """Design §3: agent header > rule > the thread's pin > the active backend."""
    third = claude(a, name="third")
    gate = gating(claude(a), other(b), third, rules=(RoutingRule(family="sonnet", backend="third"),))
    talk = Talk(gate)
    store_of(gate).pin("local", exchange_of(gate, talk.says("One.")).thread, "glm").result()
    gate.use("claude")
    assert talk.says("Two.").headers["x-clew-backend"] == "glm"
    talk.model = OTHER_MODEL
    assert talk.says("Three.").headers["x-clew-backend"] == "third"


def test_a_switch_does_not_touch_a_request_under_way(gate: Gate, a: Simulator) -> None:
    """Each request keeps the snapshot that it began with."""
    a.fault("slow-start 0.3")
    talk = Talk(gate)
    talk.messages = [user("[[scenario:text]]")]
    store_of(gate).set("active", "glm", at=0.0).result()
    soon = threading.Timer(0.1, gate.current.poll)
    soon.start()
    assert talk.send().headers["x-clew-backend"] == "claude"
    soon.join()
    assert talk.send().headers["x-clew-backend"] == "glm"


@pytest.mark.parametrize("choice", ["active", "active.family.opus", "active.agents", "pin"])
def test_a_backend_that_was_chosen_and_is_not_there_is_said_and_no_other_is_asked(
    gate: Gate, a: Simulator, b: Simulator, choice: str
) -> None:
    """A choice for all, for a family, for sub-agents, and the pin of a thread."""
    store, talk = store_of(gate), Talk(gate)
    thread = exchange_of(gate, talk.says("One.")).thread
    before = [len(asked_of(each)) for each in (a, b)]
    if choice == "pin":
        store.pin("local", thread, "gone").result()
    else:
        store.set(choice, "gone", at=0.0).result()
        gate.current.poll()
    talk.messages.append(user("Two."))
    body = {"model": MODEL, "max_tokens": 2000, "messages": talk.messages}
    answer = gate.ask(body, headers=AGENT if choice == "active.agents" else {})
    assert (answer.status, answer.json["error"]["type"]) == (503, "api_error")
    assert (
        "The backend 'gone' was chosen for this request, but this gateway does not have it"
        in answer.json["error"]["message"]
    )
    assert "It has: claude, glm." in answer.json["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert [len(asked_of(each)) for each in (a, b)] == before


def test_safeguards_go_to_anthropic_alone(gate: Gate, a: Simulator, b: Simulator) -> None:
    body = {"model": MODEL, "max_tokens": 100, "messages": [user("[[scenario:text]]")], "safeguards": {"mode": "auto"}}
    headers = {"anthropic-beta": "auto-mode-2026-03-01"}
    gate.ask(body, headers=headers)
    gate.use("glm")
    gate.ask(body, headers=headers)
    assert ("safeguards" in last_asked(a), "safeguards" in last_asked(b)) == (True, False)


@pytest.mark.parametrize("vendor", ["zai", "kimi", "qwen"])
def test_odd_tool_ids_become_safe_ones_and_go_back_as_they_were(
    gating: Gating, simulators: StartSimulator, a: Simulator, vendor: str
) -> None:
    """Design §4: `call_0` in each answer, `functions.Read:0`, and none at all."""
    sim = simulators(kind=vendor, realm=vendor)
    quirks = {"adaptive": False, "system_messages": False}
    gate = gating(with_quirks(other(sim, vendor, model="any"), **quirks), claude(a))
    talk = Talk(gate, thinking={"type": "enabled", "budget_tokens": 1024})
    talk.says("[[scenario:parallel]]")
    talk.says("[[scenario:parallel]] Again.")
    held = [id for message in talk.messages for id in _ids(message)]
    assert len(set(held)) == len(held) == 6
    sent = [id for message in last_asked(sim)["messages"] for id in _ids(message)]
    assert [id.startswith("toolu_") for id in sent] == [vendor == "qwen"] * 6
    gate.use("claude")
    talk.says("[[scenario:text]] And you?")
    assert [id for message in last_asked(a)["messages"] for id in _ids(message)] == held
    assert (refusals(a), refusals(sim)) == ([], [])


def _ids(message: Any) -> list[str]:
    return [block["id"] for block in message["content"] if isinstance(block, dict) and block["type"] == "tool_use"]


def test_a_backend_asked_for_by_its_offered_name_answers_under_that_name(
    gating: Gating, a: Simulator, simulators: StartSimulator
) -> None:
    """Design §6: `/v1/models` offers names that Claude Code keeps; the answer has the one that was asked for (C11)."""
    sim = simulators(kind="compat", realm="glm")
    gate = gating(claude(a), other(sim, model="glm-5"))
    talk = Talk(gate)
    for talk.model in backend_aliases(gate.current.settings.backends):
        answer = talk.says("Hello.")
        assert (named(answer), answer.headers["x-clew-backend"]) == (talk.model, "glm")
        assert last_asked(sim)["model"] == "glm-5"
    talk.model = MODEL
    assert talk.says("And you?").headers["x-clew-backend"] == "claude"
    assert (refusals(a), refusals(sim)) == ([], [])
