"""The way out against the simulator's faults, with its journal as the witness; and with it, the retry policy end to end."""

import asyncio
import json
from typing import Any

import pytest

from clew.errors import BackendBroken, BackendError, BackendOverloaded, BackendTimedOut
from clew.http.client.message import ClientRequest
from clew.model.http import Timeouts
from clew.pipeline.attempts import AttemptOutcome, Candidate, CoolDowns, RetryPolicy, Verdict, attempts
from clew.pipeline.retry_hints import retry_after_of, should_retry_of
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from clew.upstream.endpoint import Endpoint, endpoint_of
from clew.upstream.pool import Pool
from tests.counts import examples
from tests.ports import own_port
from tests.upstream.peers import Play, called_off
from tests.upstream.test_pool import fetch, pool
from tests.waiting import until_so

pytestmark = pytest.mark.slow

QUESTION = {"model": "claude-opus-4-6", "max_tokens": 1000, "messages": [{"role": "user", "content": "hi"}], "stream": True}
HEADERS = (
    (b"host", b"127.0.0.1"),
    (b"x-api-key", b"sim-test-key"),
    (b"anthropic-version", b"2023-06-01"),
    (b"content-type", b"application/json"),
)


def question(fault: str = "", **fields: Any) -> ClientRequest:
    spoiled = ((b"x-sim-fault", fault.encode()),) if fault else ()
    body = json.dumps({**QUESTION, **fields}).encode()
    return ClientRequest(method=b"POST", target=b"/v1/messages", headers=(*HEADERS, *spoiled), body=body)


async def body_before_failure(way: Pool, endpoint: Endpoint, request: ClientRequest, got: list[bytes]) -> None:
    async with way.ask(endpoint, request) as reply:
        async for part in reply.chunks():
            got.append(part)


def test_a_stream_comes_whole_and_the_connection_serves_the_next(play: Play[Any], simulator: Simulator) -> None:
    async def scene() -> list[tuple[int, bytes]]:
        async with pool() as way:
            endpoint = endpoint_of(simulator.url)
            answers = [await fetch(way, endpoint, question()) for _ in range(3)]
            assert way.resting(endpoint) == 1
            return answers

    assert [(status, body.endswith(b'{"type":"message_stop"}\n\n')) for status, body in play(scene())] == [(200, True)] * 3
    assert [entry["ended"] for entry in simulator.journal()] == ["whole"] * 3


