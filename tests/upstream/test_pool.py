"""The pool over real sockets: what is kept, what is dropped, when it asks twice, and that leaving always closes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from clew.errors import BackendBroken, BackendTimedOut, BackendUnreachable
from clew.http.client.message import ClientRequest, ResponseLimits
from clew.model.http import Timeouts
from clew.upstream.endpoint import Endpoint
from clew.upstream.pool import Pool, PoolSettings
from tests.upstream.peers import Call, Play, Script, Site, called_off, get, post, saying, site
from tests.waiting import turns

pytestmark = pytest.mark.slow

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@contextlib.asynccontextmanager
async def pool(**settings: Any) -> AsyncIterator[Pool]:
    made = Pool(PoolSettings(**settings))
    try:
        yield made
    finally:
        made.close()
        await turns()


async def fetch(way: Pool, endpoint: Endpoint, request: ClientRequest | None = None, **options: Any) -> tuple[int, bytes]:
    async with way.ask(endpoint, request or post(), **options) as reply:
        return reply.status, await reply.read()


def test_a_connection_is_used_again(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(OK)) as place, pool() as way:
            for _ in range(5):
                assert await fetch(way, place.endpoint) == (200, b"hello")
            assert (place.calls, way.resting(place.endpoint)) == (1, 1)

    play(scene())


def test_an_answer_that_was_not_read_to_its_end_closes(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(CHUNKED + b"2\r\nhe\r\n")) as place, pool() as way:
            async with way.ask(place.endpoint, post()) as reply:
                assert await reply.chunk() == b"he"
            await place.until(ended=1)
            assert way.resting(place.endpoint) == 0

    play(scene())


@pytest.mark.parametrize("answer", [OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), OK + OK, OK + b"x"])
def test_a_connection_that_cannot_be_trusted_is_not_kept(play: Play[Any], answer: bytes) -> None:
    """A server that closes, or that says more than it was asked for."""

    async def scene() -> None:
        async with site(saying(answer)) as place, pool() as way:
            assert await fetch(way, place.endpoint) == (200, b"hello")
            assert await fetch(way, place.endpoint) == (200, b"hello")
            assert place.calls == 2

    play(scene())


def test_the_answer_to_a_head_is_not_kept(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")) as place, pool() as way:
            assert await fetch(way, place.endpoint, get(b"HEAD")) == (200, b"")
            assert way.resting(place.endpoint) == 0

    play(scene())


def test_a_connection_that_the_backend_closed_is_never_used(play: Play[Any]) -> None:
    """U19."""

    async def scene() -> None:
        async with site(saying(OK, close=True)) as place, pool() as way:
            for n in range(3):
                assert await fetch(way, place.endpoint) == (200, b"hello")
                await place.until(ended=n + 1)
                await turns()
            assert place.calls == 3

    play(scene())


def dying(*first: bytes, pause: float = 0.0) -> tuple[Script, list[bytes]]:
    """The first connection answers once, takes a second request, says `first`, and closes. The others are well."""
    heard: list[bytes] = []
    calls = 0

    async def script(call: Call) -> None:
        nonlocal calls
        calls += 1
        sick = calls == 1
        heard.append(await call.request())
        await call.say(OK)
        heard.append(await call.request())
        if sick:
            await asyncio.sleep(pause)
            await call.say(*first)
            return
        await call.say(OK)

    return script, heard


def test_a_request_that_crosses_the_backends_close_goes_out_once_more(play: Play[Any]) -> None:
    """U19: no byte of an answer came."""
    script, heard = dying()

    async def scene() -> None:
        async with site(script) as place, pool() as way:
            assert await fetch(way, place.endpoint) == (200, b"hello")
            assert await fetch(way, place.endpoint, post(b"second")) == (200, b"hello")
            assert (place.calls, [one[-6:] for one in heard[1:]]) == (2, [b"second", b"second"])

    play(scene())


@pytest.mark.parametrize(("first", "pause"), [([b"H"], 0.0), ([], 1.2)], ids=["a byte came", "it died later"])
@pytest.mark.real_time
def test_a_request_that_a_backend_may_have_begun_is_not_sent_again(
    play: Play[Any], first: list[bytes], pause: float
) -> None:
    """U19: one transparent retry only if nothing came; and what dies late died of the request."""
    script, heard = dying(*first, pause=pause)

    async def scene() -> None:
        async with site(script) as place, pool() as way:
            await fetch(way, place.endpoint)
            with pytest.raises(BackendBroken):
                await fetch(way, place.endpoint)
            assert (place.calls, len(heard)) == (1, 2)

    play(scene())


def test_a_fresh_connection_that_dies_is_not_tried_again(play: Play[Any]) -> None:
    async def script(call: Call) -> None:
        await call.request()

    async def scene() -> None:
        async with site(script) as place, pool() as way:
            with pytest.raises(BackendBroken, match="without an answer"):
                await fetch(way, place.endpoint)
            assert place.calls == 1

    play(scene())


def test_idle_connections_are_closed_after_their_time(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(OK)) as place, pool(idle_seconds=0.1) as way:
            await fetch(way, place.endpoint)
            assert way.resting(place.endpoint) == 1
            await place.until(ended=1)
            assert way.resting(place.endpoint) == 0

    play(scene())


def test_there_are_no_more_connections_than_allowed(play: Play[Any]) -> None:
    open_now = most = 0

    async def script(call: Call) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                await call.request()
                await turns()
                await call.say(OK)
        open_now -= 1

    async def scene() -> None:
        async with site(script) as place, pool(connections=3) as way:
            assert await asyncio.gather(*(fetch(way, place.endpoint) for _ in range(20))) == [(200, b"hello")] * 20
            assert most == 3

    play(scene())


def test_waiting_for_a_free_connection_has_a_limit_and_leaves_no_trace(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(CHUNKED)) as place, pool(connections=1) as way:
            async with way.ask(place.endpoint, post()):
                with pytest.raises(BackendTimedOut) as caught:
                    await fetch(way, place.endpoint, timeouts=Timeouts(slot=0.05))
                assert caught.value.phase == "slot"
            async with way.ask(place.endpoint, post()) as reply:
                assert reply.status == 200

    play(scene())


async def silent(call: Call) -> None:
    await call.gone()


async def deaf(call: Call) -> None:
    """Takes a little of the request, and then looks only whether the client is there."""
    await call.reader.read(10)
    while not call.reader.at_eof() and call.reader.exception() is None:
        await asyncio.sleep(0.02)
        await call.reader.read(10_000_000)


async def streaming(call: Call) -> None:
    await call.request()
    await call.say(CHUNKED)
    for _ in range(200):
        await call.say(b"1\r\nx\r\n")
        await asyncio.sleep(0.02)


async def quiet_body(call: Call) -> None:
    await call.request()
    await call.say(CHUNKED + b"2\r\nhe\r\n")
    await call.gone()


async def whole(call: Call) -> None:
    await call.request()
    await call.say(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhe")
    await call.gone()


@pytest.mark.parametrize(
    ("script", "body"),
    [(silent, b"{}"), (deaf, b"x" * 30_000_000), (streaming, b"{}"), (quiet_body, b"{}"), (whole, b"{}")],
    ids=["waiting", "sending", "streaming", "stalled", "not streamed"],
)
@pytest.mark.real_time
def test_cancelling_closes_the_backends_socket_soon(play: Play[Any], script: Script, body: bytes) -> None:
    """3.4, in every phase after the connect."""

    async def scene() -> None:
        async with site(script) as place, pool() as way:
            task = asyncio.create_task(fetch(way, place.endpoint, post(body)))
            await place.until(calls=1)
            await asyncio.sleep(0.1)
            await called_off(task)
            await place.until(ended=1)

    play(scene())


def test_closing_the_pool_ends_what_runs(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(quiet_body) as place, pool() as way:
            task = asyncio.create_task(fetch(way, place.endpoint))
            await place.until(calls=1)
            await turns()
            way.close()
            with pytest.raises(BackendUnreachable):
                await task
            with pytest.raises(BackendUnreachable, match="shutting down"):
                await fetch(way, place.endpoint)
            await place.until(ended=1)

    play(scene())


@pytest.mark.real_time
def test_a_total_covers_all_phases_together(play: Play[Any]) -> None:
    async def scene() -> float:
        async with site(streaming) as place, pool() as way:
            began = asyncio.get_running_loop().time()
            with pytest.raises(BackendTimedOut) as caught:
                await fetch(way, place.endpoint, timeouts=Timeouts(total=0.2))
            assert caught.value.phase == "total"
            return asyncio.get_running_loop().time() - began

    assert 0.19 <= play(scene()) < 3.5, "the stream itself lasts four seconds"


def test_errors_are_ours_and_name_the_backend(play: Play[Any]) -> None:
    """U1."""

    async def scene() -> None:
        async with site(saying(OK)) as place:
            closed = place.endpoint
        async with pool() as way:
            for endpoint in (closed, Endpoint("no-such-host.invalid", 80, False), Endpoint("a..b", 80, False)):
                with pytest.raises(BackendUnreachable) as caught:
                    await fetch(way, endpoint)
                assert str(caught.value).startswith(f"{endpoint}: ")
                assert caught.value.status == 502

    play(scene())


@pytest.mark.parametrize(
    ("answer", "limits"),
    [
        (b"garbage\r\n\r\n", ResponseLimits()),
        (b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000, ResponseLimits()),
        (OK, ResponseLimits(body_bytes=4)),
        (OK[:-1], ResponseLimits()),
    ],
)
def test_a_broken_answer_is_told_as_such(play: Play[Any], answer: bytes, limits: ResponseLimits) -> None:
    async def scene() -> None:
        async with site(saying(answer, close=True)) as place, pool() as way:
            with pytest.raises(BackendBroken):
                await fetch(way, place.endpoint, limits=limits)

    play(scene())


def test_reading_whole_has_the_limit_that_was_asked_for(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(OK)) as place, pool() as way:
            async with way.ask(place.endpoint, post()) as reply:
                assert await reply.read(5) == b"hello"
            async with way.ask(place.endpoint, post()) as reply:
                with pytest.raises(BackendBroken):
                    await reply.read(4)

    play(scene())


def test_the_users_own_trouble_passes_and_closes(play: Play[Any]) -> None:
    async def blow(way: Pool, place: Site) -> None:
        async with way.ask(place.endpoint, post()):
            raise OSError("disk full")

    async def scene() -> None:
        async with site(quiet_body) as place, pool() as way:
            with pytest.raises(OSError, match="disk full"):
                await blow(way, place)
            await place.until(ended=1)

    play(scene())


def test_what_was_begun_at_once_is_gone_on_with(play: Play[Any]) -> None:
    """Only on a connection that is there: without one nothing happens, and the block sends it."""

    async def scene() -> None:
        async with site(saying(OK)) as place, pool() as way:
            first = way.ask(place.endpoint, post())
            assert first.begin() is None
            async with first as reply:
                assert await reply.read() == b"hello"
            second = way.ask(place.endpoint, post())
            assert second.begin() is not None
            assert way.resting(place.endpoint) == 0
            async with second as reply:
                assert await reply.read() == b"hello"
            assert (place.calls, way.resting(place.endpoint)) == (1, 1)

    play(scene())


def test_what_was_begun_at_once_can_be_ended_without_a_word(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(OK)) as place, pool(connections=1) as way:
            assert await fetch(way, place.endpoint) == (200, b"hello")
            asking = way.ask(place.endpoint, post())
            assert asking.begin() is not None
            asking.end()
            await place.until(ended=1)
            assert await fetch(way, place.endpoint) == (200, b"hello")

    play(scene())


def test_a_closed_pool_begins_nothing(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(OK)) as place, pool() as way:
            assert await fetch(way, place.endpoint) == (200, b"hello")
            asking = way.ask(place.endpoint, post())
            way.close()
            assert asking.begin() is None
            with pytest.raises(BackendUnreachable):
                await fetch(way, place.endpoint)

    play(scene())
