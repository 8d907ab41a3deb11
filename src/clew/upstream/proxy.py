"""The way through a proxy: which one the environment names, and the CONNECT that opens a tunnel.

Only for an operator who asks: a variable that some other tool left behind must not decide where prompts and keys travel.
Plain and TLS endpoints are both tunnelled, so a proxy never sees a request. A proxy that is itself
reached by TLS is refused.
"""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from clew.errors import SettingsInvalid
from clew.http.client.message import ResponseBroken, ResponseLimits
from clew.http.client.reader import ResponseReader
from clew.upstream.endpoint import Endpoint

__all__ = ["Proxy", "ProxyRefused", "open_tunnel", "proxy_for"]

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
    return _proxy_of(url)


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
    await loop.sock_sendall(plug, _request(proxy, endpoint))
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


def _request(proxy: Proxy, endpoint: Endpoint) -> bytes:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    where = f"{host}:{endpoint.port}".encode("idna" if not host.isascii() else "ascii")
    lines = [b"CONNECT %b HTTP/1.1" % where, b"host: %b" % where]
    if proxy.authorization:
        lines.append(b"proxy-authorization: %b" % proxy.authorization)
    return b"\r\n".join([*lines, b"", b""])


def _variable(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _proxy_of(url: str) -> Proxy:
    """Says what is wrong without showing the URL, which may hold a password."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SettingsInvalid("the proxy's URL cannot be read", key="proxy") from None
    if parts.scheme != "http" or not host:
        raise SettingsInvalid("a proxy is given as http://HOST:PORT; other schemes are not spoken", key="proxy")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    secret = b"Basic " + b64encode(f"{user}:{password}".encode()) if user else b""
    return Proxy(host, port or _DEFAULT_PORT, secret)
