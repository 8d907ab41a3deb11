"""Reasoning that only one account can read: a conversation stays with the key that made it."""

from __future__ import annotations

import pytest
from msgspec import structs

from clew.backends.credential import Secret
from clew.backends.row import Backend, Quirks
from clew.engine.route import RouteQuery, maker_first, routes_of
from clew.exchange.inputs import BackendRoute
from clew.model.facts import models
from clew.model.origin import Origin
from clew.model.recording import Recording, Shelf
from clew.settings.values import Retry, Settings
from clew.testing.plugin import StartSimulator
from tests.engine.conftest import Gating
from tests.engine.gate import other
from tests.engine.kept import exchange_of
from tests.engine.talk import Talk
from tests.thinking.test_align import recorded

PER_ACCOUNT = Quirks(realm_per_account=True)
ONE, TWO = Secret("sim-one-key"), Secret("sim-two-key")


def routes(*, per_account: bool = True, account: str = "") -> tuple[BackendRoute, ...]:
    row = Backend(
        name="gpt",
        url="http://127.0.0.1:1",
        realm="openai",
        auth="key",
        keys=(ONE, TWO),
        account=account,
        quirks=Quirks(realm_per_account=per_account),
    )
    return routes_of(Settings(active="gpt", backends={"gpt": row}, models=models()), "gpt", RouteQuery(model="m"), ())


def answer(id: str, realm: str, backend: str = "gpt", followed: str | None = None) -> Recording:
    return structs.replace(recorded(), id=id, origin=Origin(realm, backend, "m"), followed=followed)


def order(ways: tuple[BackendRoute, ...], *history: Recording) -> list[Secret | None]:
    return [route.key for route in maker_first(ways, history[-1] if history else None, Shelf(history))]


def test_the_key_that_gave_the_backends_last_answer_is_tried_first() -> None:
    ways = routes()
    seconds = ways[1].target.realm

    assert order(ways) == [ONE, TWO]
    assert order(ways, answer("a", seconds)) == [TWO, ONE]


def test_another_makers_answers_in_between_do_not_change_that() -> None:
    ways = routes()
    first, then = answer("a", ways[1].target.realm), answer("b", "anthropic", "claude", followed="a")

    assert order(ways, first, then) == [TWO, ONE]


@pytest.mark.parametrize("account", ["", "us"])
def test_keys_of_one_account_keep_their_order(account: str) -> None:
    ways = routes(per_account=bool(account), account=account)

    assert order(ways, answer("a", ways[1].target.realm)) == [ONE, TWO]


@pytest.mark.slow
def test_a_conversation_stays_with_the_account_that_answered_it(gating: Gating, simulators: StartSimulator) -> None:
    """The first key is refused once, and has recovered at once: the second goes on, with all of its own thinking."""
    sim = simulators(kind="compat", realm="glm")
    sim.fault("status 429")
    row = structs.replace(other(sim), keys=(Secret("sim-one-key"), Secret("sim-two-key")), quirks=PER_ACCOUNT)
    gate = gating(row, retry=Retry(retries=0, first_wait=0.01, cool_seconds=0.0))
    talk = Talk(gate)

    first = exchange_of(gate, talk.asks("Hello"))
    talk.runs()
    later = [exchange_of(gate, talk.step()), *[exchange_of(gate, talk.says(words)) for words in ("And?", "And then?")]]

    assert [each.status for each in first.tries] == [429, 200]
    assert [(len(each.tries), each.kept) for each in later] == [(1, 1), (1, 3), (1, 5)]


@pytest.mark.slow
def test_what_another_account_thought_is_left_out_and_said(gating: Gating, simulators: StartSimulator) -> None:
    sim = simulators(kind="compat", realm="glm")
    rows = [
        structs.replace(other(sim, name), realm="glm", keys=(Secret(f"sim-{name}-key"),), quirks=PER_ACCOUNT)
        for name in ("one", "two")
    ]
    gate = gating(*rows)
    talk = Talk(gate)
    talk.says("Hello")
    gate.use("two")

    handed_over = exchange_of(gate, talk.asks("And?"))

    assert handed_over.kept == 0
    assert "made by one" in {change.why for change in handed_over.changes}
