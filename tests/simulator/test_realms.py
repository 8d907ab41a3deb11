"""Realms: who signs with one secret, and what the journal says of blocks that come back."""

from typing import Any

import pytest

from clew.simulator.anthropic.memory import GivenThinking
from clew.simulator.interfaces import Books
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.manifest import accepts, refuses
from tests.simulator.wire import Reply, ask

MODEL = "claude-opus-5-5"
PROMPT = {"role": "user", "content": "[[scenario:thinking]]"}
INVALID = "messages.1.content.0: Invalid `signature` in `thinking` block"


def answer_of(sim: Simulator) -> list[dict[str, Any]]:
    return ask(sim.url, model=MODEL, messages=[PROMPT]).json["content"]


def go_on(sim: Simulator, content: list[dict[str, Any]]) -> Reply:
    said = [PROMPT, {"role": "assistant", "content": content}, {"role": "user", "content": "go on"}]
    return ask(sim.url, model=MODEL, messages=said)


def whose(sim: Simulator) -> list[str]:
    return [block["whose"] for block in sim.journal()[-1]["thinking"]]


@pytest.mark.slow
@accepts("rule:R33.invalid-signature")
@pytest.mark.parametrize(
    ("one", "other"),
    [({"seed": 1}, {"seed": 1}), ({"realm": "a", "seed": 1}, {"realm": "a", "seed": 2})],
    ids=["of one seed", "of one realm"],
)
def test_simulators_of_one_realm_take_each_others_blocks(
    simulators: StartSimulator, one: dict[str, Any], other: dict[str, Any]
) -> None:
    maker, taker = simulators(**one), simulators(**other)
    assert go_on(taker, answer_of(maker)).status == 200
    assert whose(taker) == ["own"]


@pytest.mark.slow
@refuses("rule:R33.invalid-signature")
@pytest.mark.parametrize(
    ("one", "other"),
    [({"seed": 1}, {"seed": 2}), ({"realm": "a"}, {"realm": "b"}), ({"realm": "a"}, {})],
    ids=["of two seeds", "of two realms", "one of them without a name"],
)
def test_simulators_of_two_realms_refuse_each_others_blocks(
    simulators: StartSimulator, one: dict[str, Any], other: dict[str, Any]
) -> None:
    maker, taker = simulators(**one), simulators(**other)
    refused = go_on(taker, answer_of(maker))
    assert (refused.status, refused.json["error"]["message"]) == (400, INVALID)
    assert whose(taker) == ["foreign"]


@pytest.mark.slow
def test_a_block_without_a_signature_is_unknown(simulator: Simulator) -> None:
    content = answer_of(simulator)
    assert go_on(simulator, [{**content[0], "signature": ""}, *content[1:]]).status == 400
    assert whose(simulator) == ["unknown"]


def test_the_books_know_what_was_given_and_what_was_only_given_without_its_text() -> None:
    given = GivenThinking()
    shown = {"type": "thinking", "thinking": "Hm.", "signature": "s1"}
    empty = {"type": "thinking", "thinking": "", "signature": "s2"}
    redacted = {"type": "redacted_thinking", "data": "d"}
    unsigned = {"type": "thinking", "thinking": "So."}
    given.record([shown, empty, {**shown, "thinking": ""}, redacted, unsigned, {"type": "text", "text": "Hello."}])
    assert given.books == Books({"s1", "s2", "d", "So."}, {"s2", "d"})
    given.record([{**empty, "thinking": "Ah."}])
    assert given.books.omitted == {"d"}
    given.reset()
    assert given.books == Books()
