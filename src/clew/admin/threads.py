"""Routes about threads: which there are, one as it was said or as a backend would get it, as a file, its title, its end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.problems import AdminProblem
from clew.admin.requests import count, number, principal, read_body
from clew.admin.routing import as_json, caller_name
from clew.admin.services import AdminServices
from clew.chat.formats import FORMATS, turns_of
from clew.chat.formats.format import Format
from clew.chat.request import Projected, history_of, messages_of, projection_of
from clew.chat.turns import StoredTurn, line_of
from clew.engine.snapshot import Snapshot
from clew.exchange.redact import with_redacted_tries
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.store import Store
from clew.store.thread_clients import ThreadWithClients, with_clients
from clew.store.values import Hit, Passage
from clew.thinking.recognise import Context

__all__ = [
    "Projected",
    "ThreadTurn",
    "TitleBody",
    "export",
    "export_many",
    "forget",
    "listed_threads",
    "projected",
    "rename",
    "search_threads",
    "spoken",
    "thread",
    "threads",
]

MOST_TITLE: Final = 200
MOST_EXPORTED: Final = 100
"""Threads in one archive."""
MOST_ARCHIVE: Final = 256 * 1024 * 1024
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


class FoundThreads(Struct, frozen=True):
    """Each thread once, in the order of its first hit; a thread may have several."""

    threads: list[ThreadWithClients]
    hits: list[Hit]


async def threads(services: AdminServices, request: Request) -> Response:
    """The last used first; with `q`, those in which these words were said, and where."""
    store, owner, limit, before = services.kept, principal(request), count(request), number(request, "before")
    words = request.query_params.get("q")
    if words is not None:
        return as_json(await services.read(lambda: search_threads(store, owner, words, limit)))
    return as_json({"threads": await services.read(lambda: listed_threads(store, owner, limit, before))})


def listed_threads(store: Store, owner: str, limit: int, before: float | None) -> list[ThreadWithClients]:
    return with_clients(store, owner, store.threads(owner, limit=limit, before=before))


def search_threads(store: Store, owner: str, words: str, limit: int) -> FoundThreads:
    hits = store.search(owner, words, limit=limit)
    names = dict.fromkeys(hit.thread for hit in hits)
    found = [thread for name in names if (thread := store.thread(owner, name))]
    return FoundThreads(with_clients(store, owner, found), hits)


class ThreadTurn(Struct, frozen=True, kw_only=True):
    """A turn of a thread, as it was said."""

    exchange: str
    at: float
    asked: tuple[Raw, ...]
    answer: tuple[Raw, ...] | None
    """The maker's own blocks; None if the answer is not recorded, or not any more."""
    origin: Origin | None = None
    whole: bool = True
    followed: str | None = None


async def thread(services: AdminServices, request: Request) -> Response:
    store, owner, id = services.kept, principal(request), request.path_params["id"]
    passages = await services.read(lambda: store.passages(owner, id))
    if not passages:
        raise _no_thread(id)
    backend = request.query_params.get("as")
    if backend is None:
        tree = await services.read(lambda: store.tree(owner, id))
        return as_json({"thread": id, "turns": spoken(passages), "tree": tree})
    snapshot = services.current.snapshot
    return as_json(await services.read(lambda: projected(passages, backend, snapshot, store, owner)))


def spoken(passages: Iterable[Passage]) -> list[ThreadTurn]:
    turns: list[ThreadTurn] = []
    for passage in passages:
        recording = passage.recording
        answer = recording if recording and recording.blocks else None
        turn = ThreadTurn(
            exchange=passage.exchange,
            at=passage.at,
            asked=tuple(map(Raw, passage.asked)),
            answer=tuple(map(Raw, answer.blocks)) if answer else None,
            origin=answer.origin if answer else None,
            whole=recording.whole if recording else False,
            followed=recording.followed if recording else None,
        )
        turns.append(turn)
    return turns


