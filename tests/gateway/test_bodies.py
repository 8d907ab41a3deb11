"""Bodies on their way: who may send one, how much all of them may hold, and how long one may take."""

import asyncio
from pathlib import Path

import pytest

from clew.http.message import ServerLimits
from clew.http.server import Server
from tests.gateway.conftest import KEY, KEYED, Gateway, Making, said, settings_with
from tests.gateway.served import Served, backend
from tests.http.conftest import Peer, busy
from tests.waiting import until

MEGABYTE = 1024 * 1024
LONG = 32 * MEGABYTE


def head(gateway: Gateway | Served, *lines: bytes, key: str | None = KEY, path: bytes = b"/v1/messages") -> bytes:
    first = [b"POST " + path + b" HTTP/1.1", b"content-type: application/json"]
    keyed = [b"x-api-key: " + key.encode()] if key else []
    host = [] if any(line.startswith(b"host") for line in lines) else [b"host: 127.0.0.1:%d" % gateway.port]
    return b"\r\n".join([*first, *host, *keyed, *lines, b"", b""])


REFUSED: dict[str, tuple[tuple[bytes, ...], str | None, bytes, int]] = {
    "no key": ((), None, b"/v1/messages", 401),
    "a wrong key": ((), "wrong", b"/v1/messages", 401),
    "another host": ((b"host: evil.test",), KEY, b"/v1/messages", 421),
    "a foreign page": ((b"origin: http://evil.test",), KEY, b"/v1/messages", 403),
    "an unknown path": ((), KEY, b"/v1/nothing", 404),
    "a method that is not for it": ((), KEY, b"/healthz", 405),
    "a compressed body": ((b"content-encoding: gzip",), KEY, b"/v1/messages", 415),
}


