"""The random walk by clients of other fronts, against the judge's binding rules in both readings."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.counts import examples
from tests.identity.front_clients import CHAT_CLIENTS, RESPONSES_CLIENTS
from tests.identity.front_walk import front_walk
from tests.identity.walk import Plan, Tally
from tests.numbers import note

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SEEDS = examples(2, soak=200)


def measured(client: str, plan: Plan) -> Tally:
    tally = front_walk(client, plan, range(SEEDS))
    own, per_100 = tally.own_delivered / tally.own, 100 * tally.refusals / tally.turns
    note(f"walk: {client}, reading {plan.reading}, holes {plan.holes}", f"{per_100:.2f} refusals per 100, own {own:.2%}")
    assert tally.turns == SEEDS * plan.turns
    return tally


@pytest.mark.parametrize("reading", ["sent", "read"])
@pytest.mark.parametrize("client", [*CHAT_CLIENTS, *RESPONSES_CLIENTS])
def test_no_request_of_such_a_client_is_lost_to_its_maker(client: str, reading: Literal["sent", "read"]) -> None:
    """Whatever the client drops, joins or edits: all of a model's own thinking arrives, and nobody else's."""
    tally = measured(client, Plan("sends all", reading, "leave" if reading == "read" else "keep"))

    assert (tally.surfaced, tally.foreign_sent) == (0, 0)
    assert tally.refusals == 0
    assert tally.own_delivered == tally.own


@pytest.mark.parametrize("client", RESPONSES_CLIENTS)
def test_a_client_with_seals_loses_nothing_with_the_store(client: str) -> None:
    """No recording at all: each thought is in its seal, where it stood, and calls have their maker's ids."""
    tally = measured(client, Plan("sends all", "sent", holes=1.0))

    assert (tally.surfaced, tally.foreign_sent) == (0, 0)
    assert tally.refusals == 0
    assert tally.own_delivered == tally.own
