"""Connections that begin with what the server gave us: with that server, and only as long as it can deal with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clew.errors import BackendUnreachable
from clew.http.client.message import ClientRequest
from clew.upstream.endpoint import Endpoint
from clew.upstream.pool import Pool, PoolSettings
from tests.upstream.certificates import make_certificate
from tests.upstream.peers import Play, play

pytestmark = pytest.mark.slow
__all__ = ["play"]

POST = ClientRequest(method=b"POST", target=b"/", headers=((b"host", b"x"),), body=b"{}")
OK = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"
DECRYPT_ERROR = b"\x15\x03\x03\x00\x02\x02\x33"
"""An alert, fatal."""


def test_a_server_that_chokes_on_what_it_gave_is_not_given_it_again(play: Play[Any], tmp_path: Path) -> None:
    """Else a backend that was asked once could never be asked again."""
    certificate = make_certificate(tmp_path, "DNS:localhost")
    context = certificate.context()
    resumed: list[bool] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(resumed) == 1:
            await reader.read(1)
            resumed.append(True)
            writer.write(DECRYPT_ERROR)
        else:
            await writer.start_tls(context)
            await reader.readuntil(b"{}")
            resumed.append(writer.get_extra_info("ssl_object").session_reused)
            writer.write(OK)
        writer.close()

    async def scene() -> list[bytes | str]:
        told: list[bytes | str] = []
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        endpoint, way = Endpoint("localhost", server.sockets[0].getsockname()[1], True), _way(certificate.file)
        for _ in range(4):
            try:
                async with way.ask(endpoint, POST) as reply:
                    told.append(await reply.read())
            except BackendUnreachable as error:
                told.append(str(error).rpartition(": ")[2])
        way.close()
        server.close()
        return told

    assert play(scene()) == [b"ok", "TLSV1_ALERT_DECRYPT_ERROR", b"ok", b"ok"]
    assert resumed == [False, True, False, False]


def _way(ca_file: Path) -> Pool:
    return Pool(PoolSettings(ca_file=str(ca_file)))
