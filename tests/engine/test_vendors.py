"""Every vendor of the presets, as its row says, beside Claude: switched in mid-loop and back, with nothing refused or lost."""

from __future__ import annotations

import pytest

from clew.backends.credential import Secret
from clew.backends.presets import presets
from clew.backends.row import Backend
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json, user
from tests.engine.conftest import Gating
from tests.engine.gate import Gate, claude
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL, Talk, asked_of, last_asked, refusals, thoughts, thoughts_in

pytestmark = pytest.mark.slow

VENDORS = ["zai", "kimi", "deepseek", "minimax", "qwen"]
"""Presets, and the simulator's kinds of the same names."""


def row_of(name: str, simulator: Simulator) -> Backend:
    """The preset's row, at the simulator's address."""
    preset = presets()[name]
    return Backend(
        name=name,
        url=simulator.url,
        realm=preset.realm,
        auth=preset.auth,
        keys=(Secret("sim-vendor-1"),),
        model=preset.model,
        models=preset.models,
        quirks=preset.quirks,
    )


def said(blocks: list[Json]) -> list[tuple[str, str]]:
    return [(block["type"], block.get("thinking", "")) for block in blocks]


def loop(talk: Talk, gate: Gate, *backends: str) -> None:
    """A question whose every model call goes to the next of these."""
    talk.messages.append(user("[[scenario:loop]] Three steps."))
    for backend in backends:
        gate.use(backend)
        talk.step()
        if talk.calls:
            talk.runs()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", VENDORS)
def test_a_vendor_and_claude_take_turns(
    gating: Gating, simulators: StartSimulator, a: Simulator, name: str, stream: bool
) -> None:
    """Issue: switched in the middle of a tool loop, and back; each has its own thinking, whole, and nobody else's."""
    vendor = simulators(kind=name, realm=name)
    gate = gating(claude(a), row_of(name, vendor))
    talk = Talk(gate, stream=stream)
    loop(talk, gate, name, name, name, name)
    loop(talk, gate, "claude", name, name, "claude")
    loop(talk, gate, name, "claude", "claude", name)
    gate.use(name)
    talk.says("[[scenario:thinking]] And the end?")
    assert (refusals(a), refusals(vendor)) == ([], [])
    assert {event["whose"] for entry in a.journal() for event in entry["thinking"]} == {"own"}
    assert b"clew1." not in b"".join(vendor.body(entry["n"]) for entry in vendor.journal())
    assert all(body["model"] == presets()[name].models.get("opus", presets()[name].model) for body in asked_of(vendor))

    sealed = [block for block in thoughts(talk.messages[:-1]) if block["signature"].startswith("clew1.")]
    own = [pair for pair in said(thoughts_in(last_asked(vendor))) if pair[1].strip()]
    assert own == said(sealed)


def test_a_vendor_that_wants_all_thinking_back_does_not_think_where_a_call_has_none(
    gating: Gating, simulators: StartSimulator, a: Simulator
) -> None:
    """`missing = "off"`: said, and only where it must be; its own blocks stay."""
    vendor = simulators(kind="deepseek", realm="deepseek")
    gate = gating(row_of("deepseek", vendor), claude(a))
    talk = Talk(gate)
    assert exchange_of(gate, talk.says("One.")).changes[-1].step != "thinking_parameter"
    gate.use("claude")
    talk.says("Two.")
    gate.use("deepseek")
    answer = talk.says("Three.")
    modes = [body.get("thinking", {}).get("type") for body in asked_of(vendor)]
    assert modes == ["enabled", "enabled", "disabled", "disabled"]
    reasons = [change.why for change in exchange_of(gate, answer).changes if change.path == "thinking"]
    assert reasons[-1] == "this backend needs the thinking of every tool call, and one has none"
    assert len(thoughts_in(last_asked(vendor))) == 2
    assert refusals(vendor) == []


@pytest.mark.parametrize("name", VENDORS)
def test_a_client_that_shows_each_model_only_its_own_loses_nothing_there(
    gating: Gating, simulators: StartSimulator, a: Simulator, name: str
) -> None:
    """What the client dropped comes back from the store, also for makers that sign nothing."""
    vendor = simulators(kind=name, realm=name)
    gate = gating(row_of(name, vendor), claude(a))
    talk = Talk(gate)
    talk.says("One.")
    whole = said(thoughts(talk.messages))
    talk.forgets_thinking()
    answer = talk.says("Two.")
    sent = [pair for pair in said(thoughts_in(last_asked(vendor))) if pair[1].strip()]
    assert sent[: len(whole)] == whole
    assert f"restored={len(whole)}" in answer.headers["x-clew-thinking"]
    assert refusals(vendor) == []


@pytest.mark.parametrize("name", VENDORS)
def test_a_count_goes_to_a_vendor_in_its_own_form(
    gating: Gating, simulators: StartSimulator, a: Simulator, name: str
) -> None:
    vendor = simulators(kind=name, realm=name)
    gate = gating(row_of(name, vendor), claude(a))
    body = {"model": MODEL, "messages": [user("Hello.")], "thinking": {"type": "adaptive"}}
    answer = gate.ask(body, path="/v1/messages/count_tokens")
    assert (answer.status, refusals(vendor)) == (200, [])


COUNT = "/v1/messages/count_tokens"
MISSED = '{"type":"error","error":{"type":"not_found_error","message":"model: glm-0"}}'


@pytest.mark.parametrize("no", ['404 body=\'{"detail":"Not Found"}\'', "404 body=''", "405 body=no", "501 body=no"])
def test_tokens_are_estimated_where_a_vendor_of_the_same_dialect_does_not_count(
    gating: Gating, simulators: StartSimulator, no: str
) -> None:
    """Claude Code would ask the model itself instead."""
    vendor = simulators(kind="kimi", realm="kimi")
    gate = gating(row_of("kimi", vendor))
    vendor.fault(f"status {no}", path=COUNT)
    answer = gate.ask({"model": MODEL, "messages": [user("Hello there.")]}, path=COUNT)
    assert (answer.status, answer.headers["x-clew-tokens"]) == (200, "estimated")
    assert answer.json["input_tokens"] > 0


def test_a_model_that_a_counting_vendor_misses_is_told(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a))
    a.fault(f"status 404 body='{MISSED}'", path=COUNT)
    answer = gate.ask({"model": MODEL, "messages": [user("Hello there.")]}, path=COUNT)
    assert (answer.status, answer.json["error"]["message"]) == (404, "model: glm-0")
