"""TLS to backends: whom to trust, and how a connection begins that is not the first.

A server that we have spoken with gives us something to begin the next connection with. Then neither side proves again who it
is, and most of a handshake's arithmetic is spared. It is kept for that server alone; one that cannot deal with what it gave
is not given it again.
"""

from __future__ import annotations

import ssl
from functools import partial

from clew.http.client.connection import ClientConnection
from clew.http.client.tls import TlsTransport
from clew.upstream.endpoint import Endpoint

__all__ = ["Tls"]


class Tls:
    """`ca_file` adds authorities to the system's, it does not replace them."""

    def __init__(self, ca_file: str | None = None) -> None:
        self._ca_file = ca_file
        self._context: ssl.SSLContext | None = None
        self._sessions: dict[Endpoint, ssl.SSLSession] = {}
        self._forgetful: set[Endpoint] = set()
        """Those with which every connection begins like the first."""

    def transport(self, above: ClientConnection, endpoint: Endpoint) -> TlsTransport:
        """Not connected yet. The context is made when first needed: loading the system's authorities takes a while."""
        self._context = self._context or _context(self._ca_file)
        keep = None if endpoint in self._forgetful else partial(self._sessions.__setitem__, endpoint)
        return TlsTransport(above, self._context, endpoint.host, session=self._sessions.get(endpoint), keep=keep)

    def failed(self, endpoint: Endpoint) -> None:
        """There was no handshake. If it began with what was kept, that may be why, and would be why for ever."""
        if self._sessions.pop(endpoint, None) is not None:
            self._forgetful.add(endpoint)


def _context(ca_file: str | None) -> ssl.SSLContext:
    """Verifies the chain and the name."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context
