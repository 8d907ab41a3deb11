"""Line: the way to a gateway's admin listener, by its address or by the socket that only its owner can open."""

from __future__ import annotations

from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from clew.backends.row import Credential
from clew.chat.remote.troubles import refused
from clew.errors import BackendBroken, SettingsInvalid
from clew.http.client.message import ClientRequest, Headers, Timeouts
from clew.upstream.endpoint import Endpoint, endpoint_of
from clew.upstream.pool import Asking, Pool, PoolSettings
from clew.upstream.reply import Reply

__all__ = ["Line", "check"]

T = TypeVar("T")

_PATH: Final = "/api/conversations"
_TIMEOUTS: Final = Timeouts(first_byte=60.0, gap=120.0)
"""A gateway that waits for a backend says so every few seconds."""


class Line:
    """Requests to one gateway. Belongs to the event loop that it is made in; close it at the end."""

    def __init__(self, url: str = "", *, socket: str = "", key: str = "", credential: Credential = ()) -> None:
        """`credential` is the caller's own, for backends that take that. Raises SettingsInvalid for a URL
        or a key that cannot be used."""
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

    def ask(self, method: str, path: str = "", body: object = None) -> Asking:
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
        """The whole answer as a value. Raises what the gateway raised, and BackendError where there is no gateway."""
        async with self.ask(method, path, body) as reply:
            await check(reply)
            raw = await reply.read()
        try:
            return msgspec.json.decode(raw, type=type)
        except (ValueError, RecursionError) as error:
            raise BackendBroken(f"the gateway's answer cannot be read: {error}") from None


async def check(reply: Reply) -> None:
    """Raises what the gateway refused with."""
    if reply.status != 200:
        wait = next((value for name, value in reply.headers if name.lower() == b"retry-after"), b"")
        raise refused(reply.status, await reply.read(), wait.decode("latin-1"))
