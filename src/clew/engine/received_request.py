"""A client's request as an exchange gets it: with what is known of its history (`gathering`) and the routes that it may
take. Nothing is looked up here."""

from __future__ import annotations

from msgspec import UNSET

from clew.backends.credential import Credential
from clew.engine.gathering import GatheredFacts
from clew.engine.route import RouteQuery, class_of, routes_of
from clew.engine.snapshot import Snapshot
from clew.engine.titles import asks_for_title
from clew.errors import BackendDisabled, BackendUnknown
from clew.exchange.call import Call
from clew.exchange.inputs import BackendRoute, ReceivedRequest
from clew.model.recording import Recording
from clew.model.request import Request
from clew.pipeline.step import Facts

MOST_WAYS = 1000
"""Answers to remember; names of models come from clients, so there is no end to them."""


def receive_request(
    call: Call, snapshot: Snapshot, known: GatheredFacts, new_thread: str, request: Request
) -> ReceivedRequest:
    """What is asked. Pure but for the memo of the snapshot."""
    routes, failure = ((), known.doubt) if known.doubt else _routes(call, request, snapshot, known.newest, known.pin)
    stream = request.body.stream
    return ReceivedRequest(
        call=call,
        request=request,
        options=snapshot.exchange,
        facts=Facts(
            options=snapshot.options,
            recordings=known.shelf,
            context=call.context,
            sealer=snapshot.sealer,
            version=call.version,
        ),
        shelf=known.shelf,
        newest=known.newest,
        thread=known.thread or new_thread,
        routes=routes,
        streams=call.kind == "messages" and stream is not UNSET and bytes(stream) == b"true",
        is_title=asks_for_title(call, request.body),
        failure=failure,
    )


def _routes(
    call: Call, request: Request, snapshot: Snapshot, newest: Recording | None, pin: str
) -> tuple[tuple[BackendRoute, ...], BackendDisabled | BackendUnknown | None]:
    """Those to try; or none, and why."""
    settings = snapshot.settings
    query = RouteQuery(
        model=request.body.model,
        agent=call.client.agent,
        request_class=class_of(call.kind, request.body, call.client.request_class) if settings.rules else "",
        pin=pin,
        began_with=newest.origin.backend if newest else "",
    )
    try:
        return _known_ways(snapshot, query, call.credential), None
    except BackendDisabled as error:
        return (), error
    except BackendUnknown as error:
        return (), _explained(error, snapshot)


def _known_ways(snapshot: Snapshot, query: RouteQuery, credential: Credential) -> tuple[BackendRoute, ...]:
    """The same question has the same answer as long as the settings are the same."""
    memo, asked = snapshot.routes, (query, tuple(credential))
    routes = memo.get(asked)  # large requests are read in threads, so it may be gone a moment later
    if routes is None:
        if len(memo) >= MOST_WAYS:
            memo.clear()
        routes = memo[asked] = routes_of(snapshot.settings, snapshot.active, query, credential)
    return routes


def _explained(error: BackendUnknown, snapshot: Snapshot) -> BackendUnknown:
    """The error with its reason and with what helps, for a person who reads it in a client."""
    why = f"It could not use the newest settings: {snapshot.problem}. " if snapshot.problem else ""
    return BackendUnknown(
        f"clew does not know the backend {error.key!r} that was chosen for this request, and asks no other in its place. "
        f"{why}It has: {', '.join(sorted(snapshot.settings.backends))}. "
        "Choose one of these with `clew use NAME`, or add the backend to the settings; `clew doctor` says more.",
        key=error.key,
    )
