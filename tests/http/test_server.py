"""The server over real sockets: framing, order, backpressure, clients that leave, and its own end."""

import asyncio
import contextlib
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable

import pytest

from clew.http.message import HttpRequest, ServerLimits
from clew.http.responder import Responder
from tests.http.conftest import Site
from tests.waiting import turns, until, until_so

Serving = Callable[..., Site]

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"


def post(body: bytes, *headers: bytes) -> bytes:
    lines = [b"POST /p?q=1 HTTP/1.1", b"Host: x", b"Content-Length: %d" % len(body), *headers, b"", b""]
    return b"\r\n".join(lines) + body


async def stream(request: HttpRequest, respond: Responder) -> None:
    respond.start(200, [("content-type", "text/event-stream")])
    for part in (b"one", b"", b"two"):
        await respond.write(part)
    respond.end()


def test_a_connection_lives_on_from_request_to_request(serving: Serving) -> None:
    peer = serving().peer()
    for n in range(3):
        status, headers, body = peer.send(post(b"%d" % n)).response()
        assert (status, body) == (200, b"POST /p q=1 %d" % n)
        assert headers["content-length"] == str(len(body))
        assert "connection" not in headers
        assert headers["date"].endswith("GMT")


def test_pipelined_requests_are_answered_in_order_even_if_the_first_is_slow(serving: Serving) -> None:
    """C9: order holds although the later answers are ready first."""

    async def slow_first(request: HttpRequest, respond: Responder) -> None:
        if request.path == "/0":
            await turns()
        respond.send(200, [], request.path.encode())

    peer = serving(slow_first).peer()
    peer.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(40)))
    assert [peer.response()[2] for _ in range(40)] == [b"/%d" % n for n in range(40)]


