"""Chunks that go on as they came: what the parser would have found, at any cut, and never a byte that it would not have."""

import asyncio
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.client.connection import ClientConnection
from clew.http.client.exchange import ChunkFlow
from clew.http.client.message import ClientRequest, ResponseBroken, ResponseLimits
from clew.model.http import Timeouts
from clew.wire.sse_runs import SIZE_LINES, WHOLE
from tests.counts import examples

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
REQUEST = ClientRequest(method=b"POST", target=b"/", headers=(), body=b"{}")


class Nowhere:
    """A transport that leads nowhere."""

    def write(self, data: bytes) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def set_write_buffer_limits(self, *, high: int, low: int) -> None:
        pass

    def abort(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


def flowed(reads: list[bytes], verdicts: list[bool], limits: ResponseLimits | None = None) -> tuple[bytes, int, bool]:
    """The body as it went on, how many chunks of it went as they came, and whether that was all."""
    out: list[bytes] = []
    alone: list[bytes] = []

    class Chunks:
        eager = None
        withholds = False

        def pass_chunk(self, data: bytes, size: int) -> bytes:
            line = SIZE_LINES[size]
            if not verdicts[len(out) % len(verdicts)] or not (data.startswith(line) and data.endswith(WHOLE)):
                return b""
            out.append(data[len(line) : -2])
            return data

        def put(self, data: bytes) -> bool:
            alone.append(data)
            return True

        def falls_behind(self) -> None: ...

    async def scene() -> bool:
        connection = ClientConnection()
        connection.connection_made(cast("asyncio.Transport", Nowhere()))
        connection.begin(REQUEST, Timeouts(), limits or ResponseLimits())
        connection.pour(out.append, ChunkFlow(Chunks(), Chunks(), Chunks()))
        for data in reads:
            connection.data_received(data)
        if connection.error is not None:
            await connection.relay(out.append)  # raises what it was
        return connection.is_over

    is_over = asyncio.run(scene())
    return b"".join(out), len(alone), is_over


BODIES = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from(
        [b"data: x\n\n", b"\n\n", b"x\n\n\r\n", b"5\r\nab\n\n\r\n", b"0\r\n\r\n", b"\r\n", b"a" * 300 + b"\n\n"]
    ),
)


@settings(max_examples=examples(72, soak=6000), deadline=None)
@given(
    bodies=st.lists(BODIES, min_size=1, max_size=8),
    cuts=st.lists(st.integers(0, 400), max_size=12),
    verdicts=st.lists(st.booleans(), min_size=1, max_size=4),
    by_chunk=st.booleans(),
)
def test_the_body_is_the_same_at_every_cut(
    bodies: list[bytes], cuts: list[int], verdicts: list[bool], by_chunk: bool
) -> None:
    chunks = [HEAD, *map(chunk, bodies), b"0\r\n\r\n"]
    whole = b"".join(chunks)
    ends = [0, *sorted({cut % len(whole) for cut in cuts}), len(whole)]
    reads = chunks if by_chunk else [whole[start:end] for start, end in pairwise(ends) if start < end]
    body, _, is_over = flowed(reads, verdicts)
    assert (body, is_over) == (b"".join(bodies), True)


def test_events_that_come_one_by_one_go_as_they_came() -> None:
    """All but the first, which the parser sees: only then it is known where the next one begins."""
    events = [b"data: %d\n\n" % number for number in range(10)]
    assert flowed([HEAD, *map(chunk, events), b"0\r\n\r\n"], [True]) == (b"".join(events), 9, True)


def test_a_chunk_that_tells_another_size_than_it_has_is_the_parsers() -> None:
    reads = [HEAD, chunk(b"data: 1\n\n"), b"b\r\ndata: 2\n\n\r\n", b"\r\n0\r\n\r\n"]
    assert flowed(reads, [True]) == (b"data: 1\n\ndata: 2\n\n\r\n", 0, True)


def test_what_goes_as_it_came_counts_too() -> None:
    events = [chunk(b"data: %03d\n\n" % number) for number in range(20)]
    with pytest.raises(ResponseBroken, match="a body of more than 100 bytes"):
        flowed([HEAD, *events], [True], ResponseLimits(body_bytes=100))


