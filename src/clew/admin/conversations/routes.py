"""What the routes of conversations answer. Whoever asks has what is its principal's own, and nothing of anybody else's."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from clew.admin.access import Caller
from clew.admin.conversations.telling import Telling
from clew.admin.desk import Desk
from clew.admin.parameters import read_body
from clew.admin.problem import Problem
from clew.admin.routing import as_json
from clew.backends.row import Credential
from clew.chat.local import LocalThreadService, conversation_store
from clew.chat.opening import service_on
from clew.chat.remote.protocol import (
    AvailableBackends,
    CallMark,
    OpenedThread,
    RemoteError,
    RemoteQuestion,
    RemoteTurn,
    remote_error_of,
    remote_turn_of,
)
from clew.chat.service import Claim, Question
from clew.errors import ClewError, RequestInvalid
from clew.model.json import JsonObject
from clew.store.values import Thread

__all__ = ["ask", "begun", "mark", "opened", "place", "rename", "sent", "stop"]

Endpoint: TypeAlias = Callable[[Desk, Request], Awaitable[Response]]

_ID: Final = re.compile(r"[0-9A-Za-z._-]{1,64}")
_MEGABYTE: Final = 1024 * 1024


class Told(RemoteError, frozen=True, kw_only=True):
    """An exception of clew's, as the admin tells problems and as the other side raises it again."""

    what: str
    why: str


def troubled(endpoint: Endpoint) -> Endpoint:
    """What clew raises on purpose is raised again where it was asked for."""

    @wraps(endpoint)
    async def answer(desk: Desk, request: Request) -> Response:
        try:
            return await endpoint(desk, request)
        except ClewError as error:
            told = Told(**msgspec.structs.asdict(remote_error_of(error)), what="that did not work", why=str(error))
            return as_json({"error": told}, error.status)

    return answer


@troubled
async def place(desk: Desk, request: Request) -> Response:
    """Who could answer; if nothing is kept here, nobody."""
    conversation_store(desk.working)
    return as_json(_place(desk))


@troubled
async def opened(desk: Desk, request: Request) -> Response:
    """With `known`, only that nothing is new, if nothing is."""
    found = await _found(desk, request)
    known = request.query_params.get("known", "") == str(found.thread.turns)
    if known:
        return as_json(OpenedThread(thread=found.thread, turns=None, place=_place(desk)))
    return await desk.read(lambda: as_json(OpenedThread(thread=found.thread, turns=_told(found), place=_place(desk))))


@troubled
async def ask(desk: Desk, request: Request) -> Response:
    """Saved, then asked, then told as it comes; whoever leaves stops it, and what was finished is kept."""
    desk.tellings.check_open()
    body = await read_body(request, RemoteQuestion, desk.working.current.settings.gateway.max_body_megabytes * _MEGABYTE)
    own = await desk.read(lambda: _desk_for(desk, request, body))
    telling = Telling(own, await desk.read(lambda: _question(body, own)))
    try:
        await telling.begun()
    except BaseException:
        telling.leave()
        raise
    return _Answer(desk, telling, _caller(request).principal)


class _Answer(StreamingResponse):
    """Whoever asked may be gone before the first event is told: then the answer is stopped all the same."""

    def __init__(self, desk: Desk, telling: Telling, principal: str) -> None:
        super().__init__(telling.events(desk.closing), media_type="text/event-stream")
        self._listening = desk.tellings.listening(principal, telling)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._listening:
            await super().__call__(scope, receive, send)


@troubled
async def stop(desk: Desk, request: Request) -> Response:
    """The turn as it is kept then; as it is, if it was over already."""
    turn = request.path_params["turn"]
    telling = desk.tellings.get(_caller(request).principal, turn)
    if telling is not None:
        return as_json(await telling.stop())
    found = await _found(desk, request)
    if turn not in found.tree:
        raise RequestInvalid(f"there is no turn {turn[:100]!r} in this conversation")
    return as_json(remote_turn_of(found.tree[turn]))


class Name(Struct, forbid_unknown_fields=True):
    title: str


@troubled
async def rename(desk: Desk, request: Request) -> Response:
    title = (await read_body(request, Name)).title
    found = await _found(desk, request)
    await found.rename(title)
    return as_json(found.thread)


@troubled
async def begun(desk: Desk, request: Request) -> Response:
    """The turn whose calls somebody began to run."""
    return as_json(await _marked(await _found(desk, request)))


