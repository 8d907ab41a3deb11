"""Eight gateways, each a process, on one PostgreSQL and one budget, one of them killed in between: a hard budget is never
exceeded, a soft one is noticed by all, and the sums are what usage says, to the millionth of a dollar."""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from threading import Event

import pytest

from clew.limits.limit import MICRO, Amounts
from clew.limits.usage import UsageQuery, total_line, usage_lines
from clew.store.postgres.store import PostgresStore
from clew.testing import Simulator
from tests.counts import SOAK, examples
from tests.faults.test_shared_store import SharedGateway, config_of
from tests.numbers import note
from tests.postgres import PostgresServer, private_server
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

GATEWAYS = 8 if SOAK else 3
REQUESTS = examples(8, soak=500)
MODEL = "claude-opus-4-5"
MOST_OUTPUT = 100


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_server() as server:
        yield server


@pytest.fixture
def vendor() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def ask(gateway: SharedGateway, key: str, text: str) -> int:
    """The status; 0 if the gateway died meanwhile."""
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
    body = {"model": MODEL, "max_tokens": MOST_OUTPUT, "messages": [{"role": "user", "content": text}]}
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": key}
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("POST", "/v1/messages", json.dumps(body), headers)
        response = connection.getresponse()
        response.read()
        return response.status
    return 0


def spend(server: PostgresServer, vendor: Simulator, amount: str, *options: str) -> tuple[Counter[int], Amounts]:
    """What clients were told, and what all of them used, as the sums say; checked against usage."""
    url = server.create()
    with ExitStack() as stack:
        gateways = [
            stack.enter_context(SharedGateway(config_of(vendor, url), "--no-admin", patient=True)) for _ in range(GATEWAYS)
        ]
        made = gateways[0].clew("keys", "add", "anna", "--team", "web")
        key = made.stdout.strip()
        assert key, made.stderr
        for gateway in gateways:  # on a busy machine one may need longer than the commands wait
            until(lambda gateway=gateway: ask(gateway, key, "Are you there? [[scenario:text]]") == 200)
        until(lambda: gateways[1].clew("limits", "set", "key:anna", amount, *options).returncode == 0)
        began, half = time.time(), Event()

        def work(gateway: SharedGateway) -> Counter[int]:
            told: Counter[int] = Counter()
            for number in range(REQUESTS):
                if number == REQUESTS // 2 and gateway is gateways[-1]:
                    half.set()
                told[ask(gateway, key, f"Question {number} to {gateway.port}? [[scenario:text]]")] += 1
            return told

        with ThreadPoolExecutor(GATEWAYS + 1) as threads:
            killing = threads.submit(lambda: half.wait(2000) and gateways[-1].process.kill())
            told = sum(threads.map(work, gateways), Counter[int]())
            killing.result()
        end = time.time() + 1
    with PostgresStore(url) as store:
        totals = store.limits.totals(began)
        used = Amounts()
        for total in totals.values():
            used = used.plus(total.own).plus(total.others)
        query = UsageQuery(by=("key",), since=began - 60, until=end + 60, only={"key": "anna"})
        line = total_line(usage_lines(query, store.usage.groups(query), {}))
        assert used == Amounts(line.micro_usd or 0, line.usage.prompt + line.usage.output, line.calls)
        if "usd" in amount:  # else nobody worked prices out
            assert (line.is_estimated, line.unpriced) == (False, GATEWAYS), "one of each was asked before there was a limit"
    assert told[200] <= used.requests, "whatever was answered is counted"
    return told, used


def test_a_hard_budget_of_many_gateways_is_never_exceeded(server: PostgresServer, vendor: Simulator) -> None:
    cap = 0.4 if SOAK else 0.01  # room for a few reservations at the same time
    told, used = spend(server, vendor, f"{cap:.6f}usd/1d", "--hard")
    assert 0 < used.micro_usd <= round(cap * MICRO)
    assert told.keys() <= {200, 429, 0}
    note(
        f"a hard budget: {GATEWAYS} gateways x {REQUESTS} requests, millionths used of {round(cap * MICRO)}", used.micro_usd
    )
    note("answered, refused and lost with the gateway that was killed", f"{told[200]}, {told[429]}, {told[0]}")


def test_a_soft_budget_of_many_gateways_ends_for_all_of_them(server: PostgresServer, vendor: Simulator) -> None:
    cap = GATEWAYS * REQUESTS // 2
    told, used = spend(server, vendor, f"{cap}requests/1d")
    assert told.keys() <= {200, 429, 0}
    assert used.requests >= cap or told[429] == 0
    note(f"a soft budget: {GATEWAYS} gateways x {REQUESTS} requests, requests above {cap}", used.requests - cap)
    note("answered, refused and lost with the gateway that was killed", f"{told[200]}, {told[429]}, {told[0]}")
