"""Where a backend listens, and the way to it through a proxy: which one the environment names, and the CONNECT
request.

A proxy is used only if the operator asks for it: a variable that another tool left behind must not decide where prompts
and keys travel. Plain and TLS endpoints are both tunnelled, so a proxy never sees a request. A proxy that is itself
reached by TLS is refused.
"""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.http.client.message import ResponseBroken, ResponseLimits
from clew.http.client.reader import ResponseReader

_PORTS = {"http": 80, "https": 443}


class Endpoint(Struct, frozen=True):
    """A host and a port, with TLS or without. Connections are shared by all who ask the same one."""

    host: str
    """A name or an address, without brackets."""
    port: int
    tls: bool
    socket: str = ""
    """The path of a unix socket on this machine, where there is one in place of a port."""

    @property
    def authority(self) -> str:
        """As the `host` header says it: the port only if it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.socket or self.port == _PORTS["https" if self.tls else "http"] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return self.socket or f"{'https' if self.tls else 'http'}://{self.authority}"


def endpoint_of(url: str) -> Endpoint:
    """The endpoint of a base URL. Raises SettingsInvalid for one that we cannot connect to, and does not show it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SettingsInvalid(f"a base URL cannot be read: {error}", key="url") from None
    if parts.scheme not in _PORTS or not host:
        raise SettingsInvalid("a base URL begins with http:// or https:// and a host", key="url")
    if parts.username is not None or parts.password is not None:
        raise SettingsInvalid("a base URL holds no credentials: a key has a setting of its own", key="url")
    return Endpoint(host, port or _PORTS[parts.scheme], parts.scheme == "https")


_DEFAULT_PORT = 3128
_READ_BYTES = 4096


class ProxyRefused(ConnectionError):
    """The proxy answered, and not with a tunnel."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and what it wants to see."""

    host: str
    port: int
    authorization: bytes = field(default=b"", repr=False)
    """The value of `proxy-authorization`; empty for none."""


def proxy_for(endpoint: Endpoint, environ: Mapping[str, str]) -> Proxy | None:
    """What HTTPS_PROXY, HTTP_PROXY and NO_PROXY (or their lower-case forms, which win) say about an endpoint."""
    url = _variable(environ, "https_proxy" if endpoint.tls else "http_proxy")
    exempt = _variable(environ, "no_proxy")
    if not url or (exempt and _is_exempt(endpoint, exempt)):
        return None
    try:  # what is wrong is said without showing the URL, which may hold a password
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SettingsInvalid("the proxy's URL cannot be read", key="proxy") from None
    if parts.scheme != "http" or not host:
        raise SettingsInvalid("a proxy is given as http://HOST:PORT; other schemes are not spoken", key="proxy")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    secret = b"Basic " + b64encode(f"{user}:{password}".encode()) if user else b""
    return Proxy(host, port or _DEFAULT_PORT, secret)


def _is_exempt(endpoint: Endpoint, exempt: str) -> bool:
    """Entries are names (which hold for what ends in them too), addresses, either with a port, or `*`."""
    host = endpoint.host.lower()
    for entry in exempt.lower().split(","):
        name = entry.strip().removesuffix(f":{endpoint.port}").removeprefix("*.").lstrip(".")
        if name and (name in ("*", host) or host.endswith(f".{name}")):
            return True
    return False


async def open_tunnel(plug: socket.socket, proxy: Proxy, endpoint: Endpoint) -> None:
    """Ask the proxy behind a connected socket for a way to the endpoint. Raises ProxyRefused."""
    loop = asyncio.get_running_loop()
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    where = f"{host}:{endpoint.port}".encode("idna" if not host.isascii() else "ascii")
    lines = [b"CONNECT %b HTTP/1.1" % where, b"host: %b" % where]
    if proxy.authorization:
        lines.append(b"proxy-authorization: %b" % proxy.authorization)
    await loop.sock_sendall(plug, b"\r\n".join([*lines, b"", b""]))
    reader = ResponseReader(ResponseLimits(), head_only=True)
    while reader.head is None:
        data = await loop.sock_recv(plug, _READ_BYTES)
        if not data:
            raise ProxyRefused(f"the proxy {proxy.host} closed the connection")
        try:
            reader.feed(data)
        except ResponseBroken as error:
            raise ProxyRefused(f"the proxy {proxy.host}: {error}") from error
    if not 200 <= reader.head.status < 300:
        raise ProxyRefused(f"the proxy {proxy.host} answered {reader.head.status}")


def _variable(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()
