"""The random walk: switches, rewinds, forks, holes in the store, against the judge's binding rules in both readings."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.counts import examples
from tests.identity.walk import Plan, Tally, walk
from tests.numbers import note

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SEEDS = examples(6, soak=400)


def measured(plan: Plan) -> Tally:
    tally = walk(plan, range(SEEDS))
    name = (
        f"walk: {plan.client}, reading {plan.reading}, after last {plan.after_last}, holes {plan.holes}, edits {plan.edits}, "
        f"changes {plan.changes}"
    )
    per_100 = 100 * tally.refusals / tally.turns
    own, readable = tally.own_delivered / tally.own, tally.readable_delivered / tally.readable
    note(name, f"{tally.turns} turns, {per_100:.2f} refusals per 100, own {own:.2%}, readable {readable:.2%}")
    assert tally.turns == SEEDS * plan.turns
    assert tally.own > 100, "a walk without thinking shows nothing"
    return tally


@pytest.mark.parametrize("reading", ["sent", "read"])
def test_a_client_that_hides_other_models_thinking_is_never_refused_and_loses_nothing(
    reading: Literal["sent", "read"],
) -> None:
    tally = measured(Plan("drops", reading))

    assert (tally.refusals, tally.surfaced, tally.foreign_sent) == (0, 0, 0)
    assert tally.own_delivered == tally.own


def test_a_client_that_sends_all_is_never_refused_where_predecessors_are_what_was_sent() -> None:
    tally = measured(Plan("sends all", "sent"))

    assert (tally.refusals, tally.surfaced, tally.foreign_sent) == (0, 0, 0)
    assert tally.own_delivered == tally.own


def test_a_client_that_sends_all_sees_no_refusal_where_predecessors_are_what_was_read() -> None:
    """The vendor refuses, clew heals: a model's own blocks all arrive all the same."""
    tally = measured(Plan("sends all", "read"))

    assert tally.surfaced == 0
    assert tally.own_delivered == tally.own
    assert tally.refusals > 0, "this reading is the one that tells the policies apart"


def test_leaving_others_out_after_the_last_answer_costs_no_refusal_in_that_reading() -> None:
    tally = measured(Plan("sends all", "read", "leave"))

    assert (tally.refusals, tally.surfaced) == (0, 0)
    assert tally.own_delivered == tally.own


@pytest.mark.parametrize("reading", ["sent", "read"])
def test_a_tenth_of_all_recordings_may_be_lost(reading: Literal["sent", "read"]) -> None:
    tally = measured(Plan("drops", reading, holes=0.1))

    assert (tally.refusals, tally.surfaced) == (0, 0)
    assert tally.own_delivered >= 0.999 * tally.own


def test_an_edit_by_the_client_is_healed_and_never_seen() -> None:
    tally = measured(Plan("drops", "sent", edits=0.03))

    assert tally.surfaced == 0
    assert 0 < tally.refusals < 0.06 * tally.turns, "about one repair for each edit, reader and branch"


@pytest.mark.parametrize("changes", [0.3, 1.0])
@pytest.mark.parametrize("client", ["drops", "sends all"])
def test_a_client_that_changes_the_text_of_thoughts_is_never_refused_and_loses_nothing(
    client: Literal["drops", "sends all"], changes: float
) -> None:
    """In some requests or in all, and under seals too: the signature names the block, and the recorded one goes."""
    tally = measured(Plan(client, "sent", changes=changes))

    assert (tally.refusals, tally.surfaced, tally.foreign_sent) == (0, 0, 0)
    assert tally.own_delivered == tally.own


def test_the_walk_would_notice_a_policy_that_restores_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is alive: with "everything recorded in the realm goes back", the same walk is refused."""
    from clew.pipeline import thinking
    from clew.pipeline.thinking import binding

    monkeypatch.setattr(
        binding, "strand_keys", lambda recording, shelf: tuple(key for each in shelf.all for key in each.keys)
    )
    monkeypatch.setattr(binding, "longest_tail", lambda groups, placeable: frozenset(k for _, g in groups for k in g))
    monkeypatch.setattr(thinking, "is_whole", lambda *args: False)
    monkeypatch.setattr(binding, "digest_of", lambda proofs: b"never")

    try:
        refusals = walk(Plan("drops", "read"), range(12)).refusals
    except AssertionError:
        refusals = 1
    assert refusals > 0
