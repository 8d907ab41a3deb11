"""The routes of the chat: ask, come back to an answer, stop it; and the chats that are the caller's own.

Bodies have the AI SDK's own fields, and clew's beside them.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

import msgspec
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from clew.admin.access import Caller
from clew.admin.chat.answering import ChatAnswer, ChatContext
from clew.admin.chat.elsewhere import StoredAnswer, stop_elsewhere
from clew.admin.chat.runs import ChatRun, ThreadKey
from clew.admin.chat.tools import ToolAnswer, chat_tools
from clew.admin.problems import AdminProblem
from clew.admin.requests import count, number, read_body
from clew.admin.routing import as_json, caller_name, caller_of
from clew.admin.services import AdminServices
from clew.admin.threads import FoundThreads, TitleBody, listed_threads, search_threads
from clew.backends.credential import credential_in
from clew.chat.agent.agent import AsyncAgent
from clew.chat.agent.run import AsyncRun
from clew.chat.conversation import AsyncConversation
from clew.chat.local import LocalThreadService
from clew.chat.messages import blocks_in
from clew.chat.request import Wishes
from clew.chat.service import Question
from clew.chat.turns import Tree
from clew.chat.ui.messages import metadata_of, ui_messages
from clew.chat.ui.parts import MEDIA_TYPE, Part, ui_headers
from clew.chat.ui.positions import UiPosition, position_of, position_of_single
from clew.chat.ui.requests import system_of
from clew.engine.ids import new_id
from clew.errors import RequestInvalid, SettingsInvalid
from clew.model.json import JsonObject
from clew.pipeline.ui.structure import derived_id
from clew.settings.values import ChatSettings

_MEGABYTE: Final = 1024 * 1024
_NO_CONTENT: Final = 204
_THREAD_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NO_SEGMENT: Final = (".", "..")
_SHOWN: Final[JsonObject] = {"type": "adaptive", "display": "summarized"}
_OFF: Final[JsonObject] = {"type": "disabled"}


class ChatBody(Struct, frozen=True, kw_only=True):
    """The body of `POST /api/chat`. Other fields are the front end's own and ignored."""

    id: str = ""
    """Of the chat; a new one if it is left out."""
    messages: list[JsonObject] = []
    """All messages of the chat, the last of which is to be answered."""
    message: JsonObject | None = None
    """Instead of all: the last alone, which then follows the newest answer."""
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = field(name="messageId", default=None)
    backend: str | None = None
    """The backend for this answer alone; "" is the active one."""
    model: str = ""
    effort: str = ""
    thinking: bool | JsonObject | None = None
    system: str = ""
    tools: list[JsonObject] = []
    """As the Messages API has them. The client runs them."""
    own_tools: bool = field(name="ownTools", default=False)
    """Let the model call the gateway's own tools (`[chat] tools`). Only for the gateway's owner."""
    decisions: dict[str, bool] = {}
    """With `ownTools`, and without messages: what the user decided about the calls of a turn that waits, by their ids."""
    turn: str = ""
    """That turn."""
    branch: bool = True
    """False: refuse a question after an answer that the chat went on from already, in another window for example."""
    max_tokens: int | None = None

    @property
    def checked_id(self) -> str:
        """Raises RequestInvalid for an id that no path can name: the other routes of this chat could not be reached."""
        if self.id in _NO_SEGMENT:
            raise RequestInvalid("the id of a chat is part of a path: it may be neither . nor ..", path="id")
        return self.id

    def place(self, tree: Tree) -> UiPosition:
        """Which turn this is. A message that is named was there before, and is asked again or in other words."""
        again, named = self.trigger == "regenerate-message", self.message_id or ""
        if self.messages:
            return position_of(self.messages, tree, again=again or bool(named))
        return position_of_single(self.message, tree, named=named, again=again)

    def wishes(self, usual: ChatSettings, *, new: bool) -> Wishes:
        """How to ask: as the body says, else as the settings do. An old chat has a model already."""
        thinking = usual.thinking if self.thinking is None else self.thinking
        if isinstance(thinking, bool):
            thinking = _SHOWN if thinking else _OFF
        return Wishes(
            model=self.model or (usual.model if new else ""),
            max_tokens=self.max_tokens or usual.max_tokens,
            system=self.system or system_of(self.messages) or usual.system,
            tools=self.tools,
            thinking=thinking,
            effort=self.effort or usual.effort,
        )


def thread_id(chat: str) -> str:
    """The thread of a chat: of the same name where that is a valid one, else of a name that is derived from it."""
    if not chat:
        return new_id()
    return chat if _THREAD_ID.fullmatch(chat) else derived_id("chat", chat)


