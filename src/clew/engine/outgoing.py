"""Outgoing: the request as it goes to a backend, in bytes, with the headers that it needs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from clew.backends.row import auth_headers
from clew.engine.call import Call
from clew.engine.route import BackendRoute
from clew.http.client.message import ClientRequest
from clew.model.request import Request
from clew.upstream.endpoint import Endpoint, endpoint_of

_OURS = (
    (b"content-type", b"application/json"),
    (b"accept-encoding", b"identity"),  # a watcher reads along, and nothing that comes may grow
)


class BackendAddress(NamedTuple):
    """Where a base URL leads: the endpoint, the path in front of ours, and the `host` header."""

    endpoint: Endpoint
    path: str
    host: tuple[bytes, bytes]


@lru_cache(maxsize=256)
def address_of(url: str) -> BackendAddress:
    """Bases come from the settings alone, so there are few."""
    found = endpoint_of(url)
    return BackendAddress(found, urlsplit(url).path.rstrip("/"), (b"host", found.authority.encode("latin-1")))


def outgoing(call: Call, route: BackendRoute, going: Request, body: bytes) -> ClientRequest:
    """The request, for one way."""
    place = address_of(route.backend.url)
    own = auth_headers(route.backend, route.key, call.credential)
    return ClientRequest(
        method=b"POST",
        target=f"{place.path}{route.dialect.path(call)}".encode("latin-1", "replace"),
        headers=(place.host, *_OURS, *own, *route.dialect.headers(call, going)),
        body=body,
    )
