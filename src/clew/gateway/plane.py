"""The data plane: from a request on the wire to the engine, and nothing but the checks between.

In this order: the border (Host, Origin), the route, the credential that the route asks for, the content type, the number of
streams. Each check gives a `Refusal` or lets the request pass; a refusal is written in the client's dialect. All but the
last need only the head, and are made once: before a long body is read (`check`), else with the request.

The plane listens before the engine is there: a request that comes too early waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from clew.dialects import DIALECTS
from clew.errors import ClewError
from clew.exchange.call import Call
from clew.gateway.admission import CREDENTIALS, Admission, Border, Keys, admit, check_content
from clew.gateway.models import list_for
from clew.gateway.plan import is_loopback
from clew.gateway.replies import BUSY, ENDING, fail, refuse, send_json
from clew.gateway.routes import Action, Match, RouteTable
from clew.http.message import LENGTH, HttpRefusal, HttpRequest, RequestHead
from clew.http.responder import Responder
from clew.model.json import JsonValue
from clew.settings.values import GatewaySettings, Settings

_log = logging.getLogger("clew.gateway")
_KEPT_HERE: Final = CREDENTIALS | {LENGTH}
"""Headers that the engine does not get: credentials, and the length of a body that comes with the call."""


class ExchangeEngine(Protocol):
    """The part of the engine that the data plane uses."""

    def answer(self, call: Call, client: Responder) -> Awaitable[None] | None:
        """Do everything from here to the recorded end. Returns what is left to await; None if the engine keeps `client`.

        Either raises ClewError only while the response has not begun.
        """
        ...


class SettingsSource(Protocol):
    """The settings that are in force, and what is wrong with newer ones."""

    @property
    def settings(self) -> Settings: ...

    @property
    def problem(self) -> str:
        """Why the settings are not the newest that were written; "" if they are."""
        ...


class StartupSettings:
    """The settings that a process was started with, until the engine follows them."""

    problem = ""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings


_Answer: TypeAlias = Callable[[HttpRequest, Match, Responder], None]


class CheckedHead(Struct, frozen=True, eq=False):
    """Of a request whose head passed the checks: its route, and who asks."""

    match: Match
    admission: Admission


class DataPlane:
    """Answers requests. `listening` says where, as soon as that is known; `serve` brings the engine."""

    def __init__(
        self,
        source: SettingsSource,
        keys: Keys,
        routes: RouteTable | None = None,
        *,
        room: int = sys.maxsize,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`room`: so many requests can be answered at the same time, whatever the settings allow."""
        self.draining = False
        self.source = source
        self._keys = keys
        self._room = room
        self._wall = wall
        self._routes = routes or RouteTable()
        self._engine: ExchangeEngine | None = None
        self._store_state: Callable[[], str] | None = None
        self._loaded = asyncio.Event()
        self._running = 0
        self._after = self._end_exchange  # bound once for all
        self._address = ("127.0.0.1", 0)
        self._border: tuple[GatewaySettings, Border] | None = None
        self._own_answers: dict[Action, _Answer] = {
            "greet": lambda request, match, respond: send_json(respond, {"message": "clew"}),
            "health": lambda request, match, respond: send_json(respond, {"status": "ok"}),
            "readiness": self._readiness,
            "models": self._list_models,
            "model": self._list_models,
        }
        """To what needs no engine."""

    @property
    def running(self) -> int:
        """How many exchanges are under way."""
        return self._running

    def listening(self, host: str, port: int) -> None:
        self._address, self._border = (host, port), None

    def serve(
        self,
        engine: ExchangeEngine,
        source: SettingsSource | None = None,
        store_state: Callable[[], str] | None = None,
    ) -> None:
        """`store_state` says how the store is, for `/readyz`."""
        self._engine = engine
        self._store_state = store_state
        self.source = source or self.source
        self._loaded.set()

    def handle(self, request: HttpRequest, respond: Responder) -> Awaitable[None] | None:
        """Answer one request, at once or later. A head that was checked before its body came is not checked again."""
        found = request.checked if isinstance(request.checked, CheckedHead) else self.check(request)
        if isinstance(found, HttpRefusal):
            self.refuse(found, respond)
            return None
        route = found.match.route
        if route.action != "exchange":
            self._own_answers[route.action](request, found.match, respond)
            return None
        if self._running >= min(self.source.settings.gateway.max_streams, self._room):
            refuse(BUSY, respond, route.dialect)
            return None
        self._running += 1
        respond.after = self._after
        call = _call_of(request, found)
        if self._engine is None:
            return self._finish(self._wait_and_answer(call, respond), respond, route.dialect)
        try:
            work = self._engine.answer(call, respond)
        except ClewError as error:
            fail(error, respond, route.dialect)
            return None
        return None if work is None else self._finish(work, respond, route.dialect)

    def check(self, request: HttpRequest) -> CheckedHead | HttpRefusal:
        """Check the head of a request, whose body may still be to come: who asks for what, or why it is refused."""
        settings, head = self.source.settings, request.head
        if self._border is None or self._border[0] is not settings.gateway:  # the settings changed
            gateway = settings.gateway
            self._border = gateway, Border(*self._address, hosts=gateway.hosts, origins=gateway.origins)
        border = self._border[1]
        match = border.check(request) or self._routes.find(head.method, head.path)
        if isinstance(match, HttpRefusal):
            return _note_refusal(match, head)
        found = admit(request, match.route, self._keys, border, settings, self._wall())
        if isinstance(found, Admission) and head.method == "POST":
            found = check_content(request) or found
        return _note_refusal(found, head) if isinstance(found, HttpRefusal) else CheckedHead(match, found)

    def refuse(self, refusal: HttpRefusal, respond: Responder) -> None:
        """Answer a request that is refused, here or by the HTTP layer, in the shape of the path that it asked for."""
        refuse(refusal, respond, self._routes.dialect_at(refusal.path))

    # The answers.

    def _readiness(self, request: HttpRequest, match: Match, respond: Responder) -> None:
        status = "draining" if self.draining else "ready" if self._loaded.is_set() else "starting"
        body: dict[str, JsonValue] = {"status": status}
        if is_loopback(self._address[0]) and (problem := self.source.problem):
            body["problem"] = problem
        if self._store_state is not None:  # as it is, and no reason to say 503: answers go on without it
            body["store"] = self._store_state()
        send_json(respond, body, 200 if status == "ready" else 503)

    def _list_models(self, request: HttpRequest, match: Match, respond: Responder) -> None:
        """Answer with all models, or with the model that the path names."""
        settings = self.source.settings
        models = list_for(request.joined, request.query)
        try:
            found = models.one(settings, match.name) if match.name else models.page(settings, request.query)
        except ClewError as error:
            fail(error, respond, models.dialect)
            return
        if found is None:
            reason = "There is no model of that name; GET /v1/models lists the models."
            refuse(HttpRefusal(404, reason), respond, models.dialect, is_about_model=True)
        else:
            send_json(respond, found)

    def _end_exchange(self) -> None:
        self._running -= 1

    async def _wait_and_answer(self, call: Call, respond: Responder) -> None:
        await self._loaded.wait()
        assert self._engine is not None
        work = self._engine.answer(call, respond)
        if work is not None:
            await work

    async def _finish(self, work: Awaitable[None], respond: Responder, dialect: str) -> None:
        """Await the rest of an exchange, and send its error if the response has not begun."""
        try:
            await work
        except ClewError as error:
            if respond.started:
                raise
            fail(error, respond, dialect)
        except asyncio.CancelledError:
            if respond.draining and not respond.started:
                refuse(ENDING, respond, dialect)
            raise


def _note_refusal(refusal: HttpRefusal, head: RequestHead) -> HttpRefusal:
    """Log a refusal, and add the path to it. A client that opens a WebSocket is told to use HTTP."""
    if refusal.status == 405 and head.joined.get("upgrade", "").lower() == "websocket":
        reason = f"{head.path} is served over HTTP alone: send a POST instead of opening a WebSocket."
        refusal = HttpRefusal(426, reason, (("upgrade", "HTTP/1.1"), *refusal.headers))
    _log.info("request refused with status %d", refusal.status)
    return replace(refusal, path=head.path)


def _call_of(request: HttpRequest, checked: CheckedHead) -> Call:
    """What the engine may know of the request: everything but the credentials."""
    head, route = request.head, checked.match.route
    headers = dict(head.joined)
    for name in _KEPT_HERE & headers.keys():
        del headers[name]
    return Call(
        kind=route.operation,
        method=head.method,
        name=checked.match.name,
        body=request.body,
        query=head.query,
        headers=headers,
        principal=checked.admission.principal,
        credential=checked.admission.credential,
        key=checked.admission.key,
        team=checked.admission.team,
        rights=checked.admission.rights,
        front=DIALECTS[route.dialect],
    )