@pytest.mark.parametrize("framing", [b"content-length: %d" % LONG, b"transfer-encoding: chunked"], ids=["length", "chunked"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_request_is_refused_before_its_body_comes(making: Making, name: str, framing: bytes) -> None:
    """The client has sent nothing but the head, and waits."""
    gateway = making(settings_with(KEYED))
    lines, key, path, status = REFUSED[name]
    peer = gateway.peer().send(head(gateway, *lines, framing, key=key, path=path))
    answer = peer.response()
    assert said(answer)[0] == status
    assert answer[1]["connection"] == "close"


@pytest.mark.parametrize("is_known", [False, True], ids=["a new head", "a known head"])
def test_a_refused_client_gets_the_answer_instead_of_a_continue(making: Making, is_known: bool) -> None:
    gateway = making(settings_with(KEYED))
    if is_known:
        assert gateway.raw(head(gateway, b"content-length: 2", key=None) + b"{}")[0] == 401
    expecting = head(gateway, b"content-length: 2", b"expect: 100-continue", key=None)
    assert said(gateway.raw(expecting)) == (401, "authentication_error")


def test_a_head_that_was_let_in_before_is_checked_again_before_its_next_body(making: Making) -> None:
    """What is known of a head is how it reads, not that its key still opens anything."""
    gateway = making(settings_with(KEYED))
    long = head(gateway, b"content-length: %d" % LONG)
    assert gateway.raw(head(gateway, b"content-length: 2") + b"{}")[0] == 200
    gateway.plane._keys = _NoKeys()
    assert said(gateway.raw(long))[0] == 401


class _NoKeys:
    is_current = True

    def version(self) -> int:
        return -1

    def holder_of(self, presented: str) -> None:
        return None


def test_a_refused_client_that_goes_on_sending_can_read_why(making: Making) -> None:
    gateway = making(settings_with(KEYED))
    peer = gateway.peer().send(head(gateway, b"content-length: %d" % LONG, key=None))
    for _ in range(LONG // MEGABYTE):
        peer.send(b"x" * MEGABYTE)
    assert said(peer.response()) == (401, "authentication_error")
    assert peer.read_to_end() == b""
    assert gateway.server.held_bytes == 0


def test_a_refusal_waits_for_the_answers_before_it(making: Making) -> None:
    gateway = making(settings_with(KEYED))
    peer = gateway.peer().send(
        gateway.request("POST", "/v1/messages", x_api_key=KEY) + head(gateway, b"content-length: 9", key=None)
    )
    assert peer.response()[0] == 200
    assert said(peer.response())[0] == 401


@pytest.mark.slow
def test_sixty_connections_without_a_key_cost_no_memory() -> None:
    """Each sends 32 MB less ten bytes, and waits."""
    with Served(backend("a", "http://127.0.0.1:9")) as gateway:
        piece = b"x" * MEGABYTE
        before = _resident(gateway.process.pid)
        peers = [gateway.peer().send(head(gateway, b"content-length: %d" % LONG, key=None)) for _ in range(60)]
        for peer in peers:
            _send_all_but_ten(peer, piece)
        assert _resident(gateway.process.pid) - before < 40 * MEGABYTE
        assert {peer.response()[0] for peer in peers} == {401}


def _send_all_but_ten(peer: Peer, piece: bytes) -> None:
    """As much as is taken: a client that was refused may find the connection closed before it has sent everything."""
    try:
        for _ in range(LONG // MEGABYTE - 1):
            peer.send(piece)
        peer.send(piece[:-10])
    except (BrokenPipeError, ConnectionResetError):
        pass


def _resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


# How long.


class Clock:
    """The server's time, moved by the test."""

    def __init__(self, server: Server) -> None:
        self._now = server.now()
        server.now = lambda: self._now

    def move(self, seconds: float) -> None:
        self._now += seconds


def timed(making: Making, **limits: float) -> tuple[Gateway, Clock]:
    gateway = making(settings_with(KEYED), limits=ServerLimits(tick_seconds=0.01, **limits))
    return gateway, Clock(gateway.server)


@pytest.mark.parametrize("framing", [b"content-length: %d" % LONG, b"transfer-encoding: chunked"], ids=["length", "chunked"])
@pytest.mark.parametrize("is_known", [False, True], ids=["a new head", "a known head"])
def test_silence_inside_a_body_has_a_limit_however_much_came_before(making: Making, framing: bytes, is_known: bool) -> None:
    gateway, clock = timed(making, body_seconds=30)
    peer = gateway.peer()
    if is_known:
        assert peer.send(head(gateway, b"content-length: 2") + b"{}").response()[0] == 200
    begun = b"x" * (4 * MEGABYTE)
    peer.send(head(gateway, framing) + (b"%x\r\n%b\r\n" % (len(begun), begun) if b"chunked" in framing else begun))
    until(lambda: gateway.server.held_bytes == len(begun))
    clock.move(29)
    ticked(gateway)
    assert busy(gateway.server) == 1
    clock.move(2)
    assert said(peer.response()) == (408, "invalid_request_error")
    assert gateway.server.held_bytes == 0
    assert peer.read_to_end() == b""
    until(lambda: clock.move(3) or not gateway.server.open_connections)  # it lingers from when its answer has gone out


def test_a_client_that_sends_a_byte_now_and_then_is_given_up_too(making: Making) -> None:
    """What came fast at first does not count for what comes slowly after it."""
    gateway, clock = timed(making, body_seconds=30, body_rate=1024)
    peer = gateway.peer().send(head(gateway, b"content-length: %d" % LONG) + b"x" * (4 * MEGABYTE))
    until(lambda: gateway.server.held_bytes == 4 * MEGABYTE)
    for sent in range(1, 4):
        clock.move(9)
        peer.send(b"x")
        until(lambda sent=sent: gateway.server.held_bytes == 4 * MEGABYTE + sent)
    clock.move(9)
    assert said(peer.response())[0] == 408


def test_a_slow_and_honest_upload_is_taken(making: Making) -> None:
    """Twice the least rate, for an hour of the server's time."""
    gateway, clock = timed(making, body_seconds=30, body_rate=1024)
    pieces, piece = 360, b" " * (2 * 1024 * 10)
    peer = gateway.peer().send(head(gateway, b"content-length: %d" % (pieces * len(piece) + 2)) + b"{}")
    for sent in range(1, pieces + 1):
        clock.move(10)
        peer.send(piece)
        until(lambda sent=sent: _received(gateway) in (0, sent * len(piece) + 2))
    assert peer.response()[0] == 200


def _received(gateway: Gateway) -> int:
    return sum(connection._reader.body_size for connection in list(gateway.server._connections))


def test_who_waits_for_our_continue_is_not_silent(making: Making) -> None:
    """The body is due only after the answer before it."""
    gateway, clock = timed(making, body_seconds=30)
    hold = gateway.loop.call(_event())
    gateway.engine.hold = hold
    second = head(gateway, b"content-length: 2", b"expect: 100-continue")
    peer = gateway.peer().send(gateway.request("POST", "/v1/messages", x_api_key=KEY) + second)
    until(lambda: len(gateway.engine.calls) == 1)
    clock.move(100)
    ticked(gateway)
    gateway.engine.hold = None
    gateway.loop.call(_set(hold))
    assert peer.response()[0] == 200
    assert peer.response()[0] == 100
    assert peer.send(b"{}").response()[0] == 200


async def _event() -> asyncio.Event:
    return asyncio.Event()


async def _set(event: asyncio.Event) -> None:
    event.set()


def ticked(gateway: Gateway) -> None:
    """The server has looked at its times at least once since."""
    looks = 0
    real = gateway.server._tick

    def look() -> None:
        nonlocal looks
        looks += 1
        real()

    gateway.server._tick = look
    until(lambda: looks > 1)
    gateway.server._tick = real


# How much.


def test_all_long_bodies_share_a_budget_and_the_oldest_that_is_not_whole_goes(making: Making) -> None:
    gateway = making(settings_with(KEYED), limits=ServerLimits(bodies_bytes=8 * MEGABYTE, body_bytes=4 * MEGABYTE))
    asked = head(gateway, b"content-length: %d" % (4 * MEGABYTE))
    piece = b"x" * (3 * MEGABYTE)
    peers = [_sends(gateway, asked + piece, count * len(piece)) for count in (1, 2)]
    third = gateway.peer().send(asked + piece)
    answer = peers[0].response()
    assert said(answer) == (503, "overloaded_error")
    assert answer[1]["retry-after"] == "1"
    until(lambda: gateway.server.held_bytes == 2 * len(piece))
    for peer in (peers[1], third):
        assert peer.send(b"x" * MEGABYTE).response()[0] == 200
    until(lambda: gateway.server.held_bytes == 0)


def _sends(gateway: Gateway, data: bytes, held: int) -> Peer:
    peer = gateway.peer().send(data)
    until(lambda: gateway.server.held_bytes == held)
    return peer


def test_small_requests_are_answered_while_large_ones_hold_the_budget(making: Making) -> None:
    """Those that are being answered are not broken off for it; a large one more is refused."""
    gateway = making(settings_with(KEYED), limits=ServerLimits(bodies_bytes=4 * MEGABYTE, body_bytes=4 * MEGABYTE))
    hold = gateway.loop.call(_event())
    gateway.engine.hold = hold
    whole = head(gateway, b"content-length: %d" % (4 * MEGABYTE)) + b"x" * (4 * MEGABYTE)
    running = gateway.peer().send(whole)
    until(lambda: len(gateway.engine.calls) == 1)
    gateway.engine.hold = None
    assert gateway.ask(x_api_key=KEY)[0] == 200
    assert said(gateway.raw(whole)) == (503, "overloaded_error")
    gateway.loop.call(_set(hold))
    assert running.response()[0] == 200
    assert gateway.raw(whole)[0] == 200


@pytest.mark.parametrize("framing", [b"content-length: %d" % LONG, b"transfer-encoding: chunked"], ids=["length", "chunked"])
def test_a_body_for_which_there_is_no_memory_is_refused(
    making: Making, framing: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("clew.http.long_body._uncleared", no_memory)
    monkeypatch.setattr("clew.http.reader.RequestReader.on_body", no_memory)
    gateway = making(settings_with(KEYED))
    answer = gateway.raw(head(gateway, framing) + b"2\r\n{}\r\n")
    assert said(answer) == (503, "overloaded_error")
    assert answer[1]["retry-after"] == "1"


@pytest.mark.parametrize("leaves", ["in its body", "while it is answered"])
def test_who_leaves_gives_back_what_it_held(making: Making, leaves: str) -> None:
    gateway = making(settings_with(KEYED))
    gateway.engine.hold = gateway.loop.call(_event())
    sent = 2 * MEGABYTE if leaves == "in its body" else 4 * MEGABYTE
    peer = gateway.peer().send(head(gateway, b"content-length: %d" % (4 * MEGABYTE)) + b"x" * sent)
    until(lambda: gateway.server.held_bytes == sent)
    peer.socket.close()
    until(lambda: gateway.server.held_bytes == 0)
