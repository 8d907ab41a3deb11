"""TLS under a connection: records cut anywhere, ends that are none, and what is taken only as fast as the other side takes it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clew.errors import BackendBroken, BackendUnreachable
from clew.http.client.message import ClientRequest
from clew.http.client.tls import TlsTransport
from clew.upstream.endpoint import Endpoint
from clew.upstream.pool import Pool, PoolSettings
from tests.ports import own_port
from tests.upstream.certificates import Certificate, make_certificate, make_expired
from tests.upstream.peers import Play, play
from tests.waiting import turns, until_so

pytestmark = pytest.mark.slow
__all__ = ["play"]

LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
TO_THE_END = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Good for `localhost`."""
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:localhost")


class Peer:
    """A server that deciphers by itself, so that it can cut what it sends wherever it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext) -> None:
        self.reader = reader
        self.writer = writer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    async def shake(self) -> None:
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await self.put(self._outgoing.read())
                self._incoming.write(await self.reader.read(65536))
            else:
                await self.put(self._outgoing.read())
                return

    async def hear(self, size: int) -> bytes:
        """So many bytes, or fewer at the end."""
        heard = bytearray()
        while len(heard) < size:
            try:
                heard += self.tls.read(65536)
            except ssl.SSLWantReadError:
                data = await self.reader.read(65536)
                if not data:
                    break
                self._incoming.write(data)
        return bytes(heard)

    async def request(self) -> bytes:
        return await self.hear(1)

    def sealed(self, *parts: bytes) -> bytes:
        """Each part in records of its own."""
        for part in parts:
            for start in range(0, len(part), 16384):
                self.tls.write(part[start : start + 16384])
        return self._outgoing.read()

    def farewell(self) -> bytes:
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()
        return self._outgoing.read()

    async def put(self, data: bytes, by: int = 0) -> None:
        """All at once, or in pieces that arrive one by one."""
        for start in range(0, len(data), by or len(data) or 1):
            self.writer.write(data[start : start + by] if by else data)
            await self.writer.drain()
            await asyncio.sleep(0)


Script = Callable[[Peer], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(
    certificate: Certificate, script: Script, context: ssl.SSLContext | None = None
) -> AsyncIterator[Endpoint]:
    context = context or certificate.context()
    failures: list[BaseException] = []

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer, context)
        try:
            await peer.shake()
            await script(peer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        except BaseException as error:
            failures.append(error)
        finally:
            writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0)
    try:
        yield Endpoint("localhost", server.sockets[0].getsockname()[1], True)
    finally:
        server.close()
        await turns()
    assert failures == []


@contextlib.asynccontextmanager
async def pool(certificate: Certificate) -> AsyncIterator[Pool]:
    way = Pool(PoolSettings(ca_file=str(certificate.file)))
    try:
        yield way
    finally:
        way.close()
        await turns()


async def secured(certificate: Certificate, endpoint: Endpoint, above: asyncio.Protocol) -> TlsTransport:
    """A transport by itself."""
    context = ssl.create_default_context(cafile=str(certificate.file))
    transport = TlsTransport(above, context, endpoint.host)
    await asyncio.get_running_loop().create_connection(lambda: transport, "127.0.0.1", endpoint.port)
    await transport.handshake()
    return transport


def post(body: bytes = b"{}") -> ClientRequest:
    return ClientRequest(method=b"POST", target=b"/", headers=((b"host", b"x"),), body=body)


async def asked(certificate: Certificate, script: Script, body: bytes = b"{}") -> bytes:
    """What comes back."""
    async with (
        serving(certificate, script) as endpoint,
        pool(certificate) as way,
        way.ask(endpoint, post(body)) as reply,
    ):
        return await reply.read()


@pytest.mark.parametrize("by", [0, 1, 7, 150])
def test_records_may_come_in_any_pieces(play: Play[Any], certificate: Certificate, by: int) -> None:
    parts = [b"%d," % number for number in range(20)]

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.put(peer.sealed(LENGTH % len(b"".join(parts)), *parts), by)

    assert play(asked(certificate, script)) == b"".join(parts)


def test_a_large_answer_comes_whole(play: Play[Any], certificate: Certificate) -> None:
    body = bytes(range(256)) * 8000

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.put(peer.sealed(LENGTH % len(body), body))

    assert play(asked(certificate, script)) == body


def test_an_answer_may_end_with_the_connection_if_that_is_said(play: Play[Any], certificate: Certificate) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.put(peer.sealed(TO_THE_END, b"all of it") + peer.farewell())

    assert play(asked(certificate, script)) == b"all of it"


def test_the_word_for_the_end_may_come_by_itself(play: Play[Any], certificate: Certificate) -> None:
    async def scene() -> bytes:
        heard: list[bytes] = []

        async def script(peer: Peer) -> None:
            await peer.request()
            await peer.put(peer.sealed(TO_THE_END, b"all "))
            await until_so(lambda: heard == [b"all "])
            await peer.put(peer.sealed(b"of it"))
            await until_so(lambda: heard == [b"all ", b"of it"])
            await peer.put(peer.farewell())
            await peer.reader.read()

        async with (
            serving(certificate, script) as endpoint,
            pool(certificate) as way,
            way.ask(endpoint, post()) as reply,
        ):
            while part := await reply.chunk():
                heard.append(part)
        return b"".join(heard)

    assert play(scene()) == b"all of it"


def test_a_server_that_has_said_its_last_word_is_asked_nothing_more(play: Play[Any], certificate: Certificate) -> None:
    """Even if it keeps the socket open for a while."""

    async def scene() -> int:
        calls, is_rested = [0], asyncio.Event()

        async def script(peer: Peer) -> None:
            calls[0] += 1
            await peer.request()
            await peer.put(peer.sealed(LENGTH % 2))
            await peer.put(peer.sealed(b"ok"))
            await is_rested.wait()
            await peer.put(peer.farewell())
            await peer.reader.read()

        async with serving(certificate, script) as endpoint, pool(certificate) as way:
            async with way.ask(endpoint, post()) as reply:
                assert await reply.read() == b"ok"
            is_rested.set()
            ((_, resting),) = way.connections(endpoint).resting
            await until_so(lambda: not resting.reusable)
            async with way.ask(endpoint, post()) as reply:
                assert await reply.read() == b"ok"
        return calls[0]

    assert play(scene()) == 2


@pytest.mark.parametrize("kept", [0, 1, 10, 30], ids=["between two", "in the length", "in the words", "in the seal"])
def test_a_cut_is_never_an_end(play: Play[Any], certificate: Certificate, kept: int) -> None:
    """Anyone who can cut a connection could else shorten an answer."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.put(peer.sealed(TO_THE_END, b"half of"))
        await peer.put(peer.sealed(b" all that it said")[:kept])

    with pytest.raises(BackendBroken, match=r"inside the body of the answer, as far as anybody can tell.*close_notify"):
        play(asked(certificate, script))


