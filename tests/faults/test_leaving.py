"""Clients that leave: whatever the gateway does for one of them ends within a second, in every phase and on every route."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.testing import Simulator
from tests.clock import Clock
from tests.engine.gate import Gate, claude
from tests.faults.conftest import Calling, Gating
from tests.faults.scene import SOON, Client, impatient, kept, outcomes, question
from tests.manifest import proves
from tests.upstream.test_dial import full_listener
from tests.waiting import until

pytestmark = pytest.mark.slow

COUNTING = {name: value for name, value in question().items() if name not in ("stream", "max_tokens")}
WHOLE = question(stream=False)
ROUTES = {"/v1/messages": question(), "/v1/messages/count_tokens": COUNTING}
LEAVING = pytest.mark.parametrize("reset", [False, True], ids=["fin", "rst"])


def is_left(clock: Clock, simulator: Simulator) -> None:
    """The backend knows that its client is gone, and knew it in time."""
    clock.pass_time(SOON)
    assert {entry["ended"] for entry in simulator.journal()} == {"client left"}


def no_task_is_left(gate: Gate) -> None:
    until(lambda: gate.tasks() == 0)


@proves("fault:C1")
@LEAVING
@pytest.mark.parametrize(
    ("path", "body", "fault", "until_seen"),
    [
        pytest.param("/v1/messages", question(), "slow-start 60", b"", id="waiting"),
        pytest.param("/v1/messages", question(), "stall 60", b"", id="after-the-head"),
        pytest.param("/v1/messages", question(), "pings every=0.1", b"", id="among-pings"),
        pytest.param("/v1/messages", question(), "stall 60 content=3", b"content_block_delta", id="streaming"),
        pytest.param("/v1/messages", question(), "flood 0 shape=events", b"content_block_delta", id="in-a-rush"),
        pytest.param("/v1/messages", WHOLE, "slow-start 60", b"", id="one-piece-waiting"),
        pytest.param("/v1/messages", WHOLE, "stall 60 at=20", b"", id="one-piece-coming"),
        pytest.param("/v1/messages/count_tokens", COUNTING, "slow-start 60", b"", id="count-waiting"),
        pytest.param("/v1/messages/count_tokens", COUNTING, "stall 60 at=3", b"", id="count-coming"),
    ],
)
def test_a_client_that_leaves_takes_its_backend_with_it(
    clock: Clock,
    gating: Gating,
    a: Simulator,
    calling: Calling,
    path: str,
    body: Any,
    fault: str,
    until_seen: bytes,
    reset: bool,
) -> None:
    """C1, 3.4: the journal says when the backend lost its reader; no task stays behind."""
    gate = gating(claude(a), **impatient())
    a.fault(fault, path=path)
    client: Client = calling(gate).asks(body, path=path)
    until(a.journal)
    client.read_until(until_seen)
    client.leaves(reset=reset)
    is_left(clock, a)
    no_task_is_left(gate)
    if path == "/v1/messages":
        [exchange] = kept(gate)
        assert exchange.outcome == "cut"
        assert exchange.usage is None or exchange.usage.estimated


@proves("fault:C1", "fault:C3")
@LEAVING
def test_a_client_that_leaves_without_having_read(
    clock: Clock, gating: Gating, a: Simulator, calling: Calling, reset: bool
) -> None:
    """C1, in a blocked write."""
    gate = gating(claude(a), **impatient())
    a.fault("flood 0 shape=events")
    client = calling(gate, small=True).asks()
    until(a.journal)
    clock.pass_time(0.1)  # all loops are idle then, because both sides are full
    assert a.journal()[0]["ended"] == "no"
    client.leaves(reset=reset)
    is_left(clock, a)
    no_task_is_left(gate)
    assert outcomes(gate) == ["cut"]


@pytest.fixture
def hole() -> Iterator[int]:
    """The port of a black hole."""
    listener, fillers = full_listener()
    yield listener.getsockname()[1]
    for plug in (listener, *fillers):
        plug.close()


def connecting_to(port: int) -> int:
    """How many connections to this port wait for an answer."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(1 for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "02")


@proves("fault:C1")
@LEAVING
@pytest.mark.parametrize("path", ROUTES)
def test_a_client_that_leaves_while_we_connect(
    clock: Clock, gating: Gating, calling: Calling, hole: int, path: str, reset: bool
) -> None:
    """C1: the connection that nobody waits for any more is called off, long before the limit for connecting."""
    dead = Backend(name="dead", url=f"http://127.0.0.1:{hole}", realm="anthropic", auth="key", keys=(Secret("k"),))
    gate = gating(dead, **impatient())
    before = connecting_to(hole)
    client = calling(gate).asks(ROUTES[path], path=path)
    until(lambda: connecting_to(hole) == before + 1)
    client.leaves(reset=reset)
    clock.pass_time(SOON)
    until(lambda: connecting_to(hole) == before)  # the kernel's table may show it late
    no_task_is_left(gate)


@proves("fault:C1")
@LEAVING
def test_a_client_that_leaves_while_we_wait_to_try_again(
    clock: Clock, gating: Gating, a: Simulator, calling: Calling, reset: bool
) -> None:
    """C1: nobody is asked again for somebody who is gone."""
    gate = gating(claude(a), **impatient())
    a.fault("status 429 retry-after=5")
    client = calling(gate).asks()
    until(a.journal)
    client.leaves(reset=reset)
    clock.pass_time(SOON)
    no_task_is_left(gate)
    assert (len(a.journal()), outcomes(gate)) == (1, ["cut"])


@proves("fault:C1")
def test_what_was_large_and_cut_is_told_like_everything_else(gating: Gating, a: Simulator, calling: Calling) -> None:
    """A request that is worked on in a thread is in the store, and told to anyone who watches."""
    gate = gating(claude(a), **impatient())

    async def watched() -> list[Any]:
        async with gate.hub.subscribe() as events:
            async with asyncio.timeout(120):
                async for event in events:
                    if event.kind == "exchange" and event.value.outcome != "open":
                        return [event.value.outcome]
        return []

    a.fault("stall 60 content=3")
    with ThreadPoolExecutor(1) as aside:
        watching = aside.submit(gate.call, watched())
        client = calling(gate).asks(question("x" * 300_000))
        client.read_until(b"content_block_delta")
        client.leaves()
        assert watching.result(120) == ["cut"]
    assert outcomes(gate) == ["cut"]


@proves("fault:C1")
def test_twenty_at_once(clock: Clock, gating: Gating, a: Simulator, calling: Calling) -> None:
    """C1: a crowd leaves as fast as one does."""
    gate = gating(claude(a), **impatient())
    a.fault("stall 60 content=3", times=None)
    clients = [calling(gate).asks(question(f"{n}")) for n in range(20)]
    for client in clients:
        client.read_until(b"content_block_delta")
    for client in clients:
        client.leaves()
    is_left(clock, a)
    no_task_is_left(gate)
    assert outcomes(gate, 20) == ["cut"] * 20


def test_a_client_that_leaves_while_its_backend_is_asked_is_no_error_of_ours(
    gating: Gating, a: Simulator, calling: Calling, caplog: pytest.LogCaptureFixture
) -> None:
    gate = gating(claude(a))
    a.fault("slow-start 60")
    client = calling(gate).asks()
    until(a.journal)
    client.leaves(reset=True)
    assert outcomes(gate) == ["cut"]
    no_task_is_left(gate)
    assert [record.getMessage() for record in caplog.records if record.name == "clew.http"] == []
