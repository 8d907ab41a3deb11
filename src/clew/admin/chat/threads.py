"""The chats that are the caller's own: which there are, one as UI messages, its name, its end."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.access import Caller
from clew.admin.chat.asked import thread_id
from clew.admin.desk import Desk
from clew.admin.parameters import count, number, read_body
from clew.admin.problem import Problem
from clew.admin.routing import as_json
from clew.chat.local import LocalThreadService
from clew.chat.turns import Tree
from clew.chat.ui.messages import metadata_of, ui_messages
from clew.model.json import JsonObject
from clew.store import Store
from clew.store.values import Hit, Thread

__all__ = ["forget", "read", "rename", "threads"]


class Listed(Struct, frozen=True, kw_only=True):
    """Threads, the last used first; of a search, where the words were found."""

    threads: list[Thread]
    hits: list[Hit] = []


class Line(Struct, frozen=True):
    """The last turn of a line of the thread: `?turn=` reads it."""

    turn: str
    at: float


class Read(Struct, frozen=True, kw_only=True):
    """One chat."""

    id: str
    title: str
    backend: str
    """The one that it is pinned to; "" is whichever is active."""
    turn: str
    """The last of those that `messages` are."""
    messages: list[JsonObject]
    lines: list[Line]
    running: bool


class Named(Struct, frozen=True, forbid_unknown_fields=True):
    title: str


async def threads(desk: Desk, request: Request) -> Response:
    caller: Caller = request.state.caller
    store, limit, before = desk.kept, count(request), number(request, "before")
    words = request.query_params.get("q")
    if words is None:
        return as_json(Listed(threads=await desk.read(lambda: store.threads(caller.principal, limit=limit, before=before))))
    return as_json(await desk.read(lambda: _found(store, caller.principal, words, limit)))


def _found(store: Store, principal: str, words: str, limit: int) -> Listed:
    hits = store.search(principal, words, limit=limit)
    names = dict.fromkeys(hit.thread for hit in hits)
    return Listed(threads=[found for name in names if (found := store.thread(principal, name))], hits=hits)


async def read(desk: Desk, request: Request) -> Response:
    """As it was said, in UI messages; with `turn`, the line that ends there."""
    caller, id = _named(request)
    running = (run := desk.runs.find((caller.principal, id))) is not None and not run.over.is_set()
    turn = request.query_params.get("turn", "")
    return await desk.read(lambda: as_json(_read(desk, caller.principal, id, turn, running)))


def _read(desk: Desk, principal: str, id: str, turn: str, running: bool) -> Read:
    found = desk.kept.thread(principal, id)
    if found is None:
        raise _nothing(id)
    table = LocalThreadService(desk.working, found)
    table.load()
    tree, snapshot = table.tree, desk.current.snapshot
    if turn and turn not in tree:
        raise Problem(404, "there is no such turn in this chat", "it may have been forgotten", "read the chat without it")
    backends = snapshot.settings.backends
    return Read(
        id=id,
        title=found.title,
        backend=found.pin,
        turn=turn or tree.newest,
        messages=ui_messages(tree.line(turn or tree.newest), snapshot.sealer, lambda spots: metadata_of(spots, backends)),
        lines=_lines(tree),
        running=running,
    )


def _lines(tree: Tree) -> list[Line]:
    return [Line(tip, tree[tip].passage.at) for tip in tree.tips()]


async def rename(desk: Desk, request: Request) -> Response:
    caller, id = _named(request)
    wish = await read_body(request, Named)
    if not wish.title.strip():
        raise Problem(400, "a chat needs a title", "this one is empty")
    if not await desk.written(desk.kept.rename(caller.principal, id, wish.title.strip())):
        raise _nothing(id)
    return as_json({"id": id, "title": wish.title.strip()})


async def forget(desk: Desk, request: Request) -> Response:
    caller, id = _named(request)
    if not await desk.forget(caller.principal, id):
        raise _nothing(id)
    return as_json({"forgotten": id})


def _named(request: Request) -> tuple[Caller, str]:
    return request.state.caller, thread_id(request.path_params["id"])


def _nothing(id: str) -> Problem:
    return Problem(
        404, f"there is no chat {id[:100]!r}", "it may have been forgotten, or is not yours", "list them: GET /api/chat"
    )
