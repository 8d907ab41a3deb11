"""What can be done with one thread besides reading it: take it along as a file, give it another title."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk
from clew.admin.parameters import principal, read_body
from clew.admin.problem import Problem
from clew.admin.routing import as_json
from clew.chat.formats import FORMATS, Format, turns_of
from clew.engine.redact import Redactor
from clew.engine.told_tries import with_told_tries
from clew.store import Store

__all__ = ["export", "rename"]

MOST_TITLE: Final = 200

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


async def export(desk: Desk, request: Request) -> Response:
    """A file to keep. A browser saves it and never shows it: HTML of a conversation is no page of the admin's."""
    name, id, owner = request.query_params.get("format", "clew"), request.path_params["id"], principal(request)
    format = FORMATS.get(name)
    if format is None:
        raise Problem(404, f"there is no format {name[:100]!r}", f"there are: {', '.join(FORMATS)}")
    store, redact = desk.kept, desk.redactor()
    written = await desk.read(lambda: _written(store, owner, id, format, redact))
    headers = {"content-disposition": f'attachment; filename="{_ODD.sub("_", id)[:100]}{format.suffix}"'}
    return Response(written, headers=headers, media_type="application/octet-stream")


def _written(store: Store, owner: str, id: str, format: Format, redact: Redactor) -> bytes:
    thread = store.thread(owner, id)
    if thread is None:
        raise _no_thread(id)
    turns = [replace(turn, exchange=with_told_tries(turn.exchange, redact)) for turn in turns_of(store, thread)]
    try:
        return b"".join([format.head, *format.write(thread, turns), format.foot])
    except (msgspec.MsgspecError, RecursionError):
        why = "something in this thread is no text that JSON can say"
        raise Problem(409, f"this thread cannot be written as {format.name}", why, "export it as `clew`") from None


class Title(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a thread is to be called."""

    title: str


async def rename(desk: Desk, request: Request) -> Response:
    wish, id = await read_body(request, Title), request.path_params["id"]
    title = " ".join(wish.title.split())
    if not 1 <= len(title) <= MOST_TITLE:
        raise Problem(400, "the title cannot be used", f"it has 1 to {MOST_TITLE} characters")
    if not await desk.written(desk.kept.rename(principal(request), id, title)):
        raise _no_thread(id)
    return as_json({"thread": id, "title": title})


def _no_thread(id: str) -> Problem:
    return Problem(404, f"there is no thread {id[:100]!r}", "it may have been forgotten", "list them with /api/threads")