@pytest.mark.parametrize("raw", [LENGTH % 5 + b"hello", CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"], ids=["length", "chunks"])
def test_an_answer_that_says_where_it_ends_needs_no_word_of_tls(
    play: Play[Any], certificate: Certificate, raw: bytes
) -> None:
    """Many servers just close."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.put(peer.sealed(raw))

    assert play(asked(certificate, script)) == b"hello"


def test_what_was_altered_on_the_way_is_not_taken(play: Play[Any], certificate: Certificate) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        sealed = bytearray(peer.sealed(LENGTH % 5 + b"hello"))
        sealed[20] ^= 1
        await peer.put(bytes(sealed))
        await peer.hear(1)

    with pytest.raises(BackendBroken):
        play(asked(certificate, script))


class Above(asyncio.Protocol):
    """Anyone who writes, and what it is told about it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.heard = b""
        self.all_sent = asyncio.Event()

    def pause_writing(self) -> None:
        self.told.append("wait")

    def resume_writing(self) -> None:
        self.told.append("go on")
        self.all_sent.set()

    def data_received(self, data: bytes) -> None:
        self.heard += data


def test_a_large_request_goes_as_fast_as_it_is_taken(play: Play[Any], certificate: Certificate) -> None:
    """What was not taken yet stays as it was given: it is neither copied nor enciphered."""
    body = bytes(range(256)) * 40_000
    heard: list[bytes] = []

    async def scene() -> Above:
        may_read, above = asyncio.Event(), Above()

        async def script(peer: Peer) -> None:
            await may_read.wait()
            heard.append(await peer.hear(len(body)))

        async with serving(certificate, script) as endpoint:
            transport = await secured(certificate, endpoint, above)
            transport.write(body)
            assert above.told == ["wait"]
            assert transport.get_write_buffer_size() > len(body) // 2
            may_read.set()
            async with asyncio.timeout(120):
                await above.all_sent.wait()
            assert transport.get_write_buffer_size() == 0
            await until_so(lambda: bool(heard))
            transport.abort()
        return above

    assert play(scene()).told[-1] == "go on"
    assert heard == [body]


def test_a_request_that_is_called_off_while_it_is_sent_closes(play: Play[Any], certificate: Certificate) -> None:
    async def scene() -> None:
        closed = asyncio.Event()

        async def script(peer: Peer) -> None:
            await turns()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await peer.hear(30_000_000)
            closed.set()

        async with serving(certificate, script) as endpoint, pool(certificate) as way:
            asking = way.ask(endpoint, post(bytes(20_000_000)))
            connection = await asking.open()
            connection.abort()
            asking.end()
            async with asyncio.timeout(120):
                await closed.wait()

    play(scene())


def test_the_next_connection_begins_where_the_last_one_was(play: Play[Any], certificate: Certificate) -> None:
    resumed: list[bool | None] = []

    async def script(peer: Peer) -> None:
        await peer.request()
        resumed.append(peer.tls.session_reused)
        await peer.put(
            peer.sealed(LENGTH.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n") % 2, b"ok") + peer.farewell()
        )

    async def scene() -> None:
        async with serving(certificate, script) as endpoint, pool(certificate) as way:
            for _ in range(3):
                async with way.ask(endpoint, post()) as reply:
                    assert await reply.read() == b"ok"

    play(scene())
    assert resumed == [False, True, True]


def test_a_certificate_that_is_over_is_refused(play: Play[Any], tmp_path: Path) -> None:
    """U1."""
    expired = make_expired(tmp_path, "DNS:localhost")

    async def script(peer: Peer) -> None:
        await peer.request()

    async def scene() -> None:
        async with serving(expired, script) as endpoint, pool(expired) as way, way.ask(endpoint, post()):
            pass

    with pytest.raises(BackendUnreachable, match="certificate has expired"):
        play(scene())


def test_an_older_tls_is_spoken_too(play: Play[Any], certificate: Certificate) -> None:
    context = certificate.context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    async def script(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            await peer.put(peer.sealed(LENGTH % 2, b"ok"))

    async def scene() -> None:
        async with serving(certificate, script, context) as endpoint, pool(certificate) as way:
            for _ in range(2):
                async with way.ask(endpoint, post()) as reply:
                    assert await reply.read() == b"ok"

    play(scene())


async def heard_from(server: subprocess.Popen[bytes], words: bytes) -> None:
    """Until the server has said so."""
    assert server.stdout
    said = b""
    async with asyncio.timeout(120):
        while words not in said:
            said += await asyncio.to_thread(server.stdout.read1)


def test_a_server_may_change_its_keys_on_the_way(play: Play[Any], certificate: Certificate) -> None:
    """RFC 8446 4.6.3, with a server that asks for new ones from us, too."""
    port = own_port()
    command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-tls1_3", "-msg"]
    command += ["-cert", str(certificate.file), "-key", str(certificate.key)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def says(words: bytes) -> None:
        assert server.stdin
        server.stdin.write(words)
        server.stdin.flush()

    async def scene() -> None:
        await heard_from(server, b"ACCEPT")
        async with pool(certificate) as way:
            for _ in range(2):
                asking = way.ask(Endpoint("localhost", port, True), post())
                if asking.begin() is None:
                    await asking.open()
                await heard_from(server, b"POST / HTTP/1.1")
                says(LENGTH % 12 + b"hello\n")
                async with asking as reply:
                    assert await reply.chunk() == b"hello\n"
                    says(b"K\n")
                    await heard_from(server, b"KeyUpdate")
                    says(b"world\n")
                    assert await reply.chunk() == b"world\n"
                    assert await reply.chunk() == b""

    try:
        play(scene())
    finally:
        server.kill()
        server.communicate()
