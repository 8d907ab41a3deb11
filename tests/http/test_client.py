"""The client's connection over real sockets: bodies, backpressure, time limits, and ends in every phase."""

import asyncio
import contextlib
import itertools
from typing import Any
from unittest.mock import Mock

import pytest

from clew.http.client.connection import ClientConnection
from clew.http.client.exchange import SLICE_BYTES
from clew.http.client.message import ClientRequest, PeerClosed, PhaseTimedOut, ResponseBroken, ResponseLimits
from clew.model.http import Timeouts
from tests.upstream import peers
from tests.upstream.peers import SOON, Call, Play, Script, Site, connected, get, post, saying, site
from tests.waiting import forever, turns

play = peers.play
pytestmark = pytest.mark.slow

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
QUICK = Timeouts(send=0.1, first_byte=0.1, gap=0.1)


async def ask(
    connection: ClientConnection,
    request: ClientRequest,
    timeouts: Timeouts | None = None,
    limits: ResponseLimits | None = None,
) -> tuple[int, bytes]:
    connection.begin(request, timeouts or Timeouts(), limits or ResponseLimits())
    head = await connection.head()
    parts: list[bytes] = []
    while part := await connection.chunk():
        parts.append(part)
    return head.status, b"".join(parts)


async def drain(connection: ClientConnection, got: list[bytes]) -> None:
    await connection.head()
    while part := await connection.chunk():
        got.append(part)


def once(script: Script, request: ClientRequest, **options: Any) -> Any:
    """One exchange with a scripted server."""

    async def scene() -> tuple[int, bytes]:
        async with site(script) as place:
            connection = await connected(place)
            try:
                return await ask(connection, request, **options)
            finally:
                connection.abort()

    return scene()


async def silent(call: Call) -> None:
    await call.request()
    await call.gone()


