"""One thread: in its original order, along one of its lines; or beside what a backend would get of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.admin.desk import Desk
from clew.admin.parameters import principal
from clew.chat.formats import FORMATS
from clew.settings.gateway_key import LOCAL
from clew.web.frame import fragment, page
from clew.web.viewing import Asked, view_of

__all__ = ["asked_in", "page_thread"]


async def page_thread(desk: Desk, request: Request) -> Response:
    asked = asked_in(request, "threads")
    return await desk.read(lambda: _answer(desk, request, asked))


def asked_in(request: Request, place: str) -> Asked:
    """What a request for a page below this place asks for."""
    query = request.query_params
    start = query.get("from", "")
    return Asked(
        owner=principal(request),
        id=request.path_params["id"],
        at=query.get("at", ""),
        start=int(start[:9]) if start.isdecimal() else None,
        backend=query.get("as", ""),
        part=query.get("part", "") == "1",
        place=place,
    )


def _answer(desk: Desk, request: Request, asked: Asked) -> Response:
    values = {"view": view_of(desk, asked), "asked": asked}
    if asked.part:
        return HTMLResponse(fragment("pairs.html" if asked.backend else "turns.html", values))
    backends = sorted(desk.current.snapshot.settings.backends)
    return page(
        desk,
        request,
        "thread.html",
        {**values, "backends": backends, "formats": tuple(FORMATS.values()), "own": asked.owner == LOCAL},
    )