def thread_key(request: Request) -> ThreadKey:
    """The caller's principal, and the thread of the chat that the path names."""
    return caller_of(request).principal, thread_id(request.path_params["id"])


class _RunResponse(StreamingResponse):
    """A run as a stream to one listener, who is counted out at the end, however the connection ends."""

    def __init__(self, run: ChatRun, head: Sequence[Part]) -> None:
        super().__init__(run.follow(head), headers=ui_headers(), media_type=MEDIA_TYPE)
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._run.leave()


async def post(services: AdminServices, request: Request) -> Response:
    """Ask a question. The question is saved before a backend is asked, and the answer goes on when all clients leave."""
    caller = caller_of(request)
    settings = services.current.snapshot.settings
    body = await read_body(request, ChatBody, settings.gateway.max_body_megabytes * _MEGABYTE)
    thread = (caller.principal, thread_id(body.checked_id))
    run = await services.runs.begin(thread, settings.chat.max_answers)
    try:
        context = await services.read(lambda: _open_thread(services, thread[1], caller))
        end = partial(services.runs.finish, thread, run)
        if body.own_tools:
            answer = ToolAnswer(run, context, await _tool_run(services, body, context.service, caller), body.turn, end)
        else:
            place = await asyncio.to_thread(_place, body, context.service.tree)
            answer = ChatAnswer(run, context, _question(body, place, context.service), place.message, end)
        return _RunResponse(run, (await answer.begin(),))
    except BaseException:
        run.fail()
        services.runs.finish(thread, run)
        raise


def _open_thread(services: AdminServices, id: str, caller: Caller) -> ChatContext:
    """The thread as it is in the store, or a new one."""
    # For backends that take the client's own credential: a key holder shows it beside the key, the owner has it in the
    # environment of this process.
    credential = caller.credential if caller.door in ("key", "proxy") else credential_in(os.environ)
    service = services.open_thread(caller, id, credential)
    backends = services.current.snapshot.settings.backends
    return ChatContext(service=service, account=lambda spots: metadata_of(spots, backends), hide=services.redactor().values)


async def _tool_run(services: AdminServices, body: ChatBody, service: LocalThreadService, caller: Caller) -> AsyncRun[str]:
    """The run of an agent with the gateway's own tools: a question, or what the user decided. Raises AdminProblem."""
    if caller.door == "key" or (caller.door == "proxy" and caller.role != "owner"):
        who = "a key" if caller.door == "key" else f"the role {caller.role}"
        raise AdminProblem(
            403, f"{who} cannot use the gateway's own tools", "they run with the rights of the gateway's owner"
        )
    try:
        tools = await asyncio.to_thread(chat_tools, services)
    except SettingsInvalid as error:
        raise AdminProblem(409, "the tools of the settings cannot be used", str(error)) from None
    if not tools:
        raise AdminProblem(409, "there are no tools", "`[chat] tools` names no file", "name one in the settings file")
    if body.turn and body.turn not in service.tree:
        raise AdminProblem(404, "there is no such turn in this chat", "it may have been deleted", "load the chat again")
    if body.decisions and service.tree.followers(body.turn):
        raise AdminProblem(409, "these calls are already decided", "the chat continued after them", "load the chat again")
    place = None if body.decisions else await asyncio.to_thread(_place, body, service.tree)
    conversation, _ = _conversation(body, place.follows if place else body.turn, service)
    agent: AsyncAgent[str] = AsyncAgent(tools=tools, max_tokens=conversation.wishes.max_tokens).on(conversation)
    if place is None:
        return agent.resume(body.decisions)
    messages = (msgspec.json.decode(raw, type=JsonObject) for raw in place.asked)
    return agent.stream([block for message in messages for block in blocks_in(message)])


def _place(body: ChatBody, tree: Tree) -> UiPosition:
    """Raises AdminProblem where the question would begin a branch that the client does not want."""
    place = body.place(tree)
    if not body.branch and tree.goes_on_after(place.follows):
        raise AdminProblem(
            409, "the chat went on after this answer", "somebody asked in another window", "load the chat again"
        )
    return place


def _question(body: ChatBody, place: UiPosition, service: LocalThreadService) -> Question:
    """Raises AdminProblem if neither the body nor the settings name a model."""
    conversation, backend = _conversation(body, place.follows, service)
    model, wishes = conversation.model, conversation.wishes
    return Question(asked=place.asked, follows=place.follows, model=model, backend=backend, wishes=wishes)


