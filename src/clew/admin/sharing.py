"""Sharing: which pages of other origins may call which routes, and what browsers must be told so that they let them.

Only what is named is shared: the paths of the chat, with the origins in `[chat] origins`, each compared as it is. A page
from there has nothing but the key that it shows; cookies are never its to use, so nothing ever says that they may be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from starlette.types import Message, Scope, Send

__all__ = ["Headers", "Sharing", "is_preflight", "send_preflight", "shared_with", "with_headers"]

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

PREFIX: Final = "/api/chat"
_METHODS: Final = b"DELETE, GET, PATCH, POST"
_TAKEN: Final = b"authorization, content-type, x-api-key, x-clew-key"
_SHOWN: Final = b"retry-after, x-vercel-ai-ui-message-stream"
_SECONDS: Final = b"600"


class Sharing:
    """`origins` are those of now: settings change while the admin runs."""

    def __init__(self, origins: Callable[[], Collection[str]] = tuple) -> None:
        self._origins = origins

    def allows(self, scope: Scope, origin: str) -> bool:
        path: str = scope["path"]
        return (path == PREFIX or path.startswith(f"{PREFIX}/")) and origin in self._origins()


def is_preflight(scope: Scope) -> bool:
    """Whether a browser asks if it may ask."""
    return scope["method"] == "OPTIONS" and any(name == b"access-control-request-method" for name, _ in scope["headers"])


async def send_preflight(scope: Scope, send: Send) -> None:
    """What may be asked. A browser that holds this machine for a private network wants to hear that too."""
    headers = [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", _TAKEN),
        (b"access-control-max-age", _SECONDS),
    ]
    if any(name == b"access-control-request-private-network" for name, _ in scope["headers"]):
        headers.append((b"access-control-allow-private-network", b"true"))
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def shared_with(origin: str) -> Headers:
    """On every answer to a page of this origin."""
    return (
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _SHOWN),
        (b"cross-origin-resource-policy", b"cross-origin"),
        (b"vary", b"origin"),
    )


def with_headers(send: Send, headers: Headers) -> Send:
    """Every answer carries these, where it does not say something else itself."""

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", ())}
            more = [pair for pair in headers if pair[0] not in own]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return dressed