def test_chunked_in_and_chunked_out(serving: Serving) -> None:
    status, headers, body = serving(stream).ask(
        b"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    assert (status, headers["transfer-encoding"], body) == (200, "chunked", b"onetwo")


@pytest.mark.parametrize("handle", [None, stream])
def test_head_gets_the_head_alone_and_the_connection_lives_on(serving: Serving, handle: object) -> None:
    site = serving(handle) if handle else serving()
    peer = site.peer().send(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + GET)
    head = peer.read_until(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert peer.response()[0] == 200


def test_http_1_0_gets_no_chunks_and_an_end_by_close(serving: Serving) -> None:
    got = serving(stream).peer().send(b"GET / HTTP/1.0\r\n\r\n").read_to_end()
    head, _, body = got.partition(b"\r\n\r\n")
    assert body == b"onetwo"
    assert b"connection: close" in head
    assert b"transfer-encoding" not in head


def test_http_1_0_may_keep_alive_when_the_length_is_known(serving: Serving) -> None:
    peer = serving().peer()
    for _ in range(2):
        status, headers, _ = peer.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").response()
        assert (status, headers["connection"]) == (200, "keep-alive")


def test_connection_close_is_honoured(serving: Serving) -> None:
    peer = serving().peer().send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert peer.response()[1]["connection"] == "close"
    assert peer.read_to_end() == b""


def test_no_content_has_no_body_and_no_length(serving: Serving) -> None:
    async def nothing(request: HttpRequest, respond: Responder) -> None:
        respond.send(204, [])

    status, headers, body = serving(nothing).ask(GET)
    assert (status, body) == (204, b"")
    assert "content-length" not in headers


def test_expect_continue_is_answered_before_the_body_comes(serving: Serving) -> None:
    """C9."""
    peer = serving().peer().send(post(b"", b"Expect: 100-continue").replace(b"Length: 0", b"Length: 4"))
    assert peer.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert peer.send(b"body").response()[2] == b"POST /p q=1 body"


def test_no_continue_for_a_body_that_is_there_or_too_large(serving: Serving) -> None:
    """C5: the client is spared the upload."""
    site = serving(limits=ServerLimits(body_bytes=8))
    assert site.ask(post(b"body", b"Expect: 100-continue"))[0] == 200
    assert site.ask(b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")[0] == 413


def test_a_continue_waits_for_the_answer_before_it(serving: Serving) -> None:
    second = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"
    peer = serving().peer().send(GET + second)
    assert peer.response()[2] == b"GET /a  "
    assert peer.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert peer.send(b"x").response()[2] == b"POST /p  x"


def test_a_refusal_comes_after_the_answers_before_it_and_ends_the_connection(serving: Serving) -> None:
    """C8: nothing behind it reaches the handler."""
    peer = serving().peer().send(GET + b"GET / HTTP/1.1\r\nHost : x\r\n\r\n" + GET)
    assert peer.response()[0] == 200
    status, headers, body = peer.response()
    assert (status, headers["connection"], body) == (400, "close", b"Invalid header token\n")
    assert peer.read_to_end() == b""


def test_a_client_that_is_turned_away_in_mid_upload_can_still_read_why(serving: Serving) -> None:
    """A plain close on unread bytes would be a reset, and the 413 be lost."""
    peer = serving(limits=ServerLimits(body_bytes=1000)).peer()
    peer.send(b"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    for _ in range(2000):
        peer.send(chunk)
    status, headers, body = peer.response()
    assert (status, headers["connection"], body) == (413, "close", b"body of more than 1000 bytes\n")


def test_a_handler_that_fails_gives_a_500_and_says_nothing_of_why(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: HttpRequest, respond: Responder) -> None:
        raise RuntimeError("the secret reason")

    with caplog.at_level(logging.ERROR, "clew.http"):
        status, _, body = serving(broken).ask(GET)
    assert (status, body) == (500, b"Internal server error\n")
    assert "the secret reason" in caplog.text


@pytest.mark.parametrize("fails", [True, False])
def test_a_handler_that_stops_in_mid_answer_breaks_the_connection(
    serving: Serving, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    """An answer that is not whole must not look whole."""
    is_read = threading.Event()

    async def half(request: HttpRequest, respond: Responder) -> None:
        respond.start(200, [])
        await respond.write(b"half")
        await until_so(is_read.is_set)
        if fails:
            raise RuntimeError("no more")

    peer = serving(half).peer().send(GET)
    assert peer.read_until(b"half\r\n").endswith(b"4\r\nhalf\r\n")
    is_read.set()
    with pytest.raises(ConnectionResetError):
        peer.read_to_end()


def test_headers_with_line_breaks_are_never_written(serving: Serving, caplog: pytest.LogCaptureFixture) -> None:
    async def splitting(request: HttpRequest, respond: Responder) -> None:
        respond.send(200, [("x", "a\r\nset-cookie: b")])

    peer = serving(splitting).peer().send(GET)
    with pytest.raises(ConnectionResetError):
        peer.read_to_end()
    assert "a header may hold no line break" in caplog.text


# Breaking off on purpose, for the fault injector.


def test_hang_up_ends_without_the_last_chunk(serving: Serving) -> None:
    async def cut(request: HttpRequest, respond: Responder) -> None:
        respond.start(200, [])
        await respond.write(b"abc")
        respond.hang_up()

    got = serving(cut).peer().send(GET).read_to_end()
    assert got.endswith(b"\r\n\r\n3\r\nabc\r\n")


@pytest.mark.parametrize("after_head", [True, False])
def test_abort_is_a_reset(serving: Serving, after_head: bool) -> None:
    async def cut(request: HttpRequest, respond: Responder) -> None:
        if after_head:
            respond.start(200, [])
            await respond.write(b"abc")
        respond.abort()

    with pytest.raises(ConnectionResetError):
        serving(cut).peer().send(GET).read_to_end()


# Clients that leave.


class Watcher:
    """A handler that waits or writes for ever, and notes how it ended."""

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.how = ""

    async def __call__(self, request: HttpRequest, respond: Responder) -> None:
        self.begun.set()
        try:
            await self._go(respond)
        except BaseException as error:
            self.how = type(error).__name__
            raise
        finally:
            self.ended.set()

    async def _go(self, respond: Responder) -> None:
        if self.phase != "wait":
            respond.start(200, [])
            await respond.write(b"first")
        while self.phase == "flood":
            await respond.write(b"x" * 65536)
        await asyncio.Event().wait()


@pytest.mark.parametrize("phase", ["wait", "stream", "flood"])
@pytest.mark.parametrize("reset", [True, False], ids=["rst", "fin"])
def test_a_client_that_leaves_cancels_the_handler_at_once(serving: Serving, phase: str, reset: bool) -> None:
    """Before the first byte, during a silent stream, during a blocked write; by FIN and by RST."""
    watcher = Watcher(phase)
    peer = serving(watcher).peer().send(GET)
    assert watcher.begun.wait(120)
    if phase != "wait":
        peer.read_until(b"first\r\n")
    if reset:
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.socket.close()
    assert watcher.ended.wait(120)
    assert watcher.how in ("CancelledError", "ConnectionResetError")


def test_what_a_client_asked_before_it_left_is_not_begun_after(serving: Serving) -> None:
    """A request that came behind another is not paid for when nobody is there any more."""
    begun: list[str] = []
    gone = threading.Event()

    async def slow_to_end(request: HttpRequest, respond: Responder) -> None:
        begun.append(request.path)
        respond.send(200, [])
        await asyncio.to_thread(gone.wait, 10)

    site = serving(slow_to_end)
    peer = site.peer().send(GET + GET.replace(b"/a", b"/b"))
    assert peer.response()[0] == 200
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.socket.close()
    until(lambda: not site.server.open_connections)
    gone.set()
    until(lambda: not site.server._working)
    assert begun == ["/a"]


@pytest.mark.parametrize("streamed", [True, False])
def test_a_client_that_closes_only_its_half_is_served(serving: Serving, streamed: bool) -> None:
    """Bytes that mean nothing tell whether it is there: once or more, as long as the answer takes."""
    release, probe = threading.Event(), b"0" if streamed else b"HTTP/1.1 100 Continue\r\n\r\n"

    async def patient(request: HttpRequest, respond: Responder) -> None:
        if streamed:
            respond.start(200, [])
            await respond.write(b"begin ")
        await until_so(release.is_set)
        if not streamed:
            respond.start(200, [])
        await respond.write(b"end")
        respond.end()

    peer = serving(patient).peer().send(GET)
    if streamed:
        assert peer.read_until(b"begin \r\n").endswith(b"begin \r\n")
    peer.socket.shutdown(socket.SHUT_WR)
    peer.read_until(probe)
    release.set()
    rest = peer.read_to_end()
    while rest.startswith(probe):
        rest = rest.removeprefix(probe)
    assert rest.startswith(b"3\r\nend" if streamed else b"HTTP/1.1 200 OK\r\n")
    assert rest.endswith(b"3\r\nend\r\n0\r\n\r\n")


@pytest.mark.real_time
def test_a_client_that_does_not_read_holds_the_writer_back(serving: Serving) -> None:
    """C3: memory stays bounded; the handler waits in `write`."""
    written = 0

    async def flood(request: HttpRequest, respond: Responder) -> None:
        nonlocal written
        respond.start(200, [])
        for _ in range(400):
            await respond.write(b"x" * 65536)
            written += 65536
        respond.end()

    site = serving(flood)
    peer = site.peer()
    peer.send(GET)
    before = -1
    while written != before:
        before = written
        time.sleep(0.05)
    assert written < 16 * 1024 * 1024
    assert len(peer.response()[2]) == 65536 * 400


@pytest.mark.parametrize(
    ("limits", "data"),
    [
        pytest.param(ServerLimits(tick_seconds=0.02, head_seconds=0.1), b"GET / HTTP/1.1\r\nHost:", id="slow-head"),
        pytest.param(ServerLimits(tick_seconds=0.02, body_seconds=0.1), post(b"abc")[:-1], id="slow-body"),
        pytest.param(ServerLimits(tick_seconds=0.02, idle_seconds=0.1), b"", id="never-asked"),
        pytest.param(ServerLimits(tick_seconds=0.02, idle_seconds=0.1), GET, id="idle-after-an-answer"),
    ],
)
def test_who_takes_too_long_is_closed(serving: Serving, limits: ServerLimits, data: bytes) -> None:
    site = serving(limits=limits)
    peer = site.peer().send(data)
    with contextlib.suppress(ConnectionResetError):
        peer.read_to_end()
    until(lambda: site.server.open_connections == 0)


def test_a_reader_that_takes_nothing_is_given_up(serving: Serving) -> None:
    watcher = Watcher("flood")
    peer = serving(watcher, limits=ServerLimits(tick_seconds=0.02, write_seconds=0.1)).peer().send(GET)
    assert watcher.ended.wait(120)
    peer.socket.close()


# The server's own end.


def test_closing_lets_a_running_answer_finish_and_drops_idle_connections(serving: Serving) -> None:
    """P1, for the listener."""
    begun = threading.Event()

    async def slow(request: HttpRequest, respond: Responder) -> None:
        if request.path == "/fast":
            respond.send(200, [], b"fast")
            return
        begun.set()
        respond.start(200, [])
        await until_so(lambda: site.server.closing)
        await respond.write(b"whole")
        respond.end()

    site = serving(slow)
    idle = site.peer().send(GET.replace(b"/a", b"/fast"))
    idle.response()
    busy = site.peer().send(GET)
    assert begun.wait(120)
    closer = threading.Thread(target=lambda: site.loop.call(site.server.close(grace=5)))
    closer.start()
    assert idle.read_to_end() == b""
    assert busy.response()[2] == b"whole"
    assert busy.read_to_end() == b""
    closer.join(120)
    assert not closer.is_alive()
    with pytest.raises(ConnectionRefusedError):
        site.peer()


def test_closing_ends_what_outlasts_the_grace(serving: Serving) -> None:
    watcher = Watcher("stream")
    site = serving(watcher)
    site.peer().send(GET).read_until(b"first\r\n")
    site.loop.call(site.server.close(grace=0.05))
    assert watcher.how == "CancelledError"
    assert site.server.open_connections == 0


def test_the_url_names_the_port(serving: Serving) -> None:
    site = serving()
    assert site.server.url == f"http://127.0.0.1:{site.server.port}"
