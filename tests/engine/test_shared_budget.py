"""Several gateways on one budget: a soft one within its bound, a hard one never exceeded, sums exact."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from clew.backends.row import Backend
from clew.engine.usage_limits import UsageLimits, reservation_result
from clew.errors import UsageLimitReached
from clew.exchange.call import Call
from clew.exchange.commands import Reserve
from clew.limits.limit import MICRO, Amounts, read_limit, read_scope
from clew.model.turn import TokenUsage
from clew.store import Store, StoreLocation
from clew.store.kinds import KINDS
from tests.store.contract.opening import located, opened
from tests.store.turns import NOON, recorded, turn

MODEL = "claude-opus-4-5"
BACKEND = Backend(name="claude", url="http://127.0.0.1:1", realm="anthropic", preset="anthropic")
CALL = Call(body=b"", principal="local", key="anna")
MOST_OUTPUT = 400
LOOKS = 5
"""Requests of a gateway between two looks at the store."""


class SmallGateway:
    """One gateway's limits and store, without sockets."""

    def __init__(self, location: StoreLocation, name: int) -> None:
        self.name = name
        self.dies_after = -1
        self.admitted = 0
        self._place = opened(location)
        self.store: Store = self._place.__enter__()
        backends = {"claude": BACKEND}
        self.limits = UsageLimits(self.store, wall=lambda: NOON, clock=lambda: 0.0, backends=lambda: backends)
        self.limits.look()

    def work(self, requests: int) -> None:
        chance = random.Random(self.name)
        for number in range(requests):
            if number % LOOKS == 0:
                self.limits.look()
            id = f"g{self.name}-{number}"
            if not self._is_admitted(id):
                continue
            self.admitted += 1
            if number == self.dies_after:
                return  # its reservation stays behind
            usage = TokenUsage(input=chance.randint(1, 200), output=chance.randint(1, MOST_OUTPUT))
            made = turn(recorded(id), at=NOON, key="anna", model=MODEL, backend="claude", usage=usage)
            exchange = msgspec.structs.replace(made.exchange, id=id)
            self.store.record(self.limits.charge(id, msgspec.structs.replace(made, exchange=exchange))).result(120)

    def _is_admitted(self, id: str) -> bool:
        route: Any = SimpleNamespace(backend=BACKEND, target=SimpleNamespace(model=MODEL, profile=None))
        try:
            reserving = self.limits.begin(id, CALL, Reserve([route], 200, MOST_OUTPUT))
            if reserving is not None:
                reserving.exception(120)
                reservation_result(reserving)
        except UsageLimitReached:
            self.limits.drop(id)
            return False
        return True

    def close(self) -> None:
        self._place.__exit__(None, None, None)


def run_together(location: StoreLocation, *, gateways: int, requests: int, budget: str, hard: bool, kills: bool) -> Amounts:
    """What all of them used, as the sums say; checked against usage."""
    with opened(location) as store:
        store.limits.set(read_limit(read_scope("key:anna"), budget, hard=hard, made=NOON)).result(120)
        together = [SmallGateway(location, name) for name in range(gateways)]
        if kills:
            together[0].dies_after = 3
        with ThreadPoolExecutor(gateways) as threads:
            list(threads.map(lambda each: each.work(requests), together))
        for each in together:
            each.close()
        (total,) = store.limits.totals(NOON).values()
        kept = [each.usage for each in store.exchanges("local", limit=gateways * requests + 1) if each.usage]
        used = total.own.plus(total.others)
        tokens = sum(each.prompt + each.output for each in kept)
        assert used == Amounts(sum(each.micro_usd or 0 for each in kept), tokens, len(kept))
        return used


COUNTS = [pytest.param(3, 20, id="few"), pytest.param(8, 500, id="many", marks=[pytest.mark.soak, pytest.mark.slow])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("gateways", "requests"), COUNTS)
def test_a_hard_budget_is_never_exceeded_and_its_sum_is_exact(
    kind: str, gateways: int, requests: int, tmp_path: Path
) -> None:
    cap = gateways * requests // 4  # in hundredths of a dollar; a request costs about half of one
    used = run_together(
        located(kind, tmp_path), gateways=gateways, requests=requests, budget=f"{cap / 100}usd/1d", hard=True, kills=True
    )
    assert 0 < used.micro_usd <= cap * MICRO // 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("gateways", "requests"), COUNTS)
def test_a_soft_budget_is_exceeded_by_no_more_than_its_bound(
    kind: str, gateways: int, requests: int, tmp_path: Path
) -> None:
    cap = gateways * requests // 4
    used = run_together(
        located(kind, tmp_path), gateways=gateways, requests=requests, budget=f"{cap}requests/1d", hard=False, kills=True
    )
    assert cap <= used.requests <= cap + gateways * LOOKS
