"""The connection to a gateway's admin listener: by its address, or by the socket that only its owner can open.

The gateway is one at a given address, or one that runs on this machine and has registered in its home.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from clew.backends.credential import Credential, credential_in
from clew.chat.remote.protocol import refusal_of
from clew.errors import BackendBroken, SettingsInvalid
from clew.http.client.message import ClientRequest
from clew.model.http import Headers, Timeouts
from clew.settings.home import Home
from clew.settings.own_keys import KEY_VARIABLE
from clew.settings.processes import RegisteredGateway, registered_gateways
from clew.upstream.endpoint import Endpoint, endpoint_of
from clew.upstream.pool import Pool, PooledCall, PoolSettings
from clew.upstream.reply import BackendReply

T = TypeVar("T")

AUTO: Final = "auto"
"""In place of an address: the gateway of this home, if one runs."""

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_PATH: Final = "/api/conversations"
_TIMEOUTS: Final = Timeouts(first_byte=60.0, gap=120.0)
"""A gateway that waits for a backend sends a ping every few seconds."""


class GatewayConnection:
    """Sends requests to one gateway. It belongs to the event loop in which it is made; close it at the end."""

    def __init__(self, url: str = "", *, socket: str = "", key: str = "", credential: Credential = ()) -> None:
        """`credential` is the caller's own, for backends that take it. Raises SettingsInvalid for an invalid URL or key."""
        if not (key.isascii() and key.isprintable()):
            raise SettingsInvalid("a key has only letters, digits and signs that can be printed", key="key")
        self._endpoint = Endpoint("clew", 0, tls=False, socket=socket) if socket else endpoint_of(url)
        self._base = "" if socket else urlsplit(url).path.rstrip("/")
        bearer = ((b"authorization", f"Bearer {key}".encode()),) if key else ()
        own = tuple((name.encode(), value.encode()) for name, value in credential if not key or name != "authorization")
        self._headers: Headers = ((b"host", self._endpoint.authority.encode()), *bearer, *own)
        self._pool = Pool(PoolSettings(timeouts=_TIMEOUTS))

    def close(self) -> None:
        self._pool.close()

    def ask(self, method: str, path: str = "", body: object = None) -> PooledCall:
        """Send a request; `async with` it for the reply."""
        kind = () if body is None else ((b"content-type", b"application/json"),)
        request = ClientRequest(
            method=method.encode(),
            target=f"{self._base}{_PATH}{path}".encode(),
            headers=(*self._headers, *kind),
            body=b"" if body is None else msgspec.json.encode(body),
        )
        return self._pool.ask(self._endpoint, request)

    async def get(self, method: str, path: str, type: type[T], body: object = None) -> T:
        """The whole reply as a value. Raises the gateway's exception, and BackendError if there is no gateway."""
        async with self.ask(method, path, body) as reply:
            await check_reply(reply)
            raw = await reply.read()
        try:
            return msgspec.json.decode(raw, type=type)
        except (ValueError, RecursionError) as error:
            raise BackendBroken(f"the gateway's answer cannot be read: {error}") from None


async def check_reply(reply: BackendReply) -> None:
    """Raises the exception of a refusal."""
    if reply.status != 200:
        wait = next((value for name, value in reply.headers if name.lower() == b"retry-after"), b"")
        raise refusal_of(reply.status, await reply.read(), wait.decode("latin-1"))


def gateway_in(home: Home) -> RegisteredGateway | None:
    """The gateway with an admin that has run longest in this home. Reads files."""
    return next((gateway for gateway in registered_gateways(home) if gateway.socket), None)


def connection_to(gateway: RegisteredGateway, environ: Mapping[str, str]) -> GatewayConnection:
    """A connection by the gateway's socket, which only its owner can open."""
    return GatewayConnection(socket=gateway.socket, credential=credential_in(environ))


def connection_at(url: str, key: str, environ: Mapping[str, str]) -> GatewayConnection:
    """A connection by the gateway's address, with a key. The caller's own vendor key never leaves this machine."""
    near = urlsplit(url).hostname in _LOOPBACK
    own = credential_in(environ) if near else ()
    return GatewayConnection(url, key=key or environ.get(KEY_VARIABLE, "").strip(), credential=own)
