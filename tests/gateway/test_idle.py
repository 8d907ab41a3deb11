"""A gateway that nobody asks: it hardly wakes, with its admin and all, for it may run on a battery for days."""

import time
from pathlib import Path

import pytest

from tests.gateway.served import Served, backend
from tests.waiting import until

pytestmark = pytest.mark.slow

MOST_WAKES = 4.0
"""In a second, of all threads together. Two and a half are the polls at what may have changed."""


def wakes(pid: int) -> int:
    """How often any thread of the process went to sleep since its beginning."""
    lines = [line for task in Path(f"/proc/{pid}/task").iterdir() for line in (task / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def wakes_a_second(pid: int, seconds: float = 1.0) -> float:
    before, began = wakes(pid), time.monotonic()
    time.sleep(seconds)
    return (wakes(pid) - before) / (time.monotonic() - began)


@pytest.mark.parametrize("store", ["", '[store]\nurl = "off"\n'], ids=["with a store", "without"])
@pytest.mark.real_time
def test_a_gateway_that_nobody_asks_hardly_wakes(store: str) -> None:
    """What it still loads at its beginning, and whom it answered, is over soon."""
    config = f'active = "a"\n[gateway]\nadmin_port = 0\n{store}' + backend("a", "http://127.0.0.1:9")
    with Served(config) as gateway:
        peer = gateway.peer()
        assert gateway.get("/readyz", peer)[0] == 200
        peer.socket.close()
        until(lambda: wakes_a_second(gateway.process.pid) <= MOST_WAKES)
