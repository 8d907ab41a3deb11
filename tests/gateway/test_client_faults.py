"""Clients that send too much, too slowly, too cleverly, or everything at once."""

import socket
import struct
import threading

import pytest

from clew.http.message import ServerLimits
from tests.clock import Clock
from tests.gateway.conftest import KEY, KEYED, Gateway, Making, said, settings_with
from tests.http.conftest import busy
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

SMUGGLED = b'POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:%d\r\ncontent-type: application/json\r\nx-api-key: %b\r\ncontent-length: 11\r\n\r\n["smuggled"]'


def head(gateway: Gateway, *lines: bytes) -> bytes:
    first = [b"POST /v1/messages HTTP/1.1", b"Host: 127.0.0.1:%d" % gateway.port, b"x-api-key: " + KEY.encode()]
    return b"\r\n".join([*first, b"content-type: application/json", *lines, b"", b""])


CORPUS: dict[str, tuple[bytes, ...]] = {
    "CL and TE": (b"content-length: 4\r\ntransfer-encoding: chunked", b"0\r\n\r\n"),
    "TE and CL": (b"transfer-encoding: chunked\r\ncontent-length: 4", b"0\r\n\r\n"),
    "two CL": (b"content-length: 2\r\ncontent-length: 3", b"{}"),
    "two CL in one": (b"content-length: 2, 3", b"{}"),
    "negative CL": (b"content-length: -2", b"{}"),
    "CL with a plus": (b"content-length: +2", b"{}"),
    "CL in hex": (b"content-length: 0x2", b"{}"),
    "xchunked": (b"transfer-encoding: xchunked", b"0\r\n\r\n"),
    "chunked twice": (b"transfer-encoding: chunked, chunked", b"0\r\n\r\n"),
    "chunked, identity": (b"transfer-encoding: chunked, identity", b"0\r\n\r\n"),
    "gzip, chunked": (b"transfer-encoding: gzip, chunked", b"0\r\n\r\n"),
    "TE with a tab": (b"transfer-encoding:\x0bchunked", b"0\r\n\r\n"),
    "space before the colon": (b"transfer-encoding : chunked", b"0\r\n\r\n"),
    "obs-fold": (b"x-a: 1\r\n 2\r\ncontent-length: 2", b"{}"),
    "bare LF": (b"x-a: 1\nx-b: 2\r\ncontent-length: 2", b"{}"),
    "bare CR": (b"x-a: 1\rx-b: 2\r\ncontent-length: 2", b"{}"),
    "NUL in a value": (b"x-a: 1\x002\r\ncontent-length: 2", b"{}"),
    "NUL in a name": (b"x\x00a: 1\r\ncontent-length: 2", b"{}"),
    "bad chunk size": (b"transfer-encoding: chunked", b"zz\r\n{}\r\n0\r\n\r\n"),
    "chunk size overflow": (b"transfer-encoding: chunked", b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
    "chunk without CRLF": (b"transfer-encoding: chunked", b"2\r\n{}xx0\r\n\r\n"),
    "chunk extension of a megabyte": (b"transfer-encoding: chunked", b"2;" + b"x" * 1_000_000 + b"\r\n{}\r\n0\r\n\r\n"),
    "header of a megabyte": (b"x-a: " + b"x" * 1_000_000 + b"\r\ncontent-length: 2", b"{}"),
    "ten thousand headers": (b"\r\n".join(b"x-%d: 1" % n for n in range(10_000)) + b"\r\ncontent-length: 2", b"{}"),
    "an expectation nobody knows": (b"expect: 200-ok\r\ncontent-length: 2", b"{}"),
}


@proves("fault:C8")
@pytest.mark.parametrize("name", CORPUS)
def test_what_can_be_read_in_two_ways_is_refused_and_nothing_behind_it_is_heard(gateway: Gateway, name: str) -> None:
    """C8: 400, 413, 417 or 431, the connection is closed, and the second request reaches nobody."""
    lines, body = CORPUS[name]
    peer = gateway.peer()
    try:
        peer.send(head(gateway, lines) + body + SMUGGLED % (gateway.port, KEY.encode()))
        answer = peer.response()
        assert peer.read_to_end() == b""
    except (ConnectionResetError, BrokenPipeError):
        answer = None  # it was cut while we were still sending
    assert answer is None or said(answer)[0] in (400, 413, 417, 431)
    assert gateway.engine.calls == []


@proves("fault:C5")
@pytest.mark.parametrize("framing", [b"content-length: 4097", b"transfer-encoding: chunked"])
def test_a_body_over_the_bound_is_refused_in_the_vendors_shape(making: Making, framing: bytes) -> None:
    """C5: counted while it comes, and read no further."""
    gateway = making(limits=ServerLimits(body_bytes=4096))
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    peer = gateway.peer().send(head(gateway, framing) + (chunk + b"1\r\nx\r\n" if b"chunked" in framing else b""))
    assert said(peer.response()) == (413, "request_too_large")
    assert gateway.engine.calls == []


def test_a_body_of_thirty_two_megabytes_is_taken(gateway: Gateway) -> None:
    body = b'"' + b"x" * (32 * 1024 * 1024 - 2) + b'"'
    assert gateway.ask(body=body, x_api_key=KEY)[0] == 200
    assert len(gateway.engine.calls[0].body) == 32 * 1024 * 1024


@proves("fault:C4")
def test_slow_clients_and_idle_ones_do_not_disturb_the_others(clock: Clock, making: Making) -> None:
    """C4: heads and bodies that come in drops, and more idle connections than there is room for. The answer comes while no
    time passes, so nobody waited for the slow ones to be given up."""
    limits = ServerLimits(connections=200)
    gateway = making(settings_with(KEYED), limits=limits)
    heads = [gateway.peer().send(head(gateway, b"content-length: 99")[:20]) for _ in range(20)]
    bodies = [gateway.peer().send(head(gateway, b"content-length: 99") + b"{") for _ in range(20)]
    until(lambda: busy(gateway.server) == len(heads) + len(bodies))  # else one looks idle and gives way to the crowd
    idle = [gateway.peer() for _ in range(400)]
    assert gateway.ask(x_api_key=KEY)[0] == 200
    assert gateway.server.open_connections <= limits.connections
    assert len(idle) == 400
    clock.pass_time(limits.body_seconds + limits.tick_seconds)
    assert gateway.server.open_connections <= limits.connections - len(heads)
    assert [peer.socket.recv(1) for peer in heads] == [b""] * len(heads)
    assert [said(peer.response())[0] for peer in bodies] == [408] * len(bodies)


def test_a_crowd_that_comes_at_once_finds_no_more_room_than_there_is(making: Making) -> None:
    """All accepted in one go: each must make room by another one."""
    gateway = making(limits=ServerLimits(connections=10))

    all_came = threading.Event()

    async def hold() -> None:
        all_came.wait(120)  # nobody is accepted meanwhile

    holding = threading.Thread(target=lambda: gateway.loop.call(hold()))
    holding.start()
    crowd = [gateway.peer() for _ in range(60)]
    all_came.set()
    holding.join(120)
    assert gateway.ask(x_api_key=KEY)[0] == 200
    assert gateway.server.open_connections <= 10
    assert len(crowd) == 60


def test_who_is_being_answered_keeps_its_connection_when_others_come(making: Making) -> None:
    """Room is made by those that wait for nothing; if there is none, the newcomer goes."""
    gateway = making(limits=ServerLimits(connections=3))
    peers = [gateway.peer().send(head(gateway, b"content-length: 99")) for _ in range(3)]
    until(lambda: busy(gateway.server) == 3)
    newcomer = gateway.peer()
    assert newcomer.read_to_end() == b""
    for peer in peers:
        assert peer.send(b"x" * 99).response()[0] == 200


@proves("fault:C9")
def test_pipelined_requests_are_answered_in_order(gateway: Gateway) -> None:
    """C9: refusals too."""
    paths = ["/v1/messages", "/nowhere", "/healthz", "/v1/messages"]
    peer = gateway.peer().send(b"".join(gateway.request("POST", path, x_api_key=KEY) for path in paths))
    assert [peer.response()[0] for _ in paths] == [200, 404, 405, 200]


@proves("fault:C9")
def test_an_expectation_is_answered_and_a_refusal_spares_the_upload(making: Making) -> None:
    """C9."""
    gateway = making(limits=ServerLimits(body_bytes=8))
    peer = gateway.peer().send(head(gateway, b"content-length: 2", b"expect: 100-continue"))
    assert peer.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert peer.send(b"{}").response()[0] == 200
    peer = gateway.peer().send(head(gateway, b"content-length: 9", b"expect: 100-continue"))
    assert said(peer.response()) == (413, "request_too_large")


@proves("fault:C9")
@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
def test_no_other_protocol_is_spoken(gateway: Gateway, protocol: bytes) -> None:
    """C9: the request is answered as it is, and the connection ends."""
    peer = gateway.peer().send(head(gateway, b"connection: upgrade", b"upgrade: " + protocol, b"content-length: 2") + b"{}")
    status, headers, _ = peer.response()
    assert status != 101
    assert headers["connection"] == "close"


@proves("fault:C9")
def test_http_1_0_is_served(gateway: Gateway) -> None:
    """C9."""
    asked = gateway.request("POST", "/v1/messages", x_api_key=KEY).replace(b"HTTP/1.1", b"HTTP/1.0")
    assert gateway.peer().send(asked).read_to_end().startswith(b"HTTP/1.1 200 OK\r\n")


@proves("fault:C2")
def test_a_client_that_closes_only_its_half_is_served(gateway: Gateway) -> None:
    """C2."""
    peer = gateway.peer().send(gateway.request("POST", "/v1/messages", x_api_key=KEY))
    peer.socket.shutdown(socket.SHUT_WR)
    assert peer.response()[0] == 200


def test_a_reset_in_mid_request_is_nobodys_error(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    peer = gateway.peer().send(head(gateway, b"content-length: 99") + b"{")
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.socket.close()
    assert gateway.ask(x_api_key=KEY)[0] == 200
    assert caplog.text == ""