@pytest.mark.parametrize(
    "answer",
    [
        [OK],
        [CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"],
        [bytes([byte]) for byte in CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\n", OK],
    ],
    ids=["length", "chunked", "byte by byte", "after an interim one"],
)
def test_an_answer_is_read_whole_and_the_connection_lives_on(play: Play[Any], answer: list[bytes]) -> None:
    """U13."""

    async def scene() -> None:
        async with site(saying(*answer)) as place:
            connection = await connected(place)
            for _ in range(3):
                assert await ask(connection, post()) == (200, b"hello")
                assert connection.reusable
                connection.rest()
            assert place.calls == 1
            connection.abort()

    play(scene())


def test_the_request_arrives_byte_for_byte(play: Play[Any]) -> None:
    got: list[bytes] = []

    async def script(call: Call) -> None:
        got.append(await call.request())
        await call.say(OK)

    request = post(b'{"a":"\xc3\xa4"}', (b"X-Odd", b"\xff  a"))
    play(once(script, request))
    assert got == [b"".join(request.parts)]


def test_a_body_may_end_with_the_connection(play: Play[Any]) -> None:
    assert play(once(saying(b"HTTP/1.1 200 OK\r\n\r\nhe", b"llo", close=True), post())) == (200, b"hello")


@pytest.mark.real_time
def test_a_reset_is_never_the_end_of_a_body(play: Play[Any]) -> None:
    """U11: only a FIN ends a body without a length."""

    async def script(call: Call) -> None:
        await call.request()
        await call.say(b"HTTP/1.1 200 OK\r\n\r\nhello")
        await asyncio.sleep(0.05)
        call.reset()

    with pytest.raises(PeerClosed):
        play(once(script, post()))


def test_the_answer_to_a_head_has_no_body(play: Play[Any]) -> None:
    assert play(once(saying(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"), get(b"HEAD"))) == (200, b"")


def test_a_redirect_is_an_answer_like_any_other(play: Play[Any]) -> None:
    """U17."""
    moved = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
    assert play(once(saying(moved), post())) == (302, b"")


@pytest.mark.parametrize("cut", [0, 10, 37, 38, 39, 42])
@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.real_time
def test_a_cut_at_any_byte_is_told_after_what_came(play: Play[Any], cut: int, how: str) -> None:
    """U11."""

    async def script(call: Call) -> None:
        await call.request()
        await call.say(OK[:cut])
        await asyncio.sleep(0.05 if how == "rst" else 0)
        if how == "rst":
            call.reset()

    async def scene() -> bytes:
        got: list[bytes] = []
        async with site(script) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(), ResponseLimits())
            with pytest.raises(PeerClosed) as caught:
                await drain(connection, got)
            assert caught.value.began == (cut > 0)
            assert not connection.reusable
            connection.abort()
        return b"".join(got)

    head = OK.index(b"hello")
    assert play(scene()) == OK[head : max(cut, head)]


def test_garbage_is_refused_and_the_connection_closed(play: Play[Any]) -> None:
    async def script(call: Call) -> None:
        await call.request()
        await call.say(b"SSH-2.0-OpenSSH_9.2\r\n")
        await asyncio.wait_for(call.gone(), 5 * SOON)

    with pytest.raises(ResponseBroken):
        play(once(script, post()))


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000, b"HTTP/1.1 200 OK\r\n" + b"x: 1\r\n" * 300 + b"\r\n"]
)
def test_a_huge_head_is_refused(play: Play[Any], answer: bytes) -> None:
    with pytest.raises(ResponseBroken):
        play(once(saying(answer), post()))


def test_a_body_has_the_limit_that_was_asked_for(play: Play[Any]) -> None:
    assert play(once(saying(OK), post(), limits=ResponseLimits(body_bytes=5))) == (200, b"hello")
    with pytest.raises(ResponseBroken):
        play(once(saying(OK), post(), limits=ResponseLimits(body_bytes=4)))


async def drops(call: Call) -> None:
    await call.reader.readuntil(b"\r\n\r\n")
    await call.say(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
    await call.gone()


def test_an_answer_that_comes_while_we_send_is_heard_at_once(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(drops) as place:
            connection = await connected(place)
            assert await ask(connection, post(b"x" * 30_000_000)) == (413, b"no")
            connection.abort()

    play(scene())


def test_a_connection_with_an_unsent_rest_is_not_used_again(play: Play[Any]) -> None:
    async def stops(call: Call) -> None:
        await call.reader.readuntil(b"\r\n\r\n")
        await call.say(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        await forever()

    async def scene() -> None:
        async with site(stops) as place:
            connection = await connected(place)
            assert await ask(connection, post(b"x" * 30_000_000)) == (413, b"no")
            assert not connection.reusable
            connection.abort()

    play(scene())


async def never_reads(call: Call) -> None:
    await forever()


async def stalls(call: Call) -> None:
    await call.request()
    await call.say(CHUNKED + b"5\r\nhello\r\n")
    await call.gone()


@pytest.mark.parametrize(
    ("script", "request_", "timeouts", "phase"),
    [
        (never_reads, post(b"x" * 30_000_000), QUICK, "send"),
        (silent, post(), Timeouts(first_byte=0.1), "first byte"),
        (stalls, post(), Timeouts(gap=0.1), "gap"),
        (stalls, post(), Timeouts(total=0.1), "total"),
        (silent, post(), Timeouts(total=0.1), "total"),
    ],
)
def test_each_phase_has_its_limit(
    play: Play[Any], script: Script, request_: ClientRequest, timeouts: Timeouts, phase: str
) -> None:
    """U8, U10."""

    async def scene() -> float:
        async with site(script) as place:
            connection = await connected(place)
            began = asyncio.get_running_loop().time()
            with pytest.raises(PhaseTimedOut) as caught:
                await ask(connection, request_, timeouts)
            assert caught.value.phase == phase
            return asyncio.get_running_loop().time() - began

    assert 0.09 <= play(scene()) < 5, "the shortest of the other limits is thirty"


@pytest.mark.real_time
def test_interim_answers_do_not_reset_the_clock_of_the_first_byte(play: Play[Any]) -> None:
    async def script(call: Call) -> None:
        await call.request()
        for _ in range(100):
            await call.say(b"HTTP/1.1 100 Continue\r\n\r\n")
            await asyncio.sleep(0.02)

    with pytest.raises(PhaseTimedOut, match="first byte"):
        play(once(script, post(), timeouts=QUICK))


@pytest.mark.real_time
def test_a_stream_that_goes_on_outlives_its_gap(play: Play[Any]) -> None:
    async def script(call: Call) -> None:
        await call.request()
        await call.say(CHUNKED)
        for _ in range(6):
            await asyncio.sleep(0.25)
            await call.say(b"1\r\nx\r\n")
        await call.say(b"0\r\n\r\n")

    assert play(once(script, post(), timeouts=Timeouts(gap=1.2))) == (200, b"x" * 6)


@pytest.mark.real_time
def test_a_slow_sender_that_moves_outlives_its_limit(play: Play[Any]) -> None:
    async def script(call: Call) -> None:
        left = 20_000_000
        while left > 0:
            left -= len(await call.reader.read(400_000))
            await asyncio.sleep(0.025)
        await call.say(OK)

    assert play(once(script, post(b"x" * 20_000_000), timeouts=Timeouts(send=1.0))) == (200, b"hello")


@pytest.mark.real_time
def test_a_slow_reader_stops_the_sender_and_memory_stays_bounded(play: Play[Any]) -> None:
    """Backpressure; and the gap clock stands still while we do not read."""
    sent = 0

    async def script(call: Call) -> None:
        nonlocal sent
        await call.request()
        await call.say(CHUNKED)
        for _ in range(1000):
            await call.say(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536
        await call.say(b"0\r\n\r\n")

    async def scene() -> int:
        async with site(script) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(gap=1.0), ResponseLimits())
            await connection.head()
            await asyncio.sleep(1.2)
            early = sent
            first = size = len(await connection.chunk())
            assert first < 1_000_000
            while part := await connection.chunk():
                size += len(part)
            assert size == sent == 1000 * 65536
            connection.abort()
            return early

    assert play(scene()) < 16_000_000, "the kernel's buffers, and no more"


@pytest.mark.real_time
def test_a_relay_hands_on_each_piece_and_can_be_held(play: Play[Any]) -> None:
    is_held = asyncio.Event()

    async def script(call: Call) -> None:
        await call.request()
        await call.say(CHUNKED + b"2\r\nhe\r\n")
        await is_held.wait()
        await call.say(b"3\r\nllo\r\n")
        await call.say(b"0\r\n\r\n")
        await call.gone()

    async def scene() -> None:
        async with site(script) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(gap=0.2), ResponseLimits())
            await connection.head()
            got: list[bytes] = []
            relay = asyncio.create_task(connection.relay(got.append))
            await asyncio.sleep(0)
            connection.pause()
            is_held.set()
            await asyncio.sleep(0.4)
            held = b"".join(got)
            connection.resume()
            await relay
            assert (held, b"".join(got)) == (b"he", b"hello")
            assert connection.reusable
            connection.abort()

    play(scene())


def test_a_relay_calls_once_for_a_read_with_many_chunks(play: Play[Any]) -> None:
    """The fast path: one write for one read."""
    has_head = asyncio.Event()

    async def script(call: Call) -> None:
        await call.request()
        await call.say(CHUNKED)
        await has_head.wait()
        await call.say(b"1\r\nx\r\n" * 50 + b"0\r\n\r\n")

    async def scene() -> list[bytes]:
        async with site(script) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(), ResponseLimits())
            await connection.head()
            has_head.set()
            got: list[bytes] = []
            await connection.relay(got.append)
            connection.abort()
            return got

    assert play(scene()) == [b"x" * 50]


def test_what_a_sink_raises_ends_its_relay_and_closes(play: Play[Any]) -> None:
    def sink(data: bytes) -> None:
        raise LookupError("full")

    async def scene() -> None:
        async with site(stalls) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(), ResponseLimits())
            await connection.head()
            with pytest.raises(LookupError):
                await connection.relay(sink)
            assert isinstance(connection.sink_error, LookupError)
            await place.until(ended=1)

    play(scene())


def test_a_relay_is_told_of_a_cut(play: Play[Any]) -> None:
    async def script(call: Call) -> None:
        await call.request()
        await call.say(CHUNKED + b"2\r\nhe\r\n")

    async def scene() -> None:
        async with site(script) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(), ResponseLimits())
            await connection.head()
            got: list[bytes] = []
            with pytest.raises(PeerClosed):
                await connection.relay(got.append)
            assert got == [b"he"]

    play(scene())


def test_bytes_that_nobody_asked_for_end_a_resting_connection(play: Play[Any]) -> None:
    is_resting = asyncio.Event()

    async def script(call: Call) -> None:
        await call.request()
        await call.say(OK)
        await is_resting.wait()
        await call.say(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")
        await asyncio.wait_for(call.gone(), 5 * SOON)

    async def scene() -> None:
        async with site(script) as place:
            connection = await connected(place)
            await ask(connection, post())
            connection.rest()
            assert connection.fresh
            is_resting.set()
            await place.until(ended=1)
            assert not connection.reusable

    play(scene())


def test_a_connection_is_stale_before_the_loop_has_seen_it(play: Play[Any]) -> None:
    """U19: the server's FIN is in the kernel, and no callback has run yet."""

    async def scene() -> None:
        listener = await asyncio.to_thread(_listener)
        connection = await connected_to(listener.getsockname()[1])
        server, _ = listener.accept()
        assert connection.fresh
        server.close()
        assert (connection.reusable, connection.fresh) == (True, False)
        connection.abort()
        listener.close()

    play(scene())


def _listener() -> Any:
    import socket

    return socket.create_server(("127.0.0.1", 0))


async def connected_to(port: int) -> ClientConnection:
    place = Site()
    place.port = port
    return await connected(place)


@pytest.mark.parametrize(
    ("script", "request_"),
    [(stalls, post()), (silent, post()), (drops, post(b"x" * 30_000_000))],
    ids=["in the body", "before the head", "after an early answer"],
)
def test_giving_up_closes_at_once(play: Play[Any], script: Script, request_: ClientRequest) -> None:
    async def scene() -> None:
        async with site(script) as place:
            connection = await connected(place)
            task = asyncio.create_task(ask(connection, request_))
            await place.until(calls=1)
            await turns()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            connection.abort()
            await place.until(ended=1)

    play(scene())


def test_a_request_on_a_connection_that_is_gone_fails_without_a_byte(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(saying(OK, close=True)) as place:
            connection = await connected(place)
            await ask(connection, post())
            await turns()
            connection.abort()
            with pytest.raises(AssertionError):
                connection.begin(post(), Timeouts(), ResponseLimits())
            other = ClientConnection()
            other.begin(post(), Timeouts(), ResponseLimits())
            other.abort()  # too late: the first trouble is what is told
            with pytest.raises(PeerClosed) as caught:
                await other.head()
            assert not caught.value.began

    play(scene())


def test_who_cannot_wait_is_called_and_may_leave_the_rest_to_who_can(play: Play[Any]) -> None:
    """What it does not take is there for the other, in order with what comes after it."""
    seen: list[tuple[int | None, bool]] = []

    async def scene() -> None:
        async with site(saying(CHUNKED + b"2\r\nhe\r\n", b"3\r\nllo\r\n0\r\n\r\n")) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(), ResponseLimits())
            there = asyncio.Event()

            def news() -> None:
                seen.append((connection.heard.status if connection.heard else None, connection.is_over))
                there.set()

            connection.listener = Mock(news=news)
            await asyncio.wait_for(there.wait(), 5 * SOON)
            connection.listener = None
            got: list[bytes] = []
            await drain(connection, got)
            assert b"".join(got) == b"hello"
            assert connection.reusable
            connection.abort()

    play(scene())
    assert seen[0][0] == 200


def test_a_long_read_is_taken_in_by_slices_and_others_have_a_turn_between_two(play: Play[Any]) -> None:
    said = b"%x\r\n%b\r\n" % (1_000_000, b"x" * 1_000_000)

    async def script(call: Call) -> None:
        await call.request()
        await call.say(CHUNKED)
        await call.say(said + b"0\r\n\r\n")
        await call.gone()

    async def scene() -> tuple[list[int], list[int], bool]:
        async with site(script) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(), ResponseLimits())
            await connection.head()
            loop = asyncio.get_running_loop()
            turns, sizes, at = 0, list[int](), list[int]()

            def turn() -> None:
                nonlocal turns
                turns += 1
                loop.call_soon(turn)

            def sink(data: bytes) -> None:
                sizes.append(len(data))
                at.append(turns)

            turn()
            await connection.relay(sink)
            is_reusable = connection.reusable
            connection.abort()
            return sizes, at, is_reusable

    sizes, at, is_reusable = play(scene())
    assert (sum(sizes), is_reusable) == (1_000_000, True)
    assert max(sizes[1:]) <= SLICE_BYTES  # the first is what came before anybody wanted it
    assert all(before < after for before, after in itertools.pairwise(at[1:]))


def test_a_relay_that_is_held_between_two_slices_goes_on_when_it_is_let_go(play: Play[Any]) -> None:
    async def script(call: Call) -> None:
        await call.request()
        await call.say(CHUNKED)
        for _ in range(4):
            await call.say(b"%x\r\n%b\r\n" % (200_000, b"x" * 200_000))
        await call.say(b"0\r\n\r\n")
        await call.gone()

    async def scene() -> int:
        async with site(script) as place:
            connection = await connected(place)
            connection.begin(post(), Timeouts(), ResponseLimits())
            await connection.head()
            loop, got = asyncio.get_running_loop(), list[bytes]()

            is_held = False

            def sink(data: bytes) -> None:
                nonlocal is_held
                assert not is_held
                got.append(data)
                is_held = True
                connection.pause()
                loop.call_later(0.001, let_go)

            def let_go() -> None:
                nonlocal is_held
                is_held = False
                connection.resume()

            await connection.relay(sink)
            connection.abort()
            return sum(map(len, got))

    assert play(scene()) == 800_000
