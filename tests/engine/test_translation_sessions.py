"""Conversations side by side on a vendor that numbers its calls over again in each, and what clients do to what they keep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json
from tests.engine.chatting import chat, pieces
from tests.engine.conftest import Gating
from tests.engine.talk import Talk, refusals, thoughts
from tests.manifest import proves

pytestmark = pytest.mark.slow

LOOP = "[[scenario:loop]] Three steps."
SESSION = "x-claude-code-session-id"


@pytest.fixture
def kimi(simulators: StartSimulator) -> Simulator:
    return simulators(kind="kimi-chat", realm="kimi")


def own_ids(body: Json) -> list[str]:
    """The ids of the calls in a request, as the vendor made them."""
    return [call["id"] for message in body["messages"] for call in message.get("tool_calls", ())]


@proves("case:59")
def test_conversations_with_equal_ids_never_see_each_others_reasoning(gating: Gating, kimi: Simulator) -> None:
    """Two sessions at the same time, whose clients forget what was thought: each gets its own back from the store."""
    gate = gating(chat(kimi, "kimi"))
    talks = [Talk(gate, headers={SESSION: f"{name}" * 32}) for name in "ab"]
    words = ["Read the first file.", "Look at another one, please."]
    with ThreadPoolExecutor() as pool:
        list(pool.map(Talk.says, talks, words))
    own = [thoughts(talk.messages) for talk in talks]
    assert not {block["thinking"] for block in own[0]} & {block["thinking"] for block in own[1]}

    seen: list[list[str]] = []
    for talk, blocks in zip(talks, own, strict=True):
        talk.forgets_thinking()
        answer = talk.says("And now?")
        first = next(entry for entry in kimi.journal() if entry["n"] == asked_at(kimi, "And now?", len(seen)))
        came = [message["reasoning_content"] for message in first["body"]["messages"] if message["role"] == "assistant"]
        assert came == [block["thinking"] for block in blocks]
        assert (refusals(kimi), f"restored={len(blocks)}" in answer.headers["x-clew-thinking"]) == ([], True)
        seen.append(own_ids(first["body"]))
    assert seen[0][0] == seen[1][0], "the vendor's ids are the same in both"


def asked_at(simulator: Simulator, words: str, number: int) -> int:
    """The entry of the first request with these words of the conversation of that number."""
    found = [entry["n"] for entry in simulator.journal() if entry["body"]["messages"][-1]["content"] == words]
    return found[number]


LONG = "A long thought – „ünïcode“ 木琴. " * 2500


def _same(block: Json) -> None:
    """As it came; JSON with every letter outside ASCII escaped, as `Talk` writes it."""


def _without_text(block: Json) -> None:
    block["thinking"] = ""


def _cut(block: Json) -> None:
    block["signature"] = block["signature"][:100]


def _unsigned(block: Json) -> None:
    block["signature"] = ""


@proves("case:60")
@pytest.mark.parametrize("treatment", [_same, _without_text, _cut, _unsigned])
def test_a_large_thought_survives_what_clients_do_to_it(
    gating: Gating, simulators: StartSimulator, tmp_path: Path, treatment: Callable[[Json], None]
) -> None:
    """64 kB and more, signed by the vendor behind: its entries go back to the byte, from the seal or from the store."""
    script = tmp_path / "long.scenario"
    script.write_text(f"think: {LONG}\ntext: Yes.")
    vendor = simulators(kind="openrouter", realm="openrouter", scenario=str(script))
    gate = gating(chat(vendor, "openrouter", 'model = "anthropic/claude-opus-5"'))
    talk = Talk(gate, tools=[], max_tokens=64_000)
    talk.says("Why?")
    [block] = thoughts(talk.messages)
    assert len(block["thinking"]) > 65_536
    treatment(block)
    talk.says("And then?")
    assert pieces(vendor) == [("reasoning_details", "own", True, "kept")]
    assert refusals(vendor) == []


def test_a_dropped_thought_comes_back_to_a_vendor_that_signed_it(gating: Gating, simulators: StartSimulator) -> None:
    """Blocks with an empty text are dropped by some clients, and here the text is all hidden."""
    vendor = simulators(kind="openrouter", realm="openrouter")
    gate = gating(chat(vendor, "openrouter", 'model = "openai/gpt-5.6"'))
    talk = Talk(gate)
    talk.says(LOOP)
    talk.forgets_thinking()
    talk.says("[[scenario:text]] And then?")
    assert {(whose, same, fate) for _, whose, same, fate in pieces(vendor)} == {("own", True, "kept")}
    assert refusals(vendor) == []
