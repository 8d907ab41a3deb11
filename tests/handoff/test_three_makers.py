"""One conversation on another front through three makers, a tool loop with each: every maker gets exactly its own back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.testing.plugin import StartSimulator
from tests.build import Json
from tests.engine.gate import Gate
from tests.engine.kept import exchange_of
from tests.engine.talk import refusals
from tests.handoff.conftest import STRICT, Table
from tests.handoff.front_talk import FrontTalk
from tests.handoff.seats import KINDS, seated
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

MAKERS = ("anthropic", "deepseek-chat", "openai-responses")
CLIENTS = ["responses, Codex", "responses, AI SDK with references", "chat, returns nothing"]


def loop(talk: FrontTalk, gate: Gate, kind: str) -> None:
    """A question that takes a tool, answered by one maker."""
    gate.use(KINDS[kind].name)
    talk.asks("And now?")
    talk.step()
    talk.runs()
    talk.step()


def own_in(entry: Json) -> list[str]:
    return [each["fate"] for each in entry["thinking"] if each["whose"] == "own"]


@public("gateway")
@proves("case:161", "case:162", "case:163")
@pytest.mark.parametrize("client", CLIENTS)
def test_each_of_three_makers_goes_on_where_it_was(table: Table, client: str) -> None:
    """Claude, DeepSeek, OpenAI, and Claude again. What Claude got first is how its last request begins."""
    table.begin(*MAKERS)
    talk = FrontTalk(table.gate, client)
    for kind in (*MAKERS, *MAKERS):
        loop(talk, table.gate, kind)

    assert [table.refused(kind) for kind in MAKERS] == [[], [], []]
    for kind in MAKERS:
        last = table.asked(kind)[-1]
        assert {each["whose"] for each in last["thinking"]} <= {"own", "placeholder"}
        assert own_in(last) == ["kept"] * 3, kind
    first, *_, last = [entry["body"]["messages"] for entry in table.asked("anthropic")]
    assert last[: len(first)] == first


@proves("case:163")
@pytest.mark.parametrize("client", CLIENTS[::2])
def test_with_the_store_gone_nothing_is_refused(simulators: StartSimulator, tmp_path: Path, client: str) -> None:
    """What the client itself holds goes back; what only the store had is lost."""
    vendors = {kind: simulators(kind=kind, realm=kind, stance=STRICT if kind == "anthropic" else None) for kind in MAKERS}
    rows = [seated(KINDS[kind], vendors[kind]) for kind in MAKERS]
    with Gate(tmp_path, *rows) as gate:
        talk = FrontTalk(gate, client)
        for kind in MAKERS:
            loop(talk, gate, kind)
    for file in tmp_path.glob("clew.db*"):
        os.remove(file)

    with Gate(tmp_path, *rows) as gate:
        talk.gate = gate
        gate.use(KINDS["anthropic"].name)
        talk.asks("And in the end?")
        exchange = exchange_of(gate, talk.step())

    assert [refusals(vendor) for vendor in vendors.values()] == [[], [], []]
    assert exchange.kept == (2 if client == "responses, Codex" else 0)
