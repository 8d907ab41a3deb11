"""How a server ends: who may still ask, who finishes, and who gets a last word."""

import asyncio
import socket
import threading
import time

import pytest

from clew.http.message import HttpRequest
from clew.http.responder import Responder
from tests.http.conftest import Site, busy
from tests.http.test_server import GET, Serving, post
from tests.waiting import forever, turns, until, until_so

pytestmark = pytest.mark.slow

NEVER = 100_000.0
"""Seconds that no test lasts: who waits for them hangs."""


class Talker:
    """A handler that streams until it is cancelled, and then says what it was told."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.after = threading.Event()

    async def __call__(self, request: HttpRequest, respond: Responder) -> None:
        if request.path == "/fast":
            respond.send(200, [], b"fast")
            return
        respond.start(200, [])
        respond.push(b"first")
        self.begun.set()
        try:
            await forever()
        except asyncio.CancelledError:
            respond.push(b"draining" if respond.draining else b"gone")
            respond.end()
            await turns()
            self.after.set()
            raise


def closing(site: Site, grace: float) -> threading.Thread:
    thread = threading.Thread(target=lambda: site.loop.call(site.server.close(grace)))
    thread.start()
    until(lambda: site.server.closing)
    site.loop.call(asyncio.sleep(0))  # it says so first, and gives up its port in the same turn of the loop
    return thread


def test_what_outlasts_the_grace_is_told_so_and_may_end_its_answer(serving: Serving) -> None:
    """P1: the last word arrives whole, and what the handler does after it is not cut short."""
    talker = Talker()
    site = serving(talker)
    peer = site.peer().send(GET)
    assert talker.begun.wait(120)
    began = time.monotonic()
    site.loop.call(site.server.close(grace=0.2))
    assert time.monotonic() - began >= 0.2
    assert peer.response()[2] == b"firstdraining"
    assert peer.read_to_end() == b""
    assert talker.after.is_set()


def test_less_patience_can_be_asked_for_later(serving: Serving) -> None:
    """P2: a second signal cancels the long close and calls a short one."""
    talker = Talker()
    site = serving(talker)
    peer = site.peer().send(GET)
    assert talker.begun.wait(120)

    async def impatient() -> None:
        long = asyncio.ensure_future(site.server.close(grace=NEVER))
        await turns()
        long.cancel()
        await site.server.close(grace=0)

    site.loop.call(impatient())
    assert peer.response()[2] == b"firstdraining"


def test_a_connection_that_was_idle_may_ask_once_more(serving: Serving) -> None:
    """A request that was on its way does not fail; the connection ends with its answer, and no new one is taken."""
    talker = Talker()
    site = serving(talker)
    idle = site.peer().send(GET.replace(b"/a", b"/fast"))
    idle.response()
    talking = site.peer().send(GET)
    assert talker.begun.wait(120)
    thread = closing(site, grace=10)
    status, headers, body = idle.send(GET.replace(b"/a", b"/fast")).response()
    assert (status, headers["connection"], body) == (200, "close", b"fast")
    assert idle.read_to_end() == b""
    with pytest.raises(ConnectionRefusedError):
        site.peer()
    talking.socket.close()
    thread.join(120)


def test_a_request_that_was_coming_in_is_waited_for(serving: Serving) -> None:
    site = serving()
    peer = site.peer().send(post(b"body")[:-1])
    until(lambda: busy(site.server) == 1)
    thread = closing(site, grace=5)
    assert peer.send(b"y").response()[2] == b"POST /p q=1 body"
    thread.join(120)
    assert not thread.is_alive()


def test_a_server_with_nothing_to_answer_ends_at_once(serving: Serving) -> None:
    site = serving()
    idle = site.peer().send(GET)
    idle.response()
    site.loop.call(site.server.close(grace=NEVER))
    assert idle.read_to_end() == b""


def test_a_handler_goes_on_after_its_answer_although_the_client_left(serving: Serving) -> None:
    """What comes after the end is the handler's own: it may have something to write down."""
    done, is_gone = threading.Event(), threading.Event()

    async def diligent(request: HttpRequest, respond: Responder) -> None:
        respond.send(200, [], b"whole")
        await until_so(is_gone.is_set)
        done.set()

    peer = serving(diligent).peer().send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert peer.response()[2] == b"whole"
    peer.socket.close()
    is_gone.set()
    assert done.wait(120)


def test_a_successor_can_take_the_port_while_the_old_one_still_talks(serving: Serving) -> None:
    talker = Talker()
    site = serving(talker)
    talking = site.peer().send(GET)
    assert talker.begun.wait(120)
    thread = closing(site, grace=10)
    with socket.create_server(("127.0.0.1", site.server.port)) as successor:
        assert successor.getsockname()[1] == site.server.port
        assert thread.is_alive()
    talking.socket.close()
    thread.join(120)
