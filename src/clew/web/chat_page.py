"""Chat: a conversation to take part in. It asks through the chat server's own routes, like any other front end.

What was said before is set here, by the same templates as a thread's page; what comes is put in by the page's script. So a
page that is loaded again looks as it did while the answer came.
"""

from __future__ import annotations

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.admin.desk import Desk
from clew.gateway.models import list_models
from clew.settings.gateway_key import LOCAL
from clew.settings.values import Settings
from clew.store.values import Thread
from clew.thinking.profiles import EFFORTS
from clew.web.frame import fragment, page
from clew.web.thread_page import asked_in
from clew.web.viewing import Asked, View, view_of

__all__ = ["page_chat", "page_new_chat"]


class Choices(Struct, frozen=True, kw_only=True):
    """What can be chosen beside the words, and what is at first."""

    backends: list[str]
    active: str
    backend: str
    """"" is whoever is active."""
    models: list[str]
    model: str
    efforts: tuple[str, ...]
    effort: str
    thinking: bool


async def page_new_chat(desk: Desk, request: Request) -> Response:
    values: dict[str, object] = {"view": None, "asked": None, "choices": _choices(desk, None, None)}
    return page(desk, request, "chat.html", values)


async def page_chat(desk: Desk, request: Request) -> Response:
    asked = structs.replace(asked_in(request, "chat"), owner=LOCAL)  # the chat server asks as the operator
    return await desk.read(lambda: _answer(desk, request, asked))


def _answer(desk: Desk, request: Request, asked: Asked) -> Response:
    view = view_of(desk, asked, newest=True)
    values: dict[str, object] = {"view": view, "asked": asked}
    if asked.part:
        return HTMLResponse(fragment("turns.html", values))
    return page(desk, request, "chat.html", {**values, "choices": _choices(desk, view.thread, view)})


def _choices(desk: Desk, thread: Thread | None, view: View | None) -> Choices:
    snapshot = desk.current.snapshot
    settings = snapshot.settings
    happened = [turn.happened for turn in view.turns if turn.happened] if view else []
    models = _models(settings)
    model = happened[-1].asked_model if happened else settings.chat.model or _usual(models, settings)
    return Choices(
        backends=list(settings.backends),
        active=snapshot.active,
        backend=thread.pin if thread else "",
        models=models if model in models or not model else [model, *models],
        model=model,
        efforts=EFFORTS,
        effort=settings.chat.effort,
        thinking=settings.chat.thinking,
    )


def _usual(listed: list[str], settings: Settings) -> str:
    """The newest Sonnet, as `clew ask` takes it: the first of the list may be one that few are let to."""
    rows = [row for row in settings.models.values() if row.id in listed and row.line == "sonnet" and not row.retired]
    return max(rows, key=lambda row: row.released).id if rows else next(iter(listed), "")


def _models(settings: Settings) -> list[str]:
    """Names that a client may ask for; a backend with a model of its own takes any."""
    data = list_models(settings, "limit=1000")["data"]
    return [str(row["id"]) for row in data if isinstance(row, dict)] if isinstance(data, list) else []
