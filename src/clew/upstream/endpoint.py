"""Where a backend listens: the part of its URL that a connection belongs to."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from clew.errors import SettingsInvalid

__all__ = ["Endpoint", "endpoint_of"]

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
