"""A connection that is lent: a plain answer is handed over, and whatever else happens goes on as if nothing had been lent."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, cast

import pytest

from clew.http.client.connection import ClientConnection
from clew.http.client.message import ClientRequest, PeerClosed, PhaseTimedOut, ResponseLimits, Timeouts
from clew.http.client.whole import read_at_once
from clew.http.turn import turn_of

REQUEST = ClientRequest(method=b"POST", target=b"/", headers=((b"host", b"x"),))
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
LIMITS = ResponseLimits()


P = ParamSpec("P")


def looped(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """A test that needs an event loop."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(120):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


class Plug:
    """A transport that keeps what is written; `slow`: it has not sent it yet."""

    def __init__(self, connection: ClientConnection, *, slow: bool = False) -> None:
        self.written = b""
        self.closed = False
        self._connection = connection
        self._slow = slow

    def write(self, data: bytes) -> None:
        self.written += data
        if self._slow:
            self._connection.pause_writing()

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    def get_write_buffer_size(self) -> int:
        return 1

    def set_write_buffer_limits(self, **limits: int) -> None: ...


class Tenant:
    def __init__(self, *, takes: bool = True) -> None:
        self.got: list[bytes] = []
        self.has_news = asyncio.Event()
        self._takes = takes

    def came(self, data: bytes) -> bool:
        whole = read_at_once(data, LIMITS)
        self.got += [] if whole is None else [whole.body]
        return whole is not None and self._takes

    def news(self) -> None:
        self.has_news.set()


def lent(tenant: Tenant, timeouts: Timeouts | None = None, *, slow: bool = False) -> tuple[ClientConnection, Plug]:
    connection = ClientConnection()
    plug = Plug(connection, slow=slow)
    connection.connection_made(cast("asyncio.BaseTransport", plug))
    loop = asyncio.get_running_loop()
    connection.lend(tenant, REQUEST, b"body", (timeouts or Timeouts(), LIMITS), loop.time())
    turn_of(loop).end()
    return connection, plug


@looped
async def test_a_plain_answer_is_handed_over_and_the_connection_is_at_rest() -> None:
    tenant = Tenant()
    connection, plug = lent(tenant)
    assert not connection.reusable
    connection.data_received(PLAIN)
    assert (tenant.got, tenant.has_news.is_set(), connection.rest(), connection.reusable) == ([b"hi"], False, True, True)
    assert plug.written.endswith(b"\r\n\r\nbody")


@looped
async def test_after_it_another_request_may_follow_lent_or_not() -> None:
    tenant = Tenant()
    connection, _ = lent(tenant)
    for _ in range(2):
        connection.data_received(PLAIN)
        connection.begin(REQUEST, Timeouts(), LIMITS)
        connection.data_received(PLAIN)
        assert connection.whole() == b"hi"
        assert connection.rest()
        connection.lend(tenant, REQUEST, b"", (Timeouts(), LIMITS), 0.0)


@pytest.mark.parametrize("cut", range(1, len(PLAIN)))
@looped
async def test_an_answer_in_pieces_is_heard_as_others_are(cut: int) -> None:
    tenant = Tenant()
    connection, _ = lent(tenant)
    connection.data_received(PLAIN[:cut])
    connection.data_received(PLAIN[cut:])
    assert (tenant.got, connection.whole(), connection.rest()) == ([], b"hi", True)
    assert tenant.has_news.is_set()


@looped
async def test_an_answer_that_is_not_taken_is_heard_as_others_are() -> None:
    tenant = Tenant(takes=False)
    connection, _ = lent(tenant)
    connection.data_received(PLAIN)
    assert (tenant.has_news.is_set(), connection.whole(), connection.rest()) == (True, b"hi", True)


@looped
async def test_an_answer_before_all_is_sent_ends_the_connection() -> None:
    """As `begin` has it: the rest of the request would be taken for the next one."""
    tenant = Tenant()
    connection, _ = lent(tenant, slow=True)
    connection.data_received(PLAIN)
    assert (tenant.got, connection.whole(), connection.rest()) == ([], b"hi", False)


@looped
async def test_an_end_before_the_answer_is_a_failure() -> None:
    tenant = Tenant()
    connection, _ = lent(tenant)
    connection.eof_received()
    assert (tenant.has_news.is_set(), connection.has_failed, connection.rest()) == (True, True, False)
    with pytest.raises(PeerClosed):
        await connection.head()


@pytest.mark.parametrize("slow", [True, False])
@looped
async def test_a_time_that_is_over_is_a_failure(slow: bool) -> None:
    tenant = Tenant()
    connection, plug = lent(tenant, Timeouts(first_byte=0.01, send=None), slow=slow)
    if slow:
        connection.resume_writing()
    await tenant.has_news.wait()
    with pytest.raises(PhaseTimedOut):
        await connection.head()
    assert plug.closed


@looped
async def test_who_goes_on_by_itself_is_not_given_the_answer() -> None:
    """Its client has left: the connection is closed, and never given to another with an answer on its way."""
    tenant = Tenant()
    connection, plug = lent(tenant)
    connection.goes_on()
    assert not connection.rest()
    connection.abort()
    connection.data_received(PLAIN)
    assert (tenant.got, plug.closed) == ([], True)


@looped
async def test_nothing_is_due_of_one_that_rests_and_the_next_has_its_time_from_when_it_was_lent() -> None:
    """On the same terms nothing is set anew but the moment."""
    tenant, loop, terms = Tenant(), asyncio.get_running_loop(), (Timeouts(first_byte=0.04), LIMITS)
    connection, plug = lent(tenant)
    for wait in (0.0, 0.06, 0.03):
        connection.data_received(PLAIN)
        assert connection.rest()
        await asyncio.sleep(wait)
        assert not plug.closed
        connection.lend(tenant, REQUEST, b"body", terms, began := loop.time())
    await tenant.has_news.wait()
    assert loop.time() - began >= 0.035
    with pytest.raises(PhaseTimedOut, match="first byte"):
        await connection.head()


@looped
async def test_after_an_answer_in_pieces_the_next_waits_for_its_first_byte_again() -> None:
    """Also on the same terms: its time is not that of a gap."""
    tenant, loop, terms = Tenant(), asyncio.get_running_loop(), (Timeouts(first_byte=0.01, gap=None), LIMITS)
    connection, _ = lent(tenant)
    connection.data_received(PLAIN)
    connection.lend(tenant, REQUEST, b"body", terms, loop.time())
    connection.data_received(PLAIN[:-1])
    connection.data_received(PLAIN[-1:])
    assert (connection.whole(), connection.rest()) == (b"hi", True)
    tenant.has_news.clear()
    connection.lend(tenant, REQUEST, b"body", terms, loop.time())
    await tenant.has_news.wait()
    with pytest.raises(PhaseTimedOut, match="first byte"):
        await connection.head()
