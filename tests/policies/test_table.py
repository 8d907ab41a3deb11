"""The loss table of the docs still holds, in small: which policy does which kind of harm in which scenario."""

from __future__ import annotations

import pytest

from tests.counts import examples
from tests.numbers import note
from tests.policies.play import Play, Tally
from tests.policies.policies import POLICIES, OriginPolicy
from tests.policies.scenarios import SCENARIOS
from tests.policies.table import PAGE, cell, harm_in, read_table, tally_of
from tests.policies.vendors import CLAUDE, GLM
from tests.test_manifest import ROOT

SEEDS = examples(2, soak=100)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_origin_loses_nothing_is_never_refused_and_never_stuck(scenario: str) -> None:
    """Requirements 5.5, last column: zero in every cell; heals may happen, the client does not see them."""
    tally = tally_of(scenario, "origin", SEEDS)
    note(f"loss table, origin: {scenario}", f"{tally.requests} requests, {tally.due} blocks due, {tally.healed} heals")

    assert (tally.lost, tally.refused, tally.stuck) == (0, 0, 0)
    assert tally.due > 4 * SEEDS, "a scenario in which nothing is due shows nothing"


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_page_says_of_each_policy_what_a_small_run_finds(scenario: str) -> None:
    said = read_table((ROOT / PAGE).read_text())
    found = {policy: harm_in(cell(tally_of(scenario, policy, SEEDS))) for policy in POLICIES}

    assert said[scenario] == found, "run `make bench-policies`"


def test_the_page_has_every_scenario_and_every_policy() -> None:
    said = read_table((ROOT / PAGE).read_text())

    assert list(said) == list(SCENARIOS)
    assert all(list(row) == list(POLICIES) for row in said.values())


def test_a_cell_names_each_kind_of_harm() -> None:
    assert cell(Tally(requests=9, due=4, lost=1, refused=2, stuck=1)) == "25% lost, 2× 400, 1 stuck"
    assert cell(Tally(requests=9, due=4)) == "0"
    assert harm_in("25% lost, 2× 400, 1 stuck") == {"lost", "400", "stuck"}
    assert harm_in("0") == frozenset()


def test_the_count_notices_a_block_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is alive: an origin policy that forgets its store and gets a stripped copy loses."""
    play = Play(OriginPolicy(), 1)
    client = play.exchange(play.exchange(play.begins()))
    play.policy = OriginPolicy()
    play.exchange(client.refused())

    assert play.tally.lost > 0


def test_the_count_notices_a_foreign_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without seals, what GLM signed would go to Claude as nobody's: refused, and healed."""
    monkeypatch.setattr(OriginPolicy, "_sealed", lambda self, index, block: block)
    play = Play(OriginPolicy(), 1)
    client = play.exchange(play.begins(), GLM)
    play.policy = OriginPolicy()
    play.exchange(client, CLAUDE)

    assert play.tally.healed > 0
