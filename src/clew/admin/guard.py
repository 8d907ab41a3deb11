"""The guard in front of every route: where a request may come from, and which headers every answer carries.

Nothing in a request is trusted before its `Host` is known to be this listener's: a page of another site can make a browser
call this machine under any name (DNS rebinding). Then come the origin, and the browser's own headers about who called. A
request over the unix socket needs none of this: only the owner can open the socket.

Some routes are shared with pages of other origins: the paths of the chat, with the origins in `[chat] origins`, each
compared as it is. A page from there can use only the key that it shows; no answer ever allows such a page to send cookies.

Written as plain ASGI, outside of the routes, so that a path that does not exist is guarded like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, TypeAlias

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.admin.problems import AdminProblem

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

_SHARED_PREFIX: Final = "/api/chat"
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"DELETE, GET, PATCH, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, x-api-key, x-clew-key"),
    (b"access-control-max-age", b"600"),
)
_SHARED: Final = (
    (b"access-control-expose-headers", b"retry-after, x-vercel-ai-ui-message-stream"),
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"vary", b"origin"),
)
"""On every answer to a page of another origin, beside its name."""
_GUEST: Final = "clew.guest"
_USE_ADDRESS: Final = "use the address that `clew serve` or `clew ui` prints"

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Guard:
    """Wraps the routes. `hosts` are the values of `Host` that are this listener's own.

    `origins` gives the present origins of other pages that may call the chat, and `proxied` the names by which browsers
    reach a proxy in front of the admin: settings change while the admin runs.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Iterable[str],
        origins: Callable[[], Collection[str]] = tuple,
        proxied: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._app = app
        self._proxied = proxied
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        send = _with_headers(send, HEADERS)
        problem = None if is_socket(scope) else self._refusal(scope)
        if problem is not None:
            await send_problem(problem, send)
            return
        if is_foreign(scope):
            origin = (b"access-control-allow-origin", scope[_GUEST].encode("latin-1"))
            send = _with_headers(send, (origin, *_SHARED))
            if scope["method"] == "OPTIONS" and _all(scope, b"access-control-request-method"):
                # What a page of another origin may send. Some browsers also ask whether they may call a private network.
                is_private = bool(_all(scope, b"access-control-request-private-network"))
                headers = [*_PREFLIGHT, *([(b"access-control-allow-private-network", b"true")] if is_private else [])]
                await send({"type": "http.response.start", "status": 204, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> AdminProblem | None:
        hosts = _all(scope, b"host")
        is_proxied = len(hosts) == 1 and hosts[0].lower() in self._proxied()
        if len(hosts) != 1 or not (is_proxied or hosts[0].lower() in self._hosts):
            what = "this is not the server that was asked for"
            return AdminProblem(421, what, "the Host header names another", _USE_ADDRESS)
        origins = _all(scope, b"origin")
        is_shared = f"{scope['path']}/".startswith(f"{_SHARED_PREFIX}/")
        if len(origins) == 1 and origins[0] != f"http://{hosts[0]}" and is_shared and origins[0] in self._origins():
            scope[_GUEST] = origins[0]
            return None
        if origins and origins != [f"http{'s' if is_proxied else ''}://{hosts[0]}"]:
            return AdminProblem(403, "refused", "the request comes from a page of another origin", _USE_ADDRESS)
        # Following a link here is fine, any other call from another site is not.
        is_link = scope["method"] == "GET" and header(scope, b"sec-fetch-mode") == "navigate"
        if header(scope, b"sec-fetch-site") in ("", "same-origin", "none") or (
            is_link and not header(scope, b"sec-purpose")
        ):
            return None
        return AdminProblem(403, "refused", "the request comes from a page of another site", _USE_ADDRESS)


def is_socket(scope: Scope) -> bool:
    """Whether the request came over the unix socket: the server says so, by the address it listens on."""
    server = scope.get("server")
    return server is not None and server[1] is None


def is_foreign(scope: Scope) -> bool:
    """Whether the request comes from a page of another origin that may call the chat."""
    return _GUEST in scope


def header(scope: Scope, name: bytes) -> str:
    """The first header of that name; "" if there is none."""
    return next(iter(_all(scope, name)), "")


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for given, value in scope["headers"] if given == name]


async def send_problem(problem: AdminProblem, send: Send) -> None:
    body = msgspec.json.encode({"error": problem.said})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send, headers: Headers) -> Send:
    """Adds these headers to every answer that does not have its own of the same name."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", ())}
            more = [pair for pair in headers if pair[0] not in own]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with_headers