def test_a_body_that_looks_like_chunks_is_a_body() -> None:
    """Cut where its own words seem to end a chunk, and a read begins that seems to be one."""
    looks = [b"a\n\n\r\n", chunk(b"data: 2\n\n"), b"b\n\n"]
    body = b"".join(looks)
    begun = b"%x\r\n" % len(body) + looks[0]
    assert flowed([HEAD, begun, looks[1], looks[2] + b"\r\n0\r\n\r\n"], [True]) == (body, 0, True)


class Client:
    """Who gets the chunks, and may fall behind."""

    withholds = False

    def __init__(self, *, behind: bool = False) -> None:
        self.eager = None if behind else cast("asyncio.Transport", self)
        self.got: list[bytes] = []
        self.waits = 0
        self.write = self.got.append

    def pass_chunk(self, data: bytes, size: int) -> bytes:
        if b"broken" in data:
            raise ValueError("broken")
        return data if data.startswith(SIZE_LINES[size]) else b""

    def put(self, data: bytes) -> bool:
        self.got.append(data)
        return False

    def falls_behind(self) -> None:
        self.waits += 1


EVENTS = [b"data: %d\n\n" % number for number in range(4)]


async def begun(client: Client, gap: float | None = None) -> ClientConnection:
    connection = ClientConnection()
    connection.connection_made(cast("asyncio.Transport", Nowhere()))
    connection.begin(REQUEST, Timeouts(gap=gap), ResponseLimits())
    connection.data_received(HEAD + chunk(b"data: first\n\n"))
    connection.pour(lambda _: None, ChunkFlow(client, client, client))
    return connection


def test_what_goes_as_it_came_goes_out_with_its_turn() -> None:
    async def scene() -> tuple[list[bytes], list[bytes]]:
        client = Client()
        connection = await begun(client)
        for event in EVENTS:
            connection.data_received(chunk(event))
        before = [*client.got]
        await asyncio.sleep(0)
        return before, client.got

    assert asyncio.run(scene()) == ([], [*map(chunk, EVENTS)])


def test_a_client_that_is_behind_gets_it_too_and_is_waited_for() -> None:
    async def scene() -> tuple[list[bytes], int]:
        client = Client(behind=True)
        connection = await begun(client)
        connection.data_received(chunk(EVENTS[0]))
        return client.got, client.waits

    assert asyncio.run(scene()) == ([chunk(EVENTS[0])], 1)


class Ahead(asyncio.SelectorEventLoop):
    """Its clock runs ahead when it is told to."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    async def hasten(self, seconds: float) -> None:
        self.ahead += seconds
        for _ in range(3):
            await asyncio.sleep(0)


def test_what_goes_as_it_came_ends_a_silence_too() -> None:
    """The gap between two reads counts from the last of them, whichever way it went."""

    async def scene() -> list[bool]:
        loop = cast("Ahead", asyncio.get_running_loop())
        connection, failed = await begun(Client(), gap=100.0), list[bool]()
        for event in (EVENTS[0], EVENTS[1], b"", b""):
            await loop.hasten(60.0)
            failed.append(connection.error is not None)
            if event:
                connection.data_received(chunk(event))
                assert connection.heard_at == connection.shown_at == pytest.approx(loop.time(), abs=30.0)
        return failed

    with asyncio.Runner(loop_factory=Ahead) as runner:
        assert runner.run(scene()) == [False, False, False, True]


def test_what_anyone_who_looks_at_it_raises_ends_the_exchange() -> None:
    async def scene() -> tuple[str, bool]:
        connection = await begun(Client())
        connection.data_received(chunk(b"data: broken\n\n"))
        connection.data_received(chunk(EVENTS[0]))
        return str(connection.sink_error), connection.error is not None

    assert asyncio.run(scene()) == ("broken", True)


def test_nothing_goes_on_after_the_end() -> None:
    async def scene() -> list[bytes]:
        client = Client()
        connection = await begun(client)
        connection.data_received(chunk(EVENTS[0]))
        connection.abort()
        connection.data_received(chunk(EVENTS[1]))
        await asyncio.sleep(0)
        return client.got

    assert asyncio.run(scene()) == [chunk(EVENTS[0])]
