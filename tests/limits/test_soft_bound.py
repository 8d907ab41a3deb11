"""A soft limit of several gateways: how far it can be exceeded, whatever comes in whatever order.

Each gateway is a ledger; what they share is the sums in the store, which each of them reads now and then.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.limits.ledger import CountedWindow, LimitLedger, WindowTotal
from clew.limits.limit import Amounts, LimitScope, read_limit
from tests.counts import examples

NOON = 1_800_000_000.0
GATEWAYS = 3
CAP = 10
LIMIT = read_limit(LimitScope("key", "anna"), f"{CAP}requests/1h")
STEPS = st.lists(st.tuples(st.sampled_from(["ask", "ask", "end", "read"]), st.integers(0, GATEWAYS - 1)), max_size=150)


class Gateways:
    def __init__(self) -> None:
        self.ledgers = [LimitLedger() for _ in range(GATEWAYS)]
        for each in self.ledgers:
            each.set_limits([LIMIT])
        self.running = Counter[int]()
        self.kept: dict[CountedWindow, Counter[int]] = {}
        """What each gateway added to the store."""
        self.admitted_since_read = Counter[int]()

    @property
    def used(self) -> int:
        return sum(sum(each.values()) for each in self.kept.values())

    def ask(self, number: int) -> bool:
        ledger = self.ledgers[number]
        if ledger.overrun([LIMIT], now=0.0, wall=NOON) is not None:
            return False
        ledger.begin([LIMIT], now=0.0)
        self.running[number] += 1
        self.admitted_since_read[number] += 1
        return True

    def end(self, number: int) -> None:
        if self.running[number]:
            self.running[number] -= 1
            self.ledgers[number].end([LIMIT])
            for charge in self.ledgers[number].charge([LIMIT], Amounts(requests=1), NOON):
                counted = CountedWindow(charge.scope, charge.seconds, charge.start)
                self.kept.setdefault(counted, Counter())[number] += charge.requests

    def read(self, number: int) -> None:
        totals = {
            counted: WindowTotal(
                own=Amounts(requests=sums[number]), others=Amounts(requests=sum(sums.values()) - sums[number])
            )
            for counted, sums in self.kept.items()
        }
        self.ledgers[number].learn(totals)
        self.admitted_since_read[number] = 0


@given(STEPS)
@settings(max_examples=examples(200, soak=20_000), deadline=None)
def test_a_soft_limit_is_exceeded_by_what_runs_and_by_what_came_since_the_sums_were_read(
    steps: list[tuple[str, int]],
) -> None:
    """A gateway that has read that the cap is reached lets nothing in; its own requests it knows at once."""
    gateways = Gateways()
    for what, number in steps:
        if what == "end":
            gateways.end(number)
        elif what == "read":
            gateways.read(number)
        elif gateways.ask(number):
            known = gateways.ledgers[number].used(LIMIT, NOON)
            assert known <= CAP, "what it knows of does not exceed the cap"
            unread = sum(gateways.admitted_since_read.values()) + sum(gateways.running.values())
            assert gateways.used + sum(gateways.running.values()) <= CAP + unread
    for number in range(GATEWAYS):
        while gateways.running[number]:
            gateways.end(number)
    for number in range(GATEWAYS):
        gateways.read(number)
        assert gateways.ask(number) == (gateways.used < CAP)
        gateways.end(number)
