"""Live events as SSE, about the requests of one principal.

A client that comes back with the id of the last exchange it saw gets those that it missed first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clew.admin.access import Caller
from clew.admin.desk import Desk
from clew.admin.feed import EXCHANGE
from clew.admin.parameters import principal
from clew.admin.routing import cookie_name
from clew.engine.hub import Event, Subscription, Value
from clew.store.values import Exchange

__all__ = ["events"]

PING_SECONDS: Final = 15.0
PING: Final = b": still here\n\n"
MISSED: Final = 200


async def events(desk: Desk, request: Request) -> Response:
    return StreamingResponse(_stream(desk, request), media_type="text/event-stream")


async def _stream(desk: Desk, request: Request) -> AsyncGenerator[bytes]:
    """Listens before it looks back, so that nothing falls between."""
    async with desk.feed.hub.subscribe() as live:
        yield PING
        missed = await _missed(desk, request)
        for exchange in missed:
            yield _written(EXCHANGE, exchange)
        told = {(exchange.id, exchange.outcome) for exchange in missed}
        async for event in _until_closing(live, desk.closing):
            if _has_ended(desk, request):
                return
            if event is None:
                yield PING
            elif _is_of(principal(request), event.value) and not (
                isinstance(event.value, Exchange) and (event.value.id, event.value.outcome) in told
            ):
                yield _written(event.kind, event.value, live.dropped)


def _is_of(owner: str, value: Value) -> bool:
    """Whether it is told to whoever listens for this principal. A switch is everybody's."""
    return not isinstance(value, Exchange) or value.principal == owner


def _has_ended(desk: Desk, request: Request) -> bool:
    """Whether a browser listens whose session is over: it hears no more, and learns why when it comes back."""
    caller: Caller = request.state.caller
    return caller.door == "browser" and desk.access.session(request.cookies.get(cookie_name(request), "")) is None


async def _missed(desk: Desk, request: Request) -> list[Exchange]:
    last, store = request.headers.get("last-event-id", ""), desk.store
    if not last or store is None:
        return []
    owner = principal(request)
    return await desk.read(lambda: store.exchanges(owner, after=last, limit=MISSED))


async def _until_closing(live: Subscription, closing: asyncio.Event) -> AsyncGenerator[Event | None]:
    """Each event; None where nothing happened for a while; the end when the admin closes."""
    ends = asyncio.ensure_future(closing.wait())
    arrives = asyncio.ensure_future(anext(live))
    try:
        while True:
            done, _ = await asyncio.wait((ends, arrives), timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if ends in done:
                return
            yield arrives.result() if arrives in done else None
            if arrives in done:
                arrives = asyncio.ensure_future(anext(live))
    finally:
        ends.cancel()
        arrives.cancel()


def _written(kind: str, value: Value, dropped: int = 0) -> bytes:
    """JSON has no raw line ends, so one line of data holds it. An exchange that is over has an id to come back with."""
    id = f"id: {value.id}\n" if isinstance(value, Exchange) and _marks(value) else ""
    behind = f": {dropped} events were lost, this client is too slow\n" if dropped else ""
    return f"{behind}event: {kind}\n{id}data: {msgspec.json.encode(value).decode()}\n\n".encode()


def _marks(exchange: Exchange) -> bool:
    return exchange.outcome != "open" and exchange.id.isascii() and exchange.id.isprintable()
