"""New connections: TLS with its names, black holes, tunnels, and nothing left behind by a dial that is called off."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.errors import BackendTimedOut, BackendUnreachable
from clew.model.http import Timeouts
from clew.upstream import dial as dialling
from clew.upstream.endpoint import Endpoint
from clew.upstream.pool import PoolSettings
from tests.upstream.certificates import Certificate
from tests.upstream.peers import Call, Play, Site, called_off, post, saying, site
from tests.upstream.test_pool import CHUNKED, OK, fetch, pool
from tests.waiting import turns, until_so

pytestmark = pytest.mark.slow


def sockets_to(*ports: int) -> int:
    """What is open to these ports here, from this process or another: its whole table of files has others' in it, too."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[2].rpartition(":")[2], 16) in ports and int(row[9]) > 0 for row in rows)


def test_tls_is_spoken_and_kept(play: Play[Any], certificate: Certificate) -> None:
    async def scene() -> None:
        async with site(saying(OK), context=certificate.context()) as place, pool(ca_file=str(certificate.file)) as way:
            endpoint = Endpoint("localhost", place.port, True)
            for _ in range(3):
                assert await fetch(way, endpoint) == (200, b"hello")
            assert place.calls == 1

    play(scene())


def test_the_server_is_told_the_name_that_we_want(play: Play[Any], certificate: Certificate) -> None:
    names: list[str | None] = []
    context = certificate.context()
    context.sni_callback = lambda _socket, name, _context: names.append(name)

    async def scene() -> None:
        async with site(saying(OK), context=context) as place, pool(ca_file=str(certificate.file)) as way:
            await fetch(way, Endpoint("localhost", place.port, True))

    play(scene())
    assert names == ["localhost"]


