"""The routes of conversations. A caller sees only what is its principal's own."""

from __future__ import annotations

import re
from functools import wraps
from typing import Final, Literal

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from clew.admin.problems import AdminProblem
from clew.admin.remote_answers import RemoteAnswer
from clew.admin.requests import read_body
from clew.admin.routing import Endpoint, as_json, caller_of
from clew.admin.services import AdminServices
from clew.admin.threads import TitleBody
from clew.chat.local import LocalThreadService, conversation_store
from clew.chat.opening import service_on
from clew.chat.remote.protocol import (
    AvailableBackends,
    CallMark,
    OpenedThread,
    RemoteError,
    RemoteQuestion,
    remote_error_of,
    remote_turn_of,
)
from clew.chat.service import Claim, Question
from clew.errors import ClewError, RequestInvalid
from clew.model.json import JsonObject

_ID: Final = re.compile(r"[0-9A-Za-z._-]{1,64}")
_MEGABYTE: Final = 1024 * 1024


class ErrorReply(RemoteError, frozen=True, kw_only=True):
    """An exception of clew's, in the form of an admin's problem, and with what the library needs to raise it again."""

    what: str
    why: str


def with_library_errors(endpoint: Endpoint) -> Endpoint:
    """Errors that clew raises on purpose are raised again by the library that asked."""

    @wraps(endpoint)
    async def answer(services: AdminServices, request: Request) -> Response:
        try:
            return await endpoint(services, request)
        except ClewError as error:
            reply = ErrorReply(**msgspec.structs.asdict(remote_error_of(error)), what="that did not work", why=str(error))
            return as_json({"error": reply}, error.status)

    return answer


@with_library_errors
async def place(services: AdminServices, request: Request) -> Response:
    """The backends that can answer. Raises SettingsInvalid if nothing is kept here."""
    conversation_store(services.working)
    return as_json(_place(services))


@with_library_errors
async def read_conversation(services: AdminServices, request: Request) -> Response:
    """A conversation; without its turns, if `known` says that the library has them all."""
    found = await _find(services, request)
    if request.query_params.get("known", "") == str(found.thread.turns):
        return as_json(OpenedThread(thread=found.thread, turns=None, place=_place(services)))

    def read() -> Response:
        turns = tuple(remote_turn_of(spot) for spot in found.tree)
        return as_json(OpenedThread(thread=found.thread, turns=turns, place=_place(services)))

    return await services.read(read)


