"""Vendors with the Anthropic dialect that are not Anthropic: each row of the table, over a real socket."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from clew.cli.sim import CHAT_KINDS, KINDS, RESPONSES_KINDS
from clew.errors import SettingsInvalid
from clew.model.facts import rules
from clew.simulator.anthropic.vendors import vendor_of, vendors, waived
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.testing import Simulator
from tests.simulator.judging import ask as judged
from tests.simulator.judging import assistant, call, request, result, system, text, thought, user
from tests.simulator.wire import TOOL, Reply, ask

OTHERS = [kind for kind in vendors() if kind != "anthropic"]
LAX = [kind for kind in OTHERS if kind != "compat"]


@pytest.fixture(scope="module")
def running() -> Iterator[dict[str, Simulator]]:
    """One simulator of each kind."""
    simulators = {kind: Simulator(kind=kind) for kind in vendors()}
    for simulator in simulators.values():
        simulator.__enter__()
    yield simulators
    for simulator in simulators.values():
        simulator.__exit__(None, None, None)


@pytest.fixture
def sims(running: dict[str, Simulator]) -> dict[str, Simulator]:
    for simulator in running.values():
        simulator.reset()
    return running


def model(kind: str) -> str:
    return next(iter(vendors()[kind].models), "claude-opus-5")


def say(sim: Simulator, kind: str, messages: list[Any], **fields: Any) -> Reply:
    wanted = {"model": model(kind), "max_tokens": 3000, "messages": messages, "thinking": THINKING, **fields}
    return ask(sim.url, **{"tools": [TOOL], **wanted})


THINKING = {"type": "enabled", "budget_tokens": 1024}


def loop(sim: Simulator, kind: str, prompt: str, turns: int, thinking: Any = THINKING) -> list[Any]:
    """A conversation of so many answers; each tool call gets its result."""
    messages = [user(prompt)]
    for _ in range(turns):
        content = say(sim, kind, messages, thinking=thinking).json["content"]
        messages.append({"role": "assistant", "content": content})
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        messages.append(user(*[result(identity) for identity in calls]) if calls else user("And then?"))
    return messages


def blocks(messages: list[Any], kind: str) -> list[dict[str, Any]]:
    return [
        block for message in messages for block in message["content"] if isinstance(block, dict) and block["type"] == kind
    ]


# The table.


def test_every_waived_rule_is_in_the_book_and_every_kind_on_the_command_line() -> None:
    for vendor in vendors().values():
        for pattern in vendor.without:
            assert any(fnmatchcase(rule, pattern) for rule in rules()), pattern
    assert sorted(KINDS) == sorted(vendors())
    assert sorted(CHAT_KINDS) == sorted(chat_vendors())
    assert sorted(RESPONSES_KINDS) == sorted(responses_vendors())
    assert waived("anthropic") == waived("compat") == frozenset()


def test_a_kind_that_there_is_not_is_named_with_those_that_there_are() -> None:
    with pytest.raises(SettingsInvalid, match="there is no kind 'acme'; there are anthropic, compat, zai, kimi"):
        vendor_of("acme")


# What they give.

IDS = {
    "compat": None,
    "zai": ["call_0", "call_0"],
    "kimi": ["functions.get_weather:0", "functions.get_weather:1"],
    "deepseek": None,
    "minimax": None,
    "qwen": ["", ""],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHERS)
def test_two_tool_loops_go_through_with_what_the_vendor_gave(sims: dict[str, Simulator], kind: str) -> None:
    """S0: what a vendor gave, it takes back: its own signatures, its own ids."""
    sim = sims[kind]
    messages = loop(sim, kind, "[[scenario:loop]] go", turns=4)
    found = [block["id"] for block in blocks(messages, "tool_use")]
    assert len(found) >= 2
    if IDS[kind] is None:
        assert len(set(found)) == len(found)
    else:
        assert found[:2] == IDS[kind]
    assert [entry["verdict"] for entry in sim.journal()] == [{"ok": True}] * 4
    whose = {block["whose"] for entry in sim.journal() for block in entry["thinking"]}
    assert whose == {"own"}


def test_signatures_are_of_the_vendors_own_kind(sims: dict[str, Simulator]) -> None:
    found = {kind: blocks(loop(sims[kind], kind, "[[scenario:thinking]]", 1), "thinking")[0] for kind in OTHERS}
    assert {kind: block.get("signature") for kind, block in found.items() if kind in ("zai", "deepseek", "qwen")} == {
        "zai": None,
        "deepseek": None,
        "qwen": "",
    }
    assert ["signature" in found[kind] for kind in ("zai", "deepseek", "qwen")] == [False, False, True]
    proofs = [found[kind]["signature"] for kind in ("compat", "kimi", "minimax")]
    assert len(set(proofs)) == 3


def test_noise_has_its_lengths_and_is_never_looked_at(sims: dict[str, Simulator]) -> None:
    """Measured: 12946 characters in a whole answer, 4340 in a stream."""
    sim = sims["kimi"]
    prompt = [user("[[scenario:thinking]]")]
    whole = say(sim, "kimi", prompt).json["content"][0]
    events = say(sim, "kimi", prompt, stream=True).events
    (streamed,) = [
        event["delta"]["signature"] for event in events if event.get("delta", {}).get("type") == "signature_delta"
    ]
    assert (len(whole["signature"]), len(streamed)) == (12946, 4340)
    changed = {**whole, "signature": whole["signature"][:-1]}
    assert say(sim, "kimi", [*prompt, assistant(changed, "So."), user("On.")]).status == 200


def test_a_stream_without_signatures_has_no_such_delta_and_no_such_key(sims: dict[str, Simulator]) -> None:
    events = say(sims["zai"], "zai", [user("[[scenario:thinking]]")], stream=True).events
    assert "signature" not in json.dumps(events)
    assert events[1]["content_block"] == {"type": "thinking", "thinking": ""}


def test_the_models_are_the_vendors(sims: dict[str, Simulator]) -> None:
    from tests.simulator.wire import call as get

    assert [row["id"] for row in get(sims["zai"].url, "GET", "/v1/models").json["data"]] == ["glm-5.2", "glm-4.7"]
    types = get(sims["zai"].url, "GET", "/v1/models/glm-9").json["capabilities"]["thinking"]["types"]
    assert [name for name, each in types.items() if each["supported"]] == ["disabled", "enabled"]


# What they take.


@pytest.mark.parametrize("kind", LAX)
def test_others_thinking_is_taken_without_a_look(kind: str) -> None:
    """Kimi: measured; the others: what is wrong degrades."""
    for block in (thought(), thought(signature=""), {"type": "thinking", "thinking": "Hm."}):
        verdict = judged(request(messages=[user("Hi."), assistant(block, "Hello."), user("On.")]), kind=kind)
        assert verdict.violation is None
        assert [fate.whose for fate in verdict.prompt.blocks] == ["foreign" if block.get("signature") else "unknown"]


@pytest.mark.parametrize("kind", ["anthropic", "compat"])
def test_strict_vendors_refuse_others_thinking(kind: str) -> None:
    verdict = judged(request(messages=[user("Hi."), assistant(thought(), "Hello."), user("On.")]), kind=kind)
    assert verdict.violation is not None
    assert verdict.violation.rule == "R33.invalid-signature"


@pytest.mark.parametrize(
    ("kind", "fields", "rule"),
    [
        *[(kind, {"thinking": {"type": "adaptive"}}, "R10.adaptive-unsupported") for kind in ("zai", "deepseek", "qwen")],
        *[(kind, {"messages": [user("Hi."), system("Be brief.")]}, "R32.role-unsupported") for kind in LAX],
        *[(kind, {"foo": 1}, "R4.field-unknown") for kind in OTHERS],
        *[(kind, {"messages": [user(result())]}, "R27.unexpected-result") for kind in OTHERS],
        *[(kind, {"messages": [user(text(""))]}, "R22.empty-text") for kind in OTHERS],
        ("kimi", {"temperature": 0.3}, "R14.temperature-deprecated"),
        (
            "deepseek",
            {"messages": [user("Hi."), assistant({"type": "redacted_thinking", "data": "x"}, "A."), user("B.")]},
            "R33.invalid-data",
        ),
    ],
)
def test_what_a_vendor_does_not_take_is_refused_by_the_book(kind: str, fields: dict[str, Any], rule: str) -> None:
    violation = judged(request(**fields), kind=kind).violation
    assert violation is not None
    assert violation.rule == rule


@pytest.mark.parametrize("kind", LAX)
def test_versions_and_betas_are_not_looked_at(kind: str) -> None:
    """DeepSeek documents it; the others take Claude Code as it comes."""
    assert judged(request(), kind=kind, version="", betas=["nobody-knows-2030-01-01"]).violation is None


LOST = "The content[].thinking in the thinking mode must be passed back to the API."
EMPTY = {"type": "thinking", "thinking": ""}


@pytest.mark.parametrize(
    ("thinking", "content", "words"),
    [
        (None, (call(),), LOST),
        ({"type": "enabled", "budget_tokens": 1024}, (text("So."), call()), LOST),
        ({"type": "disabled"}, (call(),), None),
        (None, (EMPTY, call()), None),
        (None, (thought(), call()), None),
        (None, (text("Hello."),), None),
    ],
    ids=["by default", "when asked for", "not when off", "an empty block will do", "any block will do", "without a call"],
)
def test_deepseek_wants_the_thinking_of_every_tool_call(thinking: Any, content: Any, words: str | None) -> None:
    """B: many reports; ccx#279 for the empty block."""
    answered = user(result()) if any(block["type"] == "tool_use" for block in content) else user("On.")
    fields = {"tools": [TOOL | {"name": "look"}], "messages": [user("Hi."), assistant(*content), answered]}
    violation = judged(
        request(max_tokens=2000, **fields, **({"thinking": thinking} if thinking else {})), kind="deepseek"
    ).violation
    assert (violation and violation.message) == words
