"""Routes about exchanges: a list of them, one with its bodies, and live events as SSE.

Live events are about the requests of one principal. A client that comes back with the id of the last exchange it saw first
gets those that it missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clew.admin.feed import EXCHANGE
from clew.admin.problems import AdminProblem
from clew.admin.requests import count, principal
from clew.admin.routing import as_json, caller_of, cookie_name
from clew.admin.services import AdminServices
from clew.engine.hub import HubEvent, Subscription, Value
from clew.exchange.redact import with_redacted_tries
from clew.model.turn import Bodies, Exchange, Heads

PING_SECONDS: Final = 15.0
PING: Final = b": still here\n\n"
MISSED: Final = 200
NOT_KEPT: Final = 'the bodies of this exchange are not kept; `[store] bodies = "last:50"` or `"all"` keeps those to come'


class ExchangeRows(Struct, frozen=True):
    exchanges: list[Exchange]


async def exchanges(services: AdminServices, request: Request) -> Response:
    """Newest first; with `after`, those after that exchange, oldest first."""
    store, query, owner, limit = services.kept, request.query_params, principal(request), count(request)
    after, thread_id = query.get("after"), query.get("thread")
    found = await services.read(lambda: store.exchanges(owner, thread=thread_id, limit=limit, after=after))
    redact = services.redactor()
    return as_json(ExchangeRows([with_redacted_tries(each, redact) for each in found]))


class BodyTexts(Struct, frozen=True):
    """Bodies as text, for people to read and compare."""

    asked: str
    sent: str
    answered: str


class ExchangePage(Struct, frozen=True):
    exchange: Exchange
    bodies: BodyTexts | None
    heads: Heads | None
    """Headers, without credentials."""
    note: str


async def exchange(services: AdminServices, request: Request) -> Response:
    store, owner, id = services.kept, principal(request), request.path_params["id"]
    found, bodies = await services.read(lambda: (store.exchange(owner, id), store.bodies(owner, id)))
    if found is None:
        raise AdminProblem(404, "there is no such exchange", "it may have been deleted", "list them with /api/exchanges")
    found = with_redacted_tries(found, services.redactor())
    if bodies is None:
        return as_json(ExchangePage(found, None, None, NOT_KEPT))
    return as_json(ExchangePage(found, texts_of(bodies, services), heads_of(bodies, services), ""))


def texts_of(bodies: Bodies, services: AdminServices) -> BodyTexts:
    """The bodies, without any key that is loaded now."""
    hide = services.redactor().values
    asked, sent, answered = (hide(raw.decode("utf-8", "replace")) for raw in (bodies.asked, bodies.sent, bodies.answered))
    return BodyTexts(asked, sent, answered)


def heads_of(bodies: Bodies, services: AdminServices) -> Heads:
    """The heads, without values that are secrets or look like one. Headers for credentials were never kept."""
    hide, heads = services.redactor(), bodies.heads
    asked, sent, answered = (
        tuple((name, hide(value)) for name, value in each) for each in (heads.asked, heads.sent, heads.answered)
    )
    return Heads(asked=asked, sent=sent, answered=answered, target=hide(heads.target), status=heads.status)


# Live events.


async def events(services: AdminServices, request: Request) -> Response:
    owner, last = principal(request), request.headers.get("last-event-id", "")

    async def stream() -> AsyncGenerator[bytes]:
        """Subscribes before it reads what was missed, so that nothing falls between."""
        async with services.feed.watch() as live:
            yield PING
            missed: list[Exchange] = []
            if last and services.store is not None:
                missed = await services.read(lambda: services.kept.exchanges(owner, after=last, limit=MISSED))
            for exchange in missed:
                yield _sse(EXCHANGE, exchange)
            sent = {(exchange.id, exchange.outcome) for exchange in missed}
            async for event in _until_closing(live, services.closing):
                session = request.cookies.get(cookie_name(request), "")
                if caller_of(request).door == "browser" and services.access.session(session) is None:
                    return  # its session is over: the browser learns why when it comes back
                if event is None:
                    yield PING
                    continue
                value = event.value
                # Exchanges go to listeners for their principal, all other events to everybody.
                if not isinstance(value, Exchange) or (value.principal == owner and (value.id, value.outcome) not in sent):
                    yield _sse(event.kind, value, live.dropped)

    return StreamingResponse(stream(), media_type="text/event-stream")


async def _until_closing(live: Subscription, closing: asyncio.Event) -> AsyncGenerator[HubEvent | None]:
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


def _sse(kind: str, value: Value, dropped: int = 0) -> bytes:
    """JSON has no raw line ends, so one line of data holds it. An exchange that is over has an id to come back with."""
    id = ""
    if isinstance(value, Exchange) and value.outcome != "open" and value.id.isascii() and value.id.isprintable():
        id = f"id: {value.id}\n"
    lost = f": {dropped} events were lost, this client is too slow\n" if dropped else ""
    return f"{lost}event: {kind}\n{id}data: {msgspec.json.encode(value).decode()}\n\n".encode()