@pytest.mark.real_time
def test_a_big_answer_over_tls_waits_for_its_reader(play: Play[Any], certificate: Certificate) -> None:
    sent = 0

    async def script(call: Call) -> None:
        nonlocal sent
        await call.request()
        await call.say(CHUNKED)
        for _ in range(300):
            await call.say(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536
        await call.say(b"0\r\n\r\n")

    async def scene() -> tuple[int, int]:
        async with (
            site(script, context=certificate.context()) as place,
            pool(ca_file=str(certificate.file)) as way,
            way.ask(Endpoint("localhost", place.port, True), post()) as reply,
        ):
            await asyncio.sleep(0.3)
            early = sent
            return early, len(await reply.read())

    early, size = play(scene())
    assert early < 16_000_000
    assert size == 300 * 65536


@pytest.mark.parametrize("trusted", [False, True], ids=["unknown authority", "wrong name"])
def test_a_certificate_that_does_not_hold_is_refused(play: Play[Any], certificate: Certificate, trusted: bool) -> None:
    """U1."""

    async def scene() -> None:
        settings = {"ca_file": str(certificate.file)} if trusted else {}
        host = "127.0.0.1" if trusted else "localhost"
        async with site(saying(OK), context=certificate.context()) as place, pool(**settings) as way:
            with pytest.raises(BackendUnreachable, match="certificate is not valid"):
                await fetch(way, Endpoint(host, place.port, True))

    play(scene())


def test_whom_to_trust_may_change_and_holds_for_every_new_connection(play: Play[Any], certificate: Certificate) -> None:
    """One at rest is closed, one in use is not kept: nothing goes on under a trust that was taken back."""
    trusting = PoolSettings(ca_file=str(certificate.file))

    async def scene() -> list[int]:
        async with site(saying(OK), context=certificate.context()) as place, pool() as way:
            endpoint, resting = Endpoint("localhost", place.port, True), []
            for _ in range(2):
                with pytest.raises(BackendUnreachable, match="certificate is not valid"):
                    await fetch(way, endpoint)
                way.renew(trusting)
                assert await fetch(way, endpoint) == (200, b"hello")
                way.renew(trusting)
                resting.append(way.resting(endpoint))
                async with way.ask(endpoint, post()) as reply:
                    way.renew(PoolSettings())
                    assert await reply.read() == b"hello"
                resting.append(way.resting(endpoint))
            return resting

    assert play(scene()) == [1, 0, 1, 0]


def test_a_connection_that_is_just_made_is_not_kept_under_a_trust_that_was_taken_back(
    play: Play[Any], certificate: Certificate
) -> None:
    """It began as the settings said then, and ends its exchange."""

    async def scene() -> int:
        async with site(saying(OK), context=certificate.context()) as place, pool(ca_file=str(certificate.file)) as way:
            endpoint = Endpoint("localhost", place.port, True)
            asked = asyncio.create_task(fetch(way, endpoint))
            await asyncio.sleep(0)  # it dials
            way.renew(PoolSettings())
            assert await asked == (200, b"hello")
            return way.resting(endpoint)

    assert play(scene()) == 0


def test_a_server_without_tls_is_told_as_such(play: Play[Any]) -> None:
    async def plain(call: Call) -> None:
        await call.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def scene() -> None:
        async with site(plain) as place, pool() as way:
            with pytest.raises(BackendUnreachable, match="TLS failed"):
                await fetch(way, Endpoint("127.0.0.1", place.port, True))

    play(scene())


async def mute(call: Call) -> None:
    await call.gone()


def test_a_handshake_has_its_limit(play: Play[Any]) -> None:
    async def scene() -> None:
        async with site(mute) as place, pool() as way:
            with pytest.raises(BackendTimedOut) as caught:
                await fetch(way, Endpoint("127.0.0.1", place.port, True), timeouts=Timeouts(tls=0.1))
            assert caught.value.phase == "tls"
            await place.until(ended=1)

    play(scene())


def test_a_handshake_that_is_called_off_closes_soon(play: Play[Any]) -> None:
    """3.4, in the phase of TLS."""

    async def scene() -> None:
        async with site(mute) as place, pool() as way:
            task = asyncio.create_task(fetch(way, Endpoint("127.0.0.1", place.port, True)))
            await place.until(calls=1)
            await turns()
            await called_off(task)
            await place.until(ended=1)

    play(scene())


def test_an_exchange_over_tls_that_is_called_off_closes_soon(play: Play[Any], certificate: Certificate) -> None:
    """3.4: no farewell of TLS is waited for."""

    async def script(call: Call) -> None:
        await call.request()
        await call.say(CHUNKED + b"2\r\nhe\r\n")
        await call.gone()

    async def scene() -> None:
        async with site(script, context=certificate.context()) as place, pool(ca_file=str(certificate.file)) as way:
            task = asyncio.create_task(fetch(way, Endpoint("localhost", place.port, True)))
            await place.until(calls=1)
            await turns()
            await called_off(task)
            await place.until(ended=1)

    play(scene())


def full_listener() -> tuple[socket.socket, list[socket.socket]]:
    """A listener whose queue is full: further SYNs get no answer, as from a black hole."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    return listener, fillers


def test_a_black_hole_ends_at_the_connect_limit_and_leaves_no_socket(play: Play[Any]) -> None:
    """U2."""

    async def scene() -> float:
        listener, fillers = full_listener()
        try:
            async with pool() as way:
                endpoint = Endpoint("127.0.0.1", listener.getsockname()[1], False)
                with pytest.raises(BackendTimedOut):
                    await fetch(way, endpoint, timeouts=Timeouts(connect=0.1))
                before, began = sockets_to(endpoint.port), asyncio.get_running_loop().time()
                with pytest.raises(BackendTimedOut) as caught:
                    await fetch(way, endpoint, timeouts=Timeouts(connect=0.5))
                lasted = asyncio.get_running_loop().time() - began
                await until_so(lambda: sockets_to(endpoint.port) == before)
                assert caught.value.phase == "connect"
                return lasted
        finally:
            for plug in (listener, *fillers):
                plug.close()

    assert 0.45 <= play(scene()) < 4, "as it was told, and not the usual five"


def test_a_connect_that_is_called_off_leaves_no_socket(play: Play[Any]) -> None:
    """3.4, in the phase of connecting."""

    async def scene() -> None:
        listener, fillers = full_listener()
        try:
            async with pool() as way:
                endpoint = Endpoint("127.0.0.1", listener.getsockname()[1], False)
                before = sockets_to(endpoint.port)
                task = asyncio.create_task(fetch(way, endpoint))
                await until_so(lambda: sockets_to(endpoint.port) != before)
                await called_off(task)
                await until_so(lambda: sockets_to(endpoint.port) == before)
        finally:
            for plug in (listener, *fillers):
                plug.close()

    play(scene())


Addresses = list[tuple[int, int, int, str, tuple[str, int]]]


def resolve_to(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """A name with several addresses, in this order."""
    found: Addresses = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]

    async def getaddrinfo(*_: object, **__: object) -> Addresses:
        return found

    loop = asyncio.get_running_loop()

    class Loop:
        def __getattr__(self, name: str) -> Any:
            return getaddrinfo if name == "getaddrinfo" else getattr(loop, name)

    class Asyncio:
        def __getattr__(self, name: str) -> Any:
            return Loop if name == "get_running_loop" else getattr(sys.modules["asyncio"], name)

    monkeypatch.setattr(dialling, "asyncio", Asyncio())


def test_the_next_address_is_tried_beside_a_black_hole(play: Play[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """One family may lead nowhere: the other has its turn after a quarter of a second, not after the time limit."""

    async def scene() -> float:
        listener, fillers = full_listener()
        try:
            async with site(saying(OK)) as place, pool() as way:
                await fetch(way, place.endpoint)
                hole = listener.getsockname()[1]
                resolve_to(monkeypatch, hole, place.port)
                before, began = sockets_to(hole, place.port), asyncio.get_running_loop().time()
                assert await fetch(way, Endpoint("two.example", 80, False)) == (200, b"hello")
                lasted = asyncio.get_running_loop().time() - began
                await until_so(lambda: sockets_to(hole, place.port) == before + 1)  # the one that answered
                return lasted
        finally:
            monkeypatch.undo()
            for plug in (listener, *fillers):
                plug.close()

    assert 0.2 <= play(scene()) < 4, "the time limit is five"


def test_the_next_address_is_tried_at_once_after_a_refusal(play: Play[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with site(saying(OK)) as gone:
            pass
        async with site(saying(OK)) as place, pool() as way:
            resolve_to(monkeypatch, gone.port, gone.port, place.port)
            monkeypatch.setattr(dialling, "_HEAD_START", 4.0)
            async with asyncio.timeout(120):
                assert await fetch(way, Endpoint("three.example", 80, False)) == (200, b"hello")
            resolve_to(monkeypatch, gone.port, gone.port)
            with pytest.raises(BackendUnreachable, match="refused"):
                await fetch(way, Endpoint("none.example", 80, False))

    play(scene())


def test_families_take_turns() -> None:
    six, four = [(socket.AF_INET6, 1, 6, ("::1", n)) for n in range(3)], [(socket.AF_INET, 1, 6, ("127.0.0.1", 9))]
    assert dialling.alternate_families([*six, *four]) == [six[0], four[0], six[1], six[2]]


def test_an_address_of_the_sixth_version_is_reached(play: Play[Any]) -> None:
    if not Path("/proc/net/if_inet6").exists():
        assert not socket.has_dualstack_ipv6()
        return

    async def scene() -> None:
        async with site(saying(OK), host="::1") as place, pool() as way:
            assert await fetch(way, Endpoint("::1", place.port, False)) == (200, b"hello")

    play(scene())


def tunnel(asked: list[bytes], answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> Any:
    """A proxy: notes what it is asked, answers, and passes bytes on both ways."""

    async def script(call: Call) -> None:
        asked.append(await call.request())
        await call.say(answer)
        if b" 200 " not in answer:
            return
        host, port = asked[-1].split(b" ")[1].decode().rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        back = asyncio.create_task(pump(reader, call.writer))
        await pump(call.reader, writer)
        await back

    return script


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    finally:
        writer.close()


def test_a_proxy_is_used_only_if_asked_for_and_sees_no_request(
    play: Play[Any], certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    async def scene() -> None:
        async with site(saying(OK), context=certificate.context()) as place, site(tunnel(asked)) as proxy:
            environ = {"HTTPS_PROXY": f"http://me:p%40ss@127.0.0.1:{proxy.port}"}
            monkeypatch.setenv("HTTPS_PROXY", environ["HTTPS_PROXY"])
            endpoint = Endpoint("localhost", place.port, True)
            async with pool(ca_file=str(certificate.file)) as way:
                assert await fetch(way, endpoint) == (200, b"hello")
            assert asked == []
            async with pool(ca_file=str(certificate.file), proxy_environ=environ) as way:
                assert await fetch(way, endpoint) == (200, b"hello")
                assert await fetch(way, endpoint) == (200, b"hello")
            where = f"localhost:{place.port}".encode()
            head = b"CONNECT %b HTTP/1.1\r\nhost: %b\r\nproxy-authorization: Basic bWU6cEBzcw==\r\n\r\n" % (where, where)
            assert asked == [head]

    play(scene())


def test_a_dial_that_outlasts_its_pool_sends_nothing(play: Play[Any]) -> None:
    async def scene() -> None:
        opening = asyncio.Event()
        heard: list[bytes] = []

        async def slow_proxy(call: Call) -> None:
            await call.request()
            await opening.wait()
            await call.say(b"HTTP/1.1 200 OK\r\n\r\n")
            heard.append(await call.reader.read())

        async with site(slow_proxy) as proxy, pool(proxy_environ=through(proxy)) as way:
            task = asyncio.create_task(fetch(way, Endpoint("backend.example", 80, False)))
            await proxy.until(calls=1)
            way.close()
            opening.set()
            with pytest.raises(BackendUnreachable, match="shutting down"):
                await task
            await proxy.until(ended=1)
        assert heard == [b""]

    play(scene())


def through(proxy: Site) -> dict[str, str]:
    return {"http_proxy": f"http://me:secret@127.0.0.1:{proxy.port}"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "answered 407"),
        (b"", "closed the connection"),
        (b"SOCKS? no\r\n\r\n", "not HTTP"),
    ],
)
def test_a_proxy_that_says_no_is_told_without_its_password(play: Play[Any], answer: bytes, says: str) -> None:
    async def scene() -> str:
        async with site(tunnel([], answer)) as proxy, pool(proxy_environ=through(proxy)) as way:
            with pytest.raises(BackendUnreachable) as caught:
                await fetch(way, Endpoint("backend.example", 80, False))
            return str(caught.value)

    text = play(scene())
    assert says in text
    assert "secret" not in text
