"""Finding a gateway: the one at an address, or one that runs on this machine and says so in its home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from clew.backends.credential import credential_in
from clew.chat.remote.line import Line
from clew.settings.gateway_key import KEY_VARIABLE
from clew.settings.home import Home
from clew.settings.processes import RegisteredGateway, registered_gateways

__all__ = ["AUTO", "gateway_in", "line_at", "line_to"]

AUTO: Final = "auto"
"""In place of an address: the gateway of this home, if one runs."""

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def gateway_in(home: Home) -> RegisteredGateway | None:
    """The gateway that runs longest in this home, of those that have an admin. Reads files."""
    return next((gateway for gateway in registered_gateways(home) if gateway.socket), None)


def line_to(gateway: RegisteredGateway, environ: Mapping[str, str]) -> Line:
    """By its socket: whoever can open that is its owner."""
    return Line(socket=gateway.socket, credential=credential_in(environ))


def line_at(url: str, key: str, environ: Mapping[str, str]) -> Line:
    """By its address, with a key. A vendor's key of the caller's own stays on this machine."""
    near = urlsplit(url).hostname in _LOOPBACK
    own = credential_in(environ) if near else ()
    return Line(url, key=key or environ.get(KEY_VARIABLE, "").strip(), credential=own)
