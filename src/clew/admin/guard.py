"""The guard in front of every route: where a request may come from, and what every answer carries.

Nothing of a request is believed before its `Host` is known to be ours: a page of another site can make a browser call this
machine under any name (DNS rebinding). Then come the origin, and the browser's own word about who called. A request over the
unix socket has none of these worries: only the owner can open it. Some routes are shared with pages of other origins
(`clew.admin.sharing`); who calls from there is marked, and known by its key alone.

Written as plain ASGI, outside of the routes, so that a path which does not exist is guarded like all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from clew.admin.problem import Problem
from clew.admin.sharing import Sharing, is_preflight, send_preflight, shared_with, with_headers

__all__ = ["HEADERS", "Guard", "header", "is_foreign", "is_socket", "send_problem"]

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types clew"
)
HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
"""On every answer."""

SAFE: Final = frozenset({"GET", "HEAD"})

_GUEST: Final = "clew.guest"


class Guard:
    """Wraps the routes. `hosts` are the values of `Host` that are this listener's own; `sharing`: what others may call."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], sharing: Sharing | None = None) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._sharing = sharing or Sharing()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        dressed = with_headers(send, HEADERS)
        problem = None if is_socket(scope) else self._refusal(scope)
        if problem is not None:
            await send_problem(problem, dressed)
        elif is_foreign(scope):
            await self._host(scope, receive, dressed)
        else:
            await self._app(scope, receive, dressed)

    async def _host(self, scope: Scope, receive: Receive, send: Send) -> None:
        """For a page of another origin."""
        dressed = with_headers(send, shared_with(scope[_GUEST]))
        if is_preflight(scope):
            await send_preflight(scope, dressed)
        else:
            await self._app(scope, receive, dressed)

    def _refusal(self, scope: Scope) -> Problem | None:
        hosts = _all(scope, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return Problem(421, "this is not the server that was asked for", "the Host header names another", _BY_NAME)
        origins = _all(scope, b"origin")
        if len(origins) == 1 and origins[0] != f"http://{hosts[0]}" and self._sharing.allows(scope, origins[0]):
            scope[_GUEST] = origins[0]
            return None
        if origins and origins != [f"http://{hosts[0]}"]:
            return Problem(403, "refused", "the request comes from a page of another origin", _BY_NAME)
        return _refused_by_fetch(scope)


_BY_NAME: Final = "use the address that `clew serve` or `clew ui` prints"


def _refused_by_fetch(scope: Scope) -> Problem | None:
    """What the browser says about who called. Following a link here is fine, anything else from another site is not."""
    site = header(scope, b"sec-fetch-site")
    if site in ("", "same-origin", "none"):
        return None
    if scope["method"] == "GET" and header(scope, b"sec-fetch-mode") == "navigate" and not header(scope, b"sec-purpose"):
        return None
    return Problem(403, "refused", "the request comes from a page of another site", _BY_NAME)


def is_socket(scope: Scope) -> bool:
    """Whether the request came over the unix socket: the server says so, by the address it listens on."""
    server = scope.get("server")
    return server is not None and server[1] is None


def is_foreign(scope: Scope) -> bool:
    """Whether a page of another origin asks, one that may."""
    return _GUEST in scope


def header(scope: Scope, name: bytes) -> str:
    """The first of that name; "" if there is none."""
    return next(iter(_all(scope, name)), "")


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for given, value in scope["headers"] if given == name]


async def send_problem(problem: Problem, send: Send) -> None:
    body = msgspec.json.encode({"error": problem.said})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