@troubled
async def mark(desk: Desk, request: Request) -> Response:
    """Kept when this answers: whoever runs tools says so first. The answer is whose they are now."""
    wish, found = await read_body(request, CallMark), await _found(desk, request)
    if wish.turn and wish.turn not in found.tree:
        raise RequestInvalid(f"there is no turn {wish.turn[:100]!r} in this conversation", path="turn")
    if any(name and not _ID.fullmatch(name) for name in (wish.run, wish.was)):
        raise RequestInvalid("a run is named by up to 64 letters, digits and `._-`", path="run")
    await found.note_begun(Claim(wish.run, wish.turn, wish.was), wish.followers)
    return as_json(await _marked(found))


async def _marked(found: LocalThreadService) -> CallMark:
    begun = await found.calls_begun()
    return CallMark(begun.turn, run=begun.run, lives=begun.lives)


@troubled
async def sent(desk: Desk, request: Request) -> Response:
    """The line up to `turn`, as this backend would get it."""
    found, query = await _found(desk, request), request.query_params
    tip, backend, model = query.get("turn") or found.tree.newest, query.get("backend", found.active), query.get("model", "")
    if tip not in found.tree:
        raise RequestInvalid(f"there is no turn {tip[:100]!r} in this conversation")
    return as_json(await found.as_sent(tip, backend, model))


def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


def _told(found: LocalThreadService) -> tuple[RemoteTurn, ...]:
    return tuple(remote_turn_of(spot) for spot in found.tree)


def _place(desk: Desk) -> AvailableBackends:
    current = desk.working.current
    settings = current.settings
    return AvailableBackends(
        backends={**dict.fromkeys(settings.disabled, ""), **{name: row.model for name, row in settings.backends.items()}},
        active=current.snapshot.active,
    )


async def _found(desk: Desk, request: Request) -> LocalThreadService:
    """The thread whose id begins so. Raises RequestInvalid if there is none."""
    principal, works, id = _caller(request).principal, desk.working, request.path_params["id"]
    return await desk.read(lambda: service_on(works, id, principal=principal))


def _desk_for(desk: Desk, request: Request, body: RemoteQuestion) -> LocalThreadService:
    """Of the thread with this id; of a new one, if there is none."""
    caller, id = _caller(request), request.path_params["id"]
    if not _ID.fullmatch(id):
        raise Problem(400, "this is no id of a conversation", "it has up to 64 letters and digits")
    thread = desk.kept.thread(caller.principal, id) or _new(caller.principal, id, body)
    own = LocalThreadService(desk.working, thread, credential=_credential(request))
    own.load()
    return own


def _new(principal: str, id: str, body: RemoteQuestion) -> Thread:
    session, now = body.session or id, time.time()
    return Thread(
        id=id, principal=principal, session=session, agent=body.agent, title="", pin="", created=now, used=now, turns=0
    )


def _credential(request: Request) -> Credential:
    """The caller's own, for backends that take it: what it showed beside what let it in."""
    caller = _caller(request)
    if caller.door == "key":
        return caller.credential
    names = ("x-api-key", "authorization") if caller.door == "socket" else ("x-api-key",)
    return tuple((name, value) for name in names if (value := request.headers.get(name, "")))


class _Message(Struct):
    role: Literal["user"]
    content: str | list[JsonObject]


def _question(body: RemoteQuestion, desk: LocalThreadService) -> Question:
    """Raises RequestInvalid for what nobody can say, or where nothing was said, or to somebody that there is not."""
    if body.follows and body.follows not in desk.tree:
        raise RequestInvalid(f"there is no turn {body.follows[:100]!r} in this conversation", path="follows")
    if body.backend and body.backend not in desk.backends:
        raise RequestInvalid(f"there is no backend {body.backend[:100]!r}", path="backend")
    return Question(
        asked=tuple(map(_said, body.asked)),
        follows=body.follows,
        model=body.model,
        backend=body.backend,
        wishes=body.wishes,
    )


def _said(raw: Raw) -> bytes:
    try:
        message = msgspec.json.decode(raw, type=_Message)
    except (ValueError, RecursionError) as error:
        raise RequestInvalid(f"this is no message of a user's: {error}", path="asked") from None
    if not message.content:
        raise RequestInvalid("there is nothing to say: the content is empty", path="asked")
    return bytes(raw)