class _AnswerResponse(StreamingResponse):
    """A client may leave before the first event is sent: then the answer is stopped all the same."""

    def __init__(self, services: AdminServices, answer: RemoteAnswer, principal: str) -> None:
        super().__init__(answer.events(services.closing), media_type="text/event-stream")
        self._listening = services.answers.listening(principal, answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._listening:
            await super().__call__(scope, receive, send)


@with_library_errors
async def ask(services: AdminServices, request: Request) -> Response:
    """Saved, then asked, then sent as it comes. A client that leaves stops it; finished blocks are recorded."""
    services.answers.check_open()
    most = services.working.current.settings.gateway.max_body_megabytes * _MEGABYTE
    body = await read_body(request, RemoteQuestion, most)
    service = await services.read(lambda: _open_or_create(services, request, body))
    answer = RemoteAnswer(service, await services.read(lambda: _question(body, service)))
    try:
        await answer.wait_until_begun()
    except BaseException:
        answer.leave()
        raise
    return _AnswerResponse(services, answer, caller_of(request).principal)


@with_library_errors
async def stop(services: AdminServices, request: Request) -> Response:
    """The turn as it is recorded then; as it is, if it was over already."""
    turn = request.path_params["turn"]
    answer = services.answers.get(caller_of(request).principal, turn)
    if answer is not None:
        return as_json(await answer.stop())
    found = await _find(services, request)
    _check_turn(found, turn)
    return as_json(remote_turn_of(found.tree[turn]))


@with_library_errors
async def rename(services: AdminServices, request: Request) -> Response:
    title = (await read_body(request, TitleBody)).title
    found = await _find(services, request)
    await found.rename(title)
    return as_json(found.thread)


@with_library_errors
async def read_begun_calls(services: AdminServices, request: Request) -> Response:
    """The turn whose calls a run began."""
    return as_json(await _mark_of(await _find(services, request)))


@with_library_errors
async def mark(services: AdminServices, request: Request) -> Response:
    """Recorded when this answers, before the library runs tools. The answer says which run has them now."""
    wish, found = await read_body(request, CallMark), await _find(services, request)
    if wish.turn:
        _check_turn(found, wish.turn, path="turn")
    if any(name and not _ID.fullmatch(name) for name in (wish.run, wish.was)):
        raise RequestInvalid("a run is named by up to 64 letters, digits and `._-`", path="run")
    await found.note_begun(Claim(wish.run, wish.turn, wish.was), wish.followers)
    return as_json(await _mark_of(found))


async def _mark_of(found: LocalThreadService) -> CallMark:
    begun = await found.calls_begun()
    return CallMark(begun.turn, run=begun.run, lives=begun.lives)


@with_library_errors
async def show_as_sent(services: AdminServices, request: Request) -> Response:
    """The line up to `turn`, as this backend would get it."""
    found, query = await _find(services, request), request.query_params
    tip = query.get("turn") or found.tree.newest
    _check_turn(found, tip)
    return as_json(await found.as_sent(tip, query.get("backend", found.active), query.get("model", "")))


def _check_turn(found: LocalThreadService, turn: str, path: str = "") -> None:
    if turn not in found.tree:
        raise RequestInvalid(f"there is no turn {turn[:100]!r} in this conversation", path=path)


def _place(services: AdminServices) -> AvailableBackends:
    current = services.working.current
    settings = current.settings
    return AvailableBackends(
        backends={**dict.fromkeys(settings.disabled, ""), **{name: row.model for name, row in settings.backends.items()}},
        active=current.snapshot.active,
    )


async def _find(services: AdminServices, request: Request) -> LocalThreadService:
    """The thread whose id begins so. Raises RequestInvalid if there is none."""
    principal, works, id = caller_of(request).principal, services.working, request.path_params["id"]
    return await services.read(lambda: service_on(works, id, principal=principal))


def _open_or_create(services: AdminServices, request: Request, body: RemoteQuestion) -> LocalThreadService:
    """The thread with this id; a new one, if there is none."""
    caller, id = caller_of(request), request.path_params["id"]
    if not _ID.fullmatch(id):
        raise AdminProblem(400, "this is not the id of a conversation", "it has up to 64 letters and digits")
    # For backends that take the client's own credential: what the caller showed beside what let it in.
    credential = caller.credential
    if caller.door != "key":
        names = ("x-api-key", "authorization") if caller.door == "socket" else ("x-api-key",)
        credential = tuple((name, value) for name in names if (value := request.headers.get(name, "")))
    return services.open_thread(caller, id, credential, session=body.session, agent=body.agent)


class _UserMessage(Struct):
    role: Literal["user"]
    content: str | list[JsonObject]


def _question(body: RemoteQuestion, service: LocalThreadService) -> Question:
    """Raises RequestInvalid for messages that are none or empty, and for a turn or a backend that does not exist."""
    if body.follows:
        _check_turn(service, body.follows, path="follows")
    if body.backend and body.backend not in service.backends:
        raise RequestInvalid(f"there is no backend {body.backend[:100]!r}", path="backend")
    for raw in body.asked:
        try:
            message = msgspec.json.decode(raw, type=_UserMessage)
        except (ValueError, RecursionError) as error:
            raise RequestInvalid(f"this is not a user message: {error}", path="asked") from None
        if not message.content:
            raise RequestInvalid("the content is empty: there is nothing to send", path="asked")
    return Question(
        asked=tuple(map(bytes, body.asked)),
        follows=body.follows,
        model=body.model,
        backend=body.backend,
        wishes=body.wishes,
    )
