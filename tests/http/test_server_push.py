"""Writing without waiting: what `push` says of the client, and what `drained` waits for."""

import asyncio
import contextlib
import socket
import struct
import threading

import pytest

from clew.http.message import HttpRequest
from clew.http.responder import Responder
from tests.http.test_server import GET, Serving
from tests.waiting import forever

pytestmark = pytest.mark.slow

MEGABYTE = b"x" * 1024 * 1024


def test_what_is_pushed_goes_out_as_one_chunk_each(serving: Serving) -> None:
    said: list[bool] = []

    async def push(request: HttpRequest, respond: Responder) -> None:
        respond.start(200, [])
        said.extend([respond.push(b"one"), respond.push(b""), respond.push(b"two")])
        await respond.drained()
        respond.end()

    peer = serving(push).peer().send(GET)
    peer.read_until(b"\r\n\r\n")
    assert peer.read_until(b"0\r\n\r\n") == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
    assert said == [True, True, True]


def test_what_is_written_in_one_piece_goes_out_together_and_in_order(serving: Serving) -> None:
    async def push(request: HttpRequest, respond: Responder) -> None:
        with respond.in_one_piece():
            respond.start(200, [])
            respond.push(b"one")
            respond.push(b"x" * 20_000)
            respond.end()

    peer = serving(push).peer().send(GET + GET)
    assert [peer.response()[2] for _ in range(2)] == [b"one" + b"x" * 20_000] * 2


def test_what_is_written_in_one_piece_before_the_connection_closes_arrives(serving: Serving) -> None:
    async def push(request: HttpRequest, respond: Responder) -> None:
        with respond.in_one_piece():
            respond.start(200, [])
            respond.push(b"last")
            respond.end()

    peer = serving(push).peer().send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert peer.read_to_end().endswith(b"4\r\nlast\r\n0\r\n\r\n")


def test_a_head_request_gets_nothing_of_what_is_pushed(serving: Serving) -> None:
    async def push(request: HttpRequest, respond: Responder) -> None:
        respond.start(200, [])
        assert respond.push(b"body")
        respond.end()

    peer = serving(push).peer().send(GET.replace(b"GET", b"HEAD").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert peer.read_to_end().endswith(b"\r\n\r\n")


def test_a_client_that_is_behind_is_waited_for(serving: Serving) -> None:
    """`push` says so as soon as the socket takes no more; `drained` returns when it does again."""
    behind = threading.Event()
    pushed: list[int] = []

    async def flood(request: HttpRequest, respond: Responder) -> None:
        respond.start(200, [])
        for count in range(400):
            if not respond.push(MEGABYTE):
                pushed.append(count)
                break
            await asyncio.sleep(0)
        behind.set()
        await respond.drained()
        assert respond.push(b"end")
        respond.end()

    peer = serving(flood).peer().send(GET)
    assert behind.wait(120)
    assert pushed[0] < 100, "a socket's buffers are not that large"
    body = peer.response()[2]
    assert body.endswith(b"xend")


def test_a_client_that_is_gone_is_never_said_to_keep_up(serving: Serving) -> None:
    """A caller that goes on pushing would read its source to the end for nobody."""
    after: list[bool | str] = []
    done = threading.Event()

    async def stubborn(request: HttpRequest, respond: Responder) -> None:
        respond.start(200, [])
        with contextlib.suppress(asyncio.CancelledError):
            await forever()
        after.append(respond.push(b"more"))
        try:
            await respond.drained()
        except ConnectionError as error:
            after.append(str(error))
        done.set()

    peer = serving(stubborn).peer().send(GET)
    peer.read_until(b"\r\n\r\n")
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.socket.close()
    assert done.wait(120)
    assert after == [False, "the client is gone"]
