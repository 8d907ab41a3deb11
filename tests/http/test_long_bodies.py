"""Bodies that come in many reads, over real sockets: with a head that is known and with one that is not."""

import hashlib
import socket
from collections.abc import Callable

import pytest

from clew.http.message import HttpRequest, ServerLimits
from clew.http.responder import Responder
from tests.http.conftest import Site, busy
from tests.waiting import forever, until

pytestmark = pytest.mark.slow
Serving = Callable[..., Site]

BODY = bytes(range(256)) * 8192


def head(size: int, *lines: bytes) -> bytes:
    return b"\r\n".join([b"POST /p HTTP/1.1", b"Host: x", b"Content-Length: %d" % size, *lines, b"", b""])


def told(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


async def tell(request: HttpRequest, respond: Responder) -> None:
    respond.send(200, [], told(request.body))


def test_what_is_behind_a_long_body_is_the_next_request(serving: Serving) -> None:
    """Also when it is in the same read as the body's end; the first time, and with a head that is known."""
    peer = serving(tell).peer()
    for _ in range(3):
        peer.send(head(len(BODY)) + BODY + head(3) + b"ab").send(b"c" + head(0))
        assert [peer.response()[2] for _ in range(3)] == [told(BODY), told(b"abc"), told(b"")]


def test_a_long_body_may_be_asked_for(serving: Serving) -> None:
    peer = serving(tell).peer()
    for _ in range(3):
        peer.send(head(len(BODY), b"Expect: 100-continue"))
        assert peer.response()[0] == 100
        assert peer.send(BODY).response()[2] == told(BODY)


def test_a_body_that_breaks_off_is_no_request(serving: Serving) -> None:
    asked: list[int] = []

    async def count(request: HttpRequest, respond: Responder) -> None:
        asked.append(len(request.body))
        respond.send(200, [])

    site = serving(count)
    for size in (len(BODY), len(BODY) - 1, 1, 0, len(BODY)):
        peer = site.peer().send(head(len(BODY)) + BODY[:size])
        peer.socket.shutdown(socket.SHUT_WR)
        assert bool(peer.read_to_end()) == (size == len(BODY))
    assert asked == [len(BODY), len(BODY)]


@pytest.mark.parametrize("is_known", [False, True])
def test_a_body_that_stops_coming_is_given_up(serving: Serving, is_known: bool) -> None:
    site = serving(tell, limits=ServerLimits(body_seconds=0.2, tick_seconds=0.05))
    peer = site.peer()
    if is_known:
        peer.send(head(2) + b"{}").response()
    assert peer.send(head(1000) + b"a" * 500).response()[0] == 408
    assert peer.read_to_end() == b""


@pytest.mark.parametrize("is_known", [False, True])
def test_a_body_past_the_limit_is_refused_before_it_comes(serving: Serving, is_known: bool) -> None:
    peer = serving(tell, limits=ServerLimits(body_bytes=1000)).peer()
    if is_known:
        assert peer.send(head(1000)).send(b"x" * 1000).response()[2] == told(b"x" * 1000)
    assert peer.send(head(1001)).response()[0] == 413


def test_a_body_that_is_long_only_with_its_last_piece_counts_while_it_is_answered(serving: Serving) -> None:
    """Both pieces are short enough not to be counted, and the body is not."""

    async def never(request: HttpRequest, respond: Responder) -> None:
        await forever()

    site = serving(never)
    peer = site.peer().send(head(70_000) + b"x" * 10_000)
    until(lambda: busy(site.server) == 1)
    peer.send(b"x" * 60_000)
    until(lambda: site.server.held_bytes == 70_000)
