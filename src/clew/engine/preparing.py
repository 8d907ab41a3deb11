"""Preparing: what happens to a client's request before an exchange begins.

It is read, with what is known of its history (`histories`, `gathering`), and it is said which routes it may take (`route`)
and whether it asks for a title. What comes of it are values, and the machine that begins with them.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from msgspec import UNSET, Struct

from clew.backends.credential import Credential
from clew.engine.aside import LARGE
from clew.engine.gathering import GatheredFacts, gather, recall
from clew.engine.route import RouteQuery, class_of, maker_first, routes_of
from clew.engine.services import EngineServices
from clew.engine.snapshot import Snapshot
from clew.engine.stored_items import names_stored, read_completed
from clew.errors import BackendDisabled, BackendUnknown, KeyForbidden
from clew.exchange.call import Call
from clew.exchange.inputs import BackendRoute, ReceivedRequest
from clew.exchange.machine import ExchangeMachine
from clew.limits.keys import allows_backend, allows_model
from clew.model.facts.shapes import TitleRequest, title_requests
from clew.model.json import JsonValue
from clew.model.request import Body, Request, Wanted
from clew.pipeline.compaction import ask_for_summary
from clew.pipeline.step import Facts
from clew.thinking.keys import question_content
from clew.wire.other_models import named_models

MOST_WAYS = 1000
"""Answers to remember; names of models come from clients, so there is no end to them."""


def receive_request(
    call: Call, snapshot: Snapshot, known: GatheredFacts, new_thread: str, request: Request
) -> ReceivedRequest:
    """What is asked. Pure but for the memo of the snapshot."""
    native = request.source.native
    compacts = call.operation == "compact" or (native is not None and native.compacts)
    if compacts:
        request = ask_for_summary(request)
    routes, failure = ((), known.doubt) if known.doubt else _routes(call, request, snapshot, known)
    stream = request.body.stream
    return ReceivedRequest(
        call=call,
        request=request,
        options=snapshot.exchange,
        facts=Facts(
            options=snapshot.chat_options if call.entry else snapshot.options,
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
        is_title=not compacts and asks_for_title(call, request.body),
        compacts=compacts,
        failure=failure,
    )


def _routes(
    call: Call, request: Request, snapshot: Snapshot, known: GatheredFacts
) -> tuple[tuple[BackendRoute, ...], BackendDisabled | BackendUnknown | KeyForbidden | None]:
    """Those to try; or none, and why."""
    settings = snapshot.settings
    query = RouteQuery(
        model=request.body.model,
        agent=call.client.agent,
        request_class=class_of(call.kind, request.body, call.client.request_class) if settings.rules else "",
        pin=known.pin,
        began_with=known.newest.origin.backend if known.newest else "",
    )
    try:
        routes = maker_first(_known_ways(snapshot, query, call.credential), known.newest, known.shelf)
        return (permitted_routes(call, query.model, routes), None) if call.rights else (routes, None)
    except KeyForbidden as error:
        return (), error
    except BackendDisabled as error:
        return (), error
    except BackendUnknown as error:  # with what helps, for a person who reads it in a client
        why = f"It could not use the newest settings: {snapshot.problem}. " if snapshot.problem else ""
        return (), BackendUnknown(
            f"The backend {error.key!r} was chosen for this request, but this gateway does not have it, and clew uses no "
            f"other one instead. {why}It has: {', '.join(sorted(settings.backends))}. "
            "Choose one of these with `clew use NAME`, or add the backend to the settings; `clew doctor` says more.",
            key=error.key,
        )


def permitted_routes(call: Call, model: str, routes: tuple[BackendRoute, ...]) -> tuple[BackendRoute, ...]:
    """The routes that the client's key may take. Raises KeyForbidden where it may not have a model that the request names,
    or the backend that was chosen: no other one is asked in its place."""
    others = named_models(call.body) if any(rights.models for rights in call.rights) else ()
    for name in dict.fromkeys((model, *others)):
        if not allows_model(call.rights, name):
            raise KeyForbidden(f"The key {call.key!r} may not ask for the model {name}. Ask for one that it may use.")
    if routes and not allows_backend(call.rights, routes[0].backend.name):
        raise KeyForbidden(
            f"The key {call.key!r} may not use the backend {routes[0].backend.name}, which was chosen for this request, and "
            "clew asks no other in its place.",
            key=routes[0].backend.name,
        )
    return tuple(route for route in routes if allows_backend(call.rights, route.backend.name))


def _known_ways(snapshot: Snapshot, query: RouteQuery, credential: Credential) -> tuple[BackendRoute, ...]:
    """The same question has the same answer as long as the settings are the same."""
    memo, asked = snapshot.routes, (query, tuple(credential))
    routes = memo.get(asked)  # large requests are read in threads, so it may be gone a moment later
    if routes is None:
        if len(memo) >= MOST_WAYS:
            memo.clear()
        routes = memo[asked] = routes_of(snapshot.settings, snapshot.active, query, credential)
    return routes


def asks_for_title(call: Call, body: Body) -> bool:
    if call.kind != "messages" or call.entry is not None:
        return False
    rows = _title_requests_of(call.headers.get("user-agent", ""))
    if not rows or not (body.tools is UNSET or bytes(body.tools) == b"[]"):
        return False
    texts = question_content(message.content for message in body.messages[:1]).texts
    first, fields = texts[0] if texts else "", _fields_of(body)
    return any((not row.fields or row.fields == fields) and first.startswith(row.begins) for row in rows)


@lru_cache(maxsize=64)
def _title_requests_of(agent: str) -> tuple[TitleRequest, ...]:
    return tuple([row for row in title_requests() if agent.startswith(row.agent)])


class _Schema(Struct, frozen=True):
    properties: dict[str, JsonValue] = {}


class _Format(Struct, frozen=True):
    schema: _Schema = _Schema()


class _Output(Struct, frozen=True):
    format: _Format | None = None


def _fields_of(body: Body) -> frozenset[str]:
    """What the answer must be an object of."""
    if body.output_config is UNSET:
        return frozenset()
    try:
        wanted = msgspec.json.decode(body.output_config, type=_Output).format
    except (msgspec.MsgspecError, RecursionError):
        return frozenset()
    return frozenset(wanted.schema.properties) if wanted else frozenset()


class Preparation:
    """Of one call."""

    __slots__ = ("_call", "_id", "_request", "_services", "exchange", "is_light", "unasked", "wanted")

    def __init__(self, services: EngineServices, call: Call, id: str) -> None:
        self._services = services
        self._call = call
        self._id = id
        self._request: Request | None = None
        """Once it is read."""
        self.exchange: ExchangeMachine | None = None
        """Once the request is read, and a backend can be asked for it."""
        self.unasked: ReceivedRequest | None = None
        """What was read, if no backend can be asked for it."""
        self.is_light = True
        """What is done about all of its messages may be done at once: it is small, or it goes on from a request whose
        messages went as they came, under these settings."""
        self.wanted = Wanted()
        """Dropped when the client leaves: then work in a thread stops."""

    def begins_at_once(self) -> bool:
        """Make the exchange, if the request is light, and nothing has to be looked up in the store; else False. Raises
        ClewError if it cannot be read."""
        services, call = self._services, self._call
        if len(call.body) > LARGE:
            self._request = request = services.histories.recall(call)
            self.is_light = request is not None and request.source.untouched is services.snapshot().exchange
            if not self.is_light:
                return False
        elif names_stored(call):
            return False
        request = self._read_request()
        known = recall(services.store, call, request, self._id)
        if known is None:
            return False
        self._make_exchange(request, known)
        return True

    def look_up(self) -> None:
        """The same in a thread, whatever has to be looked up."""
        services, call, request = self._services, self._call, self._read_request()
        known = recall(services.store, call, request, self._id)
        if known is None:
            assert services.store is not None
            known = gather(services.store, call, request, self._id)
        self._make_exchange(request, known)

    def _read_request(self) -> Request:
        request = self._request
        if request is None:
            self._request = request = read_completed(self._services, self._call, self.wanted)
        request.source.wanted = self.wanted
        if len(self._call.body) <= LARGE < len(request.source.raw):  # it names its history
            self.is_light = False
        return request

    def _make_exchange(self, request: Request, known: GatheredFacts) -> None:
        """The exchange, with the request in the first target's form. A thread is named after its first exchange."""
        services = self._services
        received = receive_request(self._call, services.snapshot(), known, self._id, request)
        if received.failure is not None:
            self.unasked = received
            return
        facts, now, wall = services.process_facts(), services.clock(), services.wall()
        self.exchange = ExchangeMachine(self._id, received, facts, is_light=self.is_light, now=now, wall=wall)
        self.exchange.begin()