def projected(passages: Sequence[Passage], name: str, snapshot: Snapshot, store: Store, principal: str) -> Projected:
    """The line that ends with the newest answer, projected. Raises AdminProblem if there is nothing to project."""
    line = line_of(passages)
    newest = line[-1].recording if line else None
    if newest is None:
        raise AdminProblem(409, "nothing of this thread is recorded", "it has no answers, or they were forgotten")
    if name not in snapshot.settings.backends:
        known = ", ".join(sorted(snapshot.settings.backends))
        raise AdminProblem(404, f"there is no backend {name[:100]!r}", f"there are: {known}")
    asked = store.exchange(principal, line[-1].exchange)
    model = asked.asked_model if asked else newest.origin.model
    # A thread of the chat or the library is its own session, or its parent's. Its history notes where an answer was cut; a
    # client sends what it got.
    session = newest.session
    is_own = bool(session) and (session == newest.thread or store.thread(newest.principal, session) is not None)
    if is_own:
        history = history_of(map(StoredTurn, line), snapshot.sealer)
        messages = [msgspec.json.decode(raw, type=JsonObject) for raw in history]
    else:
        messages = [message for passage in line for message in messages_of(passage, snapshot.sealer)]
    context = Context(principal=principal, session=newest.session, agent=newest.agent)
    options = snapshot.chat_options if is_own else snapshot.options
    return projection_of(messages, name, model, snapshot, store, context, options)


async def forget(services: AdminServices, request: Request) -> Response:
    id = request.path_params["id"]
    if not await services.forget(principal(request), id, by=caller_name(request)):
        raise _no_thread(id)
    return as_json({"forgotten": id})


async def export(services: AdminServices, request: Request) -> Response:
    """A file to keep. A browser saves it and never shows it: HTML of a conversation is no page of the admin's."""
    id, owner, format = request.path_params["id"], principal(request), _format_of(request)
    raw = await services.read(lambda: _written(services, owner, id, format))
    return _download(raw, f"{_ODD.sub('_', id)[:100]}{format.suffix}")


async def export_many(services: AdminServices, request: Request) -> Response:
    """Several threads as one ZIP file, with a file for each."""
    ids, owner = list(dict.fromkeys(request.query_params.getlist("id"))), principal(request)
    format = _format_of(request)
    if not 1 <= len(ids) <= MOST_EXPORTED:
        raise AdminProblem(400, "these threads cannot be exported together", f"name 1 to {MOST_EXPORTED} with `id`")

    def write() -> bytes:
        made = BytesIO()
        with ZipFile(made, "w", ZIP_DEFLATED) as archive:
            for number, id in enumerate(ids, 1):
                raw = _written(services, owner, id, format)
                if made.tell() + len(raw) > MOST_ARCHIVE:
                    megabytes = MOST_ARCHIVE // 1024**2
                    why = f"together they have more than {megabytes} MB"
                    raise AdminProblem(413, "these threads cannot be exported together", why, "export fewer at a time")
                archive.writestr(f"{number:03}-{_ODD.sub('_', id)[:60]}{format.suffix}", raw)
        return made.getvalue()

    return _download(await services.read(write), f"clew-threads-{format.name}.zip")


def _format_of(request: Request) -> Format:
    """The format that the query names. Raises AdminProblem for a name that is none."""
    name = request.query_params.get("format", "clew")
    if format := FORMATS.get(name):
        return format
    raise AdminProblem(404, f"there is no format {name[:100]!r}", f"there are: {', '.join(FORMATS)}")


def _written(services: AdminServices, owner: str, id: str, format: Format) -> bytes:
    """A thread in this format. Raises AdminProblem if there is none, or it cannot be written so."""
    store, redact = services.kept, services.redactor()
    thread = store.thread(owner, id)
    if thread is None:
        raise _no_thread(id)
    turns = [replace(turn, exchange=with_redacted_tries(turn.exchange, redact)) for turn in turns_of(store, thread)]
    try:
        return b"".join([format.head, *format.write(thread, turns), format.foot])
    except (msgspec.MsgspecError, RecursionError):
        why = "a text in this thread cannot be written as JSON"
        raise AdminProblem(409, f"this thread cannot be written as {format.name}", why, "export it as `clew`") from None


def _download(raw: bytes, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(raw, headers=headers, media_type="application/octet-stream")


class TitleBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """The new title of a thread."""

    title: str


async def rename(services: AdminServices, request: Request) -> Response:
    body, id = await read_body(request, TitleBody), request.path_params["id"]
    title = " ".join(body.title.split())
    if not 1 <= len(title) <= MOST_TITLE:
        raise AdminProblem(400, "the title cannot be used", f"it has 1 to {MOST_TITLE} characters")
    if not await services.wait_for_write(services.kept.rename(principal(request), id, title)):
        raise _no_thread(id)
    return as_json({"thread": id, "title": title})


def _no_thread(id: str) -> AdminProblem:
    return AdminProblem(404, f"there is no thread {id[:100]!r}", "it may have been deleted", "list them with /api/threads")