def _conversation(body: ChatBody, follows: str, service: LocalThreadService) -> tuple[AsyncConversation, str]:
    """The conversation after this turn, and the backend that the body names. Raises AdminProblem without a model."""
    usual = service.runtime.current.settings.chat
    conversation = AsyncConversation(service, body.wishes(usual, new=not len(service.tree)))
    if follows:
        conversation.branch(follows)
    backend = service.active if body.backend == "" else body.backend or ""
    try:
        if backend:
            conversation.use(backend)
        _ = conversation.model
    except SettingsInvalid as error:
        how = "name a `model` or a `backend` in the body, or a model under [chat] in the settings"
        raise AdminProblem(400, "there is no model to ask", str(error), how) from None
    return conversation, backend


async def follow(services: AdminServices, request: Request) -> Response:
    """The answer that comes now, from its beginning on; block by block where it comes in another gateway."""
    run = services.runs.find(thread_key(request))
    if run is None:  # it comes in another gateway, or none comes
        caller, (_, id) = caller_of(request), thread_key(request)
        context = await services.read(lambda: _open_thread(services, id, caller))
        if not context.service.tree.is_open:
            return Response(status_code=_NO_CONTENT)
        answer = StoredAnswer(context, services.closing)
        return StreamingResponse(answer.follow(), headers=ui_headers(), media_type=MEDIA_TYPE)
    run.join()
    head = await run.replay_head()
    if head is None:
        run.leave()
        return Response(status_code=_NO_CONTENT)
    return _RunResponse(run, head)


async def stop(services: AdminServices, request: Request) -> Response:
    """End the answer that comes now, here or in another gateway. By then its finished blocks are in the store."""
    thread = thread_key(request)
    stopped = await services.runs.stop(thread) or await stop_elsewhere(services, thread)
    return as_json({"stopped": stopped})


# The caller's chats


class ChatLine(Struct, frozen=True):
    """The last turn of a line of the thread: `?turn=` reads it."""

    turn: str
    at: float


class ChatPage(Struct, frozen=True, kw_only=True):
    """A chat with its messages, as the browser opens it."""

    id: str
    title: str
    backend: str
    """The one that it is pinned to; "" is the active one."""
    turn: str
    """The last of those that `messages` are."""
    messages: list[JsonObject]
    lines: list[ChatLine]
    running: bool


async def threads(services: AdminServices, request: Request) -> Response:
    owner, store, limit, before = caller_of(request).principal, services.kept, count(request), number(request, "before")
    words = request.query_params.get("q")
    if words is not None:
        return as_json(await services.read(lambda: search_threads(store, owner, words, limit)))
    found = await services.read(lambda: listed_threads(store, owner, limit, before))
    return as_json(FoundThreads(found, hits=[]))


async def read(services: AdminServices, request: Request) -> Response:
    """As it was said, in UI messages; with `turn`, the line that ends there."""
    principal, id = thread_key(request)
    run = services.runs.find((principal, id))
    turn = request.query_params.get("turn", "")

    def read_page() -> ChatPage:
        found = services.kept.thread(principal, id)
        if found is None:
            raise _no_chat(id)
        service = LocalThreadService(services.working, found)
        service.load()
        tree, snapshot = service.tree, services.current.snapshot
        if turn and turn not in tree:
            why = "it may have been deleted"
            raise AdminProblem(404, "there is no such turn in this chat", why, "read the chat without it")
        line, backends = tree.line(turn or tree.newest), snapshot.settings.backends
        return ChatPage(
            id=id,
            title=found.title,
            backend=found.pin,
            turn=turn or tree.newest,
            messages=ui_messages(line, snapshot.sealer, lambda spots: metadata_of(spots, backends)),
            lines=[ChatLine(tip, tree[tip].passage.at) for tip in tree.tips()],
            running=(run is not None and not run.over.is_set()) or tree.is_open,
        )

    return await services.read(lambda: as_json(read_page()))


async def rename(services: AdminServices, request: Request) -> Response:
    owner, id = thread_key(request)
    title = (await read_body(request, TitleBody)).title.strip()
    if not title:
        raise AdminProblem(400, "a chat needs a title", "this one is empty")
    if not await services.wait_for_write(services.kept.rename(owner, id, title)):
        raise _no_chat(id)
    return as_json({"id": id, "title": title})


async def forget(services: AdminServices, request: Request) -> Response:
    owner, id = thread_key(request)
    if not await services.forget(owner, id, by=caller_name(request)):
        raise _no_chat(id)
    return as_json({"forgotten": id})


def _no_chat(id: str) -> AdminProblem:
    return AdminProblem(
        404, f"there is no chat {id[:100]!r}", "it may have been deleted, or is not yours", "list them: GET /api/chat"
    )
