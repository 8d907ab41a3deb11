"""The data plane: from a request on the wire to the engine, and nothing but the checks between.

In this order: the border (Host, Origin), the route, the credential that the route asks for, the form of the body, room for
one more. Each is a plain look-up that gives a `Refusal` or lets pass; what is refused is said in the client's dialect. All
but the last need only the head, and are made before a long body is read (`check`).

The plane listens before the engine is there: a request that comes too early waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias

from msgspec import Struct

from clew.backends.row import Secret
from clew.engine.call import Call
from clew.errors import ClewError
from clew.gateway import models
from clew.gateway.admission import CREDENTIALS, Access, Keys, admit
from clew.gateway.border import Border, check_content, is_loopback
from clew.gateway.replies import BUSY, ENDING, fail, refuse, send_json
from clew.gateway.routes import Action, Match, RouteTable
from clew.http.message import LENGTH, HttpRequest, Refusal
from clew.http.responder import Responder
from clew.model.json import JsonValue
from clew.settings.values import GatewaySettings, Settings

__all__ = ["Answers", "AsStarted", "DataPlane", "Governs"]

_log = logging.getLogger("clew.gateway")


class Answers(Protocol):
    """What the plane needs of the engine."""

    def answer(self, call: Call, client: Responder) -> Awaitable[None] | None:
        """Everything from here to the recorded end: what is left of it to await, or nothing if somebody holds `client`.

        Either raises ClewError only while the response has not begun.
        """
        ...


class Governs(Protocol):
    """What the plane needs to know of the present settings."""

    @property
    def settings(self) -> Settings: ...

    @property
    def problem(self) -> str:
        """Why the settings are not the newest that were written; "" if they are."""
        ...


class AsStarted:
    """The settings until somebody follows them."""

    problem = ""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings


_Answer: TypeAlias = "Callable[[HttpRequest, _Pass, Responder], Awaitable[None] | None]"


class _Pass(Struct, frozen=True, eq=False):
    """What the checks found about a head."""

    answer: _Answer
    match: Match
    access: Access
    call: Call
    """What the engine may know of it: of the head all but the credentials."""
    most_streams: int


class DataPlane:
    """Answers requests. `listening` says where, as soon as that is known; `serve` brings the engine."""

    def __init__(self, governs: Governs, keys: Keys, routes: RouteTable | None = None, *, room: int = sys.maxsize) -> None:
        """`room`: so many requests can be answered at the same time, whatever the settings allow."""
        self.draining = False
        self.governs = governs
        self._keys = keys
        self._room = room
        self._routes = routes or RouteTable()
        self._engine: Answers | None = None
        self._loaded = asyncio.Event()
        self._running = 0
        self._after = self._left  # bound once for all
        self._place = ("127.0.0.1", 0)
        self._border: tuple[GatewaySettings, Border] | None = None
        self._actions: dict[Action, _Answer] = {
            "greet": self._greet,
            "health": self._health,
            "readiness": self._readiness,
            "messages": self._exchange,
            "count_tokens": self._exchange,
            "models": self._models,
            "model": self._model,
        }

    @property
    def running(self) -> int:
        """Exchanges under way."""
        return self._running

    def listening(self, host: str, port: int) -> None:
        self._place, self._border = (host, port), None

    def serve(self, engine: Answers, governs: Governs | None = None) -> None:
        self._engine = engine
        self.governs = governs or self.governs
        self._loaded.set()

    def handle(self, request: HttpRequest, respond: Responder) -> Awaitable[None] | None:
        """Answer one request, at once or later."""
        found = self._let_in(request)
        if isinstance(found, _Pass):
            return found.answer(request, found, respond)
        refuse(found, respond)
        return None

    def check(self, request: HttpRequest) -> Refusal | None:
        """Why a request whose body is still to come is refused; None if it is not."""
        found = self._let_in(request)
        return found if isinstance(found, Refusal) else None

    def refuse(self, refusal: Refusal, respond: Responder) -> None:
        """What the HTTP layer does not even hand on."""
        refuse(refusal, respond)

    # The checks.

    def _let_in(self, request: HttpRequest) -> _Pass | Refusal:
        """The checks look at the head alone."""
        found = self._check(request)
        if isinstance(found, Refusal):
            _log.info("refused with %d", found.status)
            return found
        most = min(self.governs.settings.gateway.max_streams, self._room)
        return _Pass(self._actions[found[0].route.action], *found, _call(request, *found), most)

    def _check(self, request: HttpRequest) -> tuple[Match, Access] | Refusal:
        border = self._present_border()
        if refusal := border.check(request):
            return refusal
        match = self._routes.find(request.method, request.path)
        if isinstance(match, Refusal):
            return match
        settings = self.governs.settings
        near = is_loopback(self._place[0]) and border.is_near(request)
        held = self._held_keys() if near else ()
        access = admit(request, match.route.scope, self._keys, passthrough=near and settings.wants_no_key, held=held)
        if isinstance(access, Refusal):
            return access
        if request.method == "POST" and (refusal := check_content(request)):
            return refusal
        return match, access

    def _present_border(self) -> Border:
        """Made anew when the settings change."""
        gateway = self.governs.settings.gateway
        if self._border is None or self._border[0] is not gateway:
            self._border = gateway, Border(*self._place, hosts=gateway.hosts, origins=gateway.origins)
        return self._border[1]

    def _held_keys(self) -> list[Secret]:
        return [key for backend in self.governs.settings.backends.values() for key in backend.keys]

    # The answers.

    def _greet(self, request: HttpRequest, granted: _Pass, respond: Responder) -> None:
        send_json(respond, {"message": "clew"})

    def _health(self, request: HttpRequest, granted: _Pass, respond: Responder) -> None:
        send_json(respond, {"status": "ok"})

    def _readiness(self, request: HttpRequest, granted: _Pass, respond: Responder) -> None:
        status = "draining" if self.draining else "ready" if self._loaded.is_set() else "starting"
        told: dict[str, JsonValue] = {"status": status}
        if is_loopback(self._place[0]) and (problem := self.governs.problem):
            told["problem"] = problem
        send_json(respond, told, 200 if status == "ready" else 503)

    def _models(self, request: HttpRequest, granted: _Pass, respond: Responder) -> None:
        try:
            page = models.listing(self.governs.settings, request.query)
        except ClewError as error:
            fail(error, respond)
        else:
            send_json(respond, page)

    def _model(self, request: HttpRequest, granted: _Pass, respond: Responder) -> None:
        row = models.one(self.governs.settings, granted.match.name)
        if row is None:
            refuse(Refusal(404, "There is no model of that name; GET /v1/models lists those that there are."), respond)
        else:
            send_json(respond, row)

    def _exchange(self, request: HttpRequest, granted: _Pass, respond: Responder) -> Awaitable[None] | None:
        if self._running >= granted.most_streams:
            refuse(BUSY, respond)
            return None
        self._running += 1
        respond.after = self._after
        if self._engine is None:
            return self._told(self._wait(granted.call, respond), respond)
        try:
            work = self._engine.answer(granted.call, respond)
        except ClewError as error:
            fail(error, respond)
            return None
        return None if work is None else self._told(work, respond)

    def _left(self) -> None:
        self._running -= 1

    async def _wait(self, call: Call, respond: Responder) -> None:
        await self._loaded.wait()
        assert self._engine is not None
        work = self._engine.answer(call, respond)
        if work is not None:
            await work

    async def _told(self, work: Awaitable[None], respond: Responder) -> None:
        try:
            await work
        except ClewError as error:
            if respond.started:
                raise
            fail(error, respond)
        except asyncio.CancelledError:
            if respond.draining and not respond.started:
                refuse(ENDING, respond)
            raise


def _call(request: HttpRequest, match: Match, access: Access) -> Call:
    return Call(
        kind="count_tokens" if match.route.action == "count_tokens" else "messages",
        body=request.body,
        query=request.query,
        headers=_for_the_engine(request.head.joined),
        principal=access.principal,
        credential=access.credential,
    )


def _for_the_engine(headers: Mapping[str, str]) -> Mapping[str, str]:
    """All but the credentials, and the length of a body that comes with them."""
    return {name: value for name, value in headers.items() if name not in CREDENTIALS and name != LENGTH}