@pytest.mark.parametrize("fault", ["drip 1", "stall 0.1 after=3", "slow-start 0.1", "hang-up"])
def test_what_changes_only_the_pace_changes_no_byte(play: Play[Any], simulators: StartSimulator, fault: str) -> None:
    """U13; U19 for the answer after which the backend hangs up."""

    async def scene(spoiled: str) -> list[tuple[int, bytes]]:
        simulator = simulators(seed=3)
        async with pool() as way:
            endpoint = endpoint_of(simulator.url)
            return [await fetch(way, endpoint, question(spoiled)) for _ in range(2)]

    well = [body for _, body in play(scene(""))]
    assert [body for _, body in play(scene(fault))] == well


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_cut_at_any_byte_is_a_failure_after_exactly_what_came(
    play: Play[Any], simulators: StartSimulator, how: str
) -> None:
    """U11: what comes is a prefix of the whole; with a FIN, all of what was sent."""

    async def scene() -> None:
        whole_size = len((await whole())[1])
        simulator = simulators(seed=5)
        endpoint = endpoint_of(simulator.url)
        step = max(1, whole_size // examples(25, soak=whole_size))
        async with pool() as way:
            for at in range(0, whole_size, step):
                got: list[bytes] = []
                with pytest.raises(BackendBroken):
                    await body_before_failure(way, endpoint, question(f"cut at={at} how={how}"), got)
                size = len(b"".join(got))
                assert size == at if how == "fin" else size <= at
            assert way.resting(endpoint) == 0

    async def whole() -> tuple[int, bytes]:
        async with pool() as way:
            return await fetch(way, endpoint_of(simulators(seed=5).url), question())

    play(scene())


@pytest.mark.parametrize("fault", ["no-answer fin", "no-answer rst"])
def test_no_answer_at_all_is_asked_for_once(play: Play[Any], simulator: Simulator, fault: str) -> None:
    async def scene() -> None:
        async with pool() as way:
            with pytest.raises(BackendBroken):
                await fetch(way, endpoint_of(simulator.url), question(fault))

    play(scene())
    assert len(simulator.journal()) == 1


@pytest.mark.parametrize(
    ("fault", "timeouts", "phase"),
    [
        ("slow-start 5", Timeouts(first_byte=0.2), "first byte"),
        ("stall 5 after=3", Timeouts(gap=0.2), "gap"),
        ("stall 5 after=3", Timeouts(total=0.3), "total"),
    ],
)
def test_silence_ends_at_its_limit_and_the_backend_notices(
    play: Play[Any], simulator: Simulator, fault: str, timeouts: Timeouts, phase: str
) -> None:
    """U8, U10."""

    async def scene() -> str:
        async with pool() as way:
            with pytest.raises(BackendTimedOut) as caught:
                await fetch(way, endpoint_of(simulator.url), question(fault), timeouts=timeouts)
            await left(simulator)
            return caught.value.phase

    assert play(scene()) == phase


async def left(simulator: Simulator) -> None:
    """Until the journal says that the client is gone."""
    await until_so(lambda: simulator.journal()[-1]["ended"] == "client left")


@pytest.mark.parametrize("fault", ["slow-start 20", "stall 20 after=0", "stall 20 after=4"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_is_gone_stops_the_backend_soon(
    play: Play[Any], simulator: Simulator, fault: str, stream: bool
) -> None:
    """3.4: waiting, before the first event, in the stream; streamed or not."""

    async def scene() -> None:
        async with pool() as way:
            task = asyncio.create_task(fetch(way, endpoint_of(simulator.url), question(fault, stream=stream)))
            await until_so(simulator.journal)
            await called_off(task)
            await left(simulator)

    play(scene())


# The policy, driven for real: what an engine will do, without its other duties.


async def exchange(way: Pool, targets: dict[Candidate, Endpoint], request: ClientRequest) -> tuple[Verdict, bytes]:
    now = asyncio.get_running_loop().time
    flow = attempts(list(targets), RetryPolicy(first_wait=0.01), CoolDowns(), jitter=lambda: 0.5, now=now())
    attempt = next(flow)
    body = b""
    while True:
        assert attempt.wait < 1
        outcome, body = await tried(way, targets[attempt.target], request)
        try:
            attempt = flow.send(outcome)
        except StopIteration as stop:
            return stop.value, body


async def tried(way: Pool, endpoint: Endpoint, request: ClientRequest) -> tuple[AttemptOutcome, bytes]:
    now = asyncio.get_running_loop().time
    try:
        async with way.ask(endpoint, request, timeouts=Timeouts(first_byte=1.0)) as reply:
            body = await reply.read(1_000_000)
            hints = {"retry_after": retry_after_of(reply.headers, wall=0.0), "should_retry": should_retry_of(reply.headers)}
            return AttemptOutcome(now=now(), status=reply.status, body=body, **hints), body
    except BackendError as error:
        return AttemptOutcome(now=now(), error=error), b""


FIRST, SECOND = Candidate("first", "k"), Candidate("second", "k")


@pytest.mark.parametrize(
    ("fault", "times", "asked"),
    [
        ("status 529", 2, (3, 0)),
        ("status 503 retry-after=0", 1, (2, 0)),
        ("status 500", 3, (3, 1)),
        ("status 529 should-retry=false", 1, (1, 1)),
        ("status 429 retry-after=9", 1, (1, 1)),
        ("status 401", 1, (1, 1)),
        ("no-answer rst", 1, (2, 0)),
        ("cut at=50", 3, (3, 1)),
        ("slow-start 2", 1, (2, 0)),
    ],
)
def test_the_client_gets_one_clean_answer(
    play: Play[Any], simulators: StartSimulator, fault: str, times: int, asked: tuple[int, int]
) -> None:
    """U3, U4, U6: the journals count who was asked how often."""
    first, second = simulators(), simulators()
    first.fault(fault, times=times)

    async def scene() -> tuple[Verdict, bytes]:
        async with pool() as way:
            return await exchange(
                way, {FIRST: endpoint_of(first.url), SECOND: endpoint_of(second.url)}, question(stream=False)
            )

    verdict, body = play(scene())
    assert verdict.failure is None
    assert json.loads(body)["type"] == "message"
    assert (len(first.journal()), len(second.journal())) == asked


def test_a_dead_backend_is_passed_over(play: Play[Any], simulators: StartSimulator) -> None:
    """U1."""
    dead = endpoint_of(f"http://127.0.0.1:{own_port()}")
    alive = simulators()

    async def scene() -> Verdict:
        async with pool() as way:
            return (await exchange(way, {FIRST: dead, SECOND: endpoint_of(alive.url)}, question(stream=False)))[0]

    verdict = play(scene())
    assert (verdict.target, verdict.failure, verdict.attempts) == (SECOND, None, 4)


def test_a_refusal_is_asked_for_once_and_reported_in_the_backends_words(play: Play[Any], simulators: StartSimulator) -> None:
    """U5."""
    first, second = simulators(), simulators()

    async def scene() -> Verdict:
        async with pool() as way:
            targets = {FIRST: endpoint_of(first.url), SECOND: endpoint_of(second.url)}
            return (await exchange(way, targets, question(messages=[], stream=False)))[0]

    failure = play(scene()).failure
    assert failure is not None
    assert failure.status == 400
    assert (len(first.journal()), len(second.journal())) == (1, 0)


def test_giving_up_says_how_long_the_backend_asked_to_wait(play: Play[Any], simulator: Simulator) -> None:
    """U3."""
    simulator.fault("status 429 retry-after=99")

    async def scene() -> Verdict:
        async with pool() as way:
            return (await exchange(way, {FIRST: endpoint_of(simulator.url)}, question(stream=False)))[0]

    failure = play(scene()).failure
    assert isinstance(failure, BackendOverloaded)
    assert (failure.status, failure.retry_after) == (429, 99.0)
