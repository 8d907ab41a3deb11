"""Outgoing: the request as it goes to a backend, in bytes, with the headers that it needs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from clew.backends.row import auth_headers
from clew.engine.call import Call
from clew.engine.route import Way
from clew.http.client.message import ClientRequest
from clew.model.request import Request
from clew.upstream.endpoint import Endpoint, endpoint_of

__all__ = ["Place", "outgoing", "place_of"]

_OURS = (
    (b"content-type", b"application/json"),
    (b"accept-encoding", b"identity"),  # a watcher reads along, and nothing that comes may grow
)


class Place(NamedTuple):
    """Where a base URL leads: the endpoint, the path in front of ours, and the `host` header."""

    endpoint: Endpoint
    path: str
    host: tuple[bytes, bytes]


@lru_cache(maxsize=256)
def place_of(url: str) -> Place:
    """Bases come from the settings alone, so there are few."""
    found = endpoint_of(url)
    return Place(found, urlsplit(url).path.rstrip("/"), (b"host", found.authority.encode("latin-1")))


def outgoing(call: Call, way: Way, going: Request, body: bytes) -> ClientRequest:
    """The request, for one way."""
    place = place_of(way.backend.url)
    own = auth_headers(way.backend, way.key, call.credential)
    return ClientRequest(
        method=b"POST",
        target=f"{place.path}{way.dialect.path(call)}".encode("latin-1", "replace"),
        headers=(place.host, *_OURS, *own, *way.dialect.headers(call, going)),
        body=body,
    )
