"""The chats that are the caller's own: which there are, one as UI messages, its title, its end."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.chat.asking import thread_key
from clew.admin.parameters import count, number, read_body
from clew.admin.problem import AdminProblem
from clew.admin.routing import as_json, caller_of
from clew.admin.services import AdminServices
from clew.admin.threads import FoundThreads, TitleBody, search_threads
from clew.chat.local import LocalThreadService
from clew.chat.ui.messages import metadata_of, ui_messages
from clew.model.json import JsonObject


class ChatLine(Struct, frozen=True):
    """The last turn of a line of the thread: `?turn=` reads it."""

    turn: str
    at: float


class ChatPage(Struct, frozen=True, kw_only=True):
    """One chat."""

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
    found = await services.read(lambda: store.threads(owner, limit=limit, before=before))
    return as_json(FoundThreads(found, hits=[]))


async def read(services: AdminServices, request: Request) -> Response:
    """As it was said, in UI messages; with `turn`, the line that ends there."""
    thread = thread_key(request)
    run = services.runs.find(thread)
    running = run is not None and not run.over.is_set()
    turn = request.query_params.get("turn", "")
    return await services.read(lambda: as_json(_read_chat(services, *thread, turn, running)))


def _read_chat(services: AdminServices, principal: str, id: str, turn: str, running: bool) -> ChatPage:
    found = services.kept.thread(principal, id)
    if found is None:
        raise _no_chat(id)
    service = LocalThreadService(services.working, found)
    service.load()
    tree, snapshot = service.tree, services.current.snapshot
    if turn and turn not in tree:
        why = "it may have been forgotten"
        raise AdminProblem(404, "there is no such turn in this chat", why, "read the chat without it")
    backends = snapshot.settings.backends
    return ChatPage(
        id=id,
        title=found.title,
        backend=found.pin,
        turn=turn or tree.newest,
        messages=ui_messages(tree.line(turn or tree.newest), snapshot.sealer, lambda spots: metadata_of(spots, backends)),
        lines=[ChatLine(tip, tree[tip].passage.at) for tip in tree.tips()],
        running=running,
    )


async def rename(services: AdminServices, request: Request) -> Response:
    owner, id = thread_key(request)
    title = (await read_body(request, TitleBody)).title.strip()
    if not title:
        raise AdminProblem(400, "a chat needs a title", "this one is empty")
    if not await services.written(services.kept.rename(owner, id, title)):
        raise _no_chat(id)
    return as_json({"id": id, "title": title})


async def forget(services: AdminServices, request: Request) -> Response:
    owner, id = thread_key(request)
    if not await services.forget(owner, id):
        raise _no_chat(id)
    return as_json({"forgotten": id})


def _no_chat(id: str) -> AdminProblem:
    return AdminProblem(
        404, f"there is no chat {id[:100]!r}", "it may have been forgotten, or is not yours", "list them: GET /api/chat"
    )
