"""TLS without sockets: whatever a server says in whatever records, cut wherever the network likes, is heard as it was said."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.client.tls import TlsTransport
from tests.counts import examples
from tests.upstream.certificates import Certificate, make_certificate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Good for `localhost`."""
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:localhost")


class Below:
    """A socket that takes everything."""

    def __init__(self) -> None:
        self.sent = b""
        self.is_over = False

    def write(self, data: bytes) -> None:
        self.sent += data

    def abort(self) -> None:
        self.is_over = True

    def set_write_buffer_limits(self, *, high: int, low: int) -> None:
        pass


class Above(asyncio.Protocol):
    """What is heard, and of which end."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.ends: list[str] = []

    def data_received(self, data: bytes) -> None:
        self.heard.append(data)

    def eof_received(self) -> None:
        self.ends.append("end")

    def connection_lost(self, exc: Exception | None) -> None:
        self.ends.append("cut" if exc else "closed")


class Server:
    """Its side, and what it has to say."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def shaken(self, heard: bytes) -> bytes:
        self._incoming.write(heard)
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
        return self._outgoing.read()

    def said(self, words: list[bytes], *, ends: bool) -> Iterator[bytes]:
        """Each in records of its own, and the word for the end."""
        for word in words:
            for start in range(0, len(word), 16384):
                self._tls.write(word[start : start + 16384])
            yield self._outgoing.read()
        if ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                self._tls.unwrap()
            yield self._outgoing.read()


async def heard(server: Server, client: ssl.SSLContext, words: list[bytes], ends: bool, by: int) -> Above:
    """`by` so many bytes comes what the server says; 0: as it was said."""
    above, below = Above(), Below()
    transport = TlsTransport(above, client, "localhost")
    transport.connection_made(cast("asyncio.Transport", below))
    for _ in range(2):
        sent, below.sent = below.sent, b""
        for part in _cut([server.shaken(sent)], by):
            transport.data_received(part)
    await transport.handshake()
    for part in _cut(server.said(words, ends=ends), by):
        transport.data_received(part)
    assert below.is_over == ends
    if not ends:
        transport.eof_received()
    transport.connection_lost(None)
    return above


def _cut(said: Iterator[bytes] | list[bytes], by: int) -> list[bytes]:
    if not by:
        return [part for part in said if part]
    whole = b"".join(said)
    return [whole[start : start + by] for start in range(0, len(whole), by)]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"bc" * 40, b"d" * 16384, b"e" * 40_000]), max_size=6),
    st.booleans(),
    st.sampled_from([0, 0, 7, 100, 16384, 20_000, 1_000_000]),
)
def test_what_is_said_is_heard_and_a_cut_is_no_end(
    certificate: Certificate, version: ssl.TLSVersion, words: list[bytes], ends: bool, by: int
) -> None:
    context, client = certificate.context(), ssl.create_default_context(cafile=str(certificate.file))
    context.maximum_version = version

    above = asyncio.run(heard(Server(context), client, words, ends, by))

    assert b"".join(above.heard) == b"".join(words)
    assert above.ends == (["end", "closed"] if ends else ["cut"])
