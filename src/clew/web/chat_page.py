"""Chat: a conversation to take part in. It asks through the chat server's own routes, like any other front end.

The turns so far are drawn here, by the same templates as a thread's page; the page's script adds what comes. So a page that
is loaded again looks as it did while the answer came. For the script, `post_markdown` renders the Markdown of an answer that
streams in, block by finished block.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.admin.chat.tools import chat_tools
from clew.admin.requests import read_body
from clew.admin.services import AdminServices
from clew.backends.row import Backend, manner_of, model_for
from clew.errors import SettingsInvalid
from clew.gateway.models import list_models
from clew.limits.keys import LOCAL
from clew.thinking.budgets import EFFORTS
from clew.web.frame import address, fragment, page
from clew.web.thread_page import ThreadView, query_of, view_of

if TYPE_CHECKING:
    from clew.chat.markdown import Finished


CHATS: Final = 30
"""Chats in the list beside a chat."""


class BackendChoice(Struct, frozen=True, kw_only=True):
    """A backend that can be asked, and what it does with files. `value` is "" for the active one."""

    value: str
    label: str
    images: str
    """`take`, `refuse`, or `omit`: the model is told that something was left out."""
    documents: str
    """Of PDF files: `file`, `refuse` or `omit`."""


class ChatChoices(Struct, frozen=True, kw_only=True):
    """What can be chosen beside the text, and what is chosen at first."""

    backends: list[BackendChoice]
    active: str
    backend: str
    """"" is the active one."""
    models: list[str]
    model: str
    efforts: tuple[str, ...]
    effort: str
    thinking: bool
    system: str
    megabytes: int
    """How large a question may be."""


async def page_new_chat(services: AdminServices, request: Request) -> Response:
    more = await services.read(lambda: {**_chats(services, ""), **_tools(services)})
    values: dict[str, object] = {"view": None, "asked": None, "choices": _choices(services, None), **more}
    return page(services, request, "chat.html", values)


async def page_compare(services: AdminServices, request: Request) -> Response:
    """Two chats side by side, which get the same questions."""
    choices = _choices(services, None)
    other = next((each.value for each in choices.backends if each.value not in ("", choices.active)), "")
    return page(services, request, "compare.html", {"choices": choices, "other": other})


async def part_chats(services: AdminServices, request: Request) -> Response:
    open_chat = request.query_params.get("open", "")
    return fragment("chat_list.html", await services.read(lambda: _chats(services, open_chat)))


def _chats(services: AdminServices, open_chat: str) -> dict[str, object]:
    """The last used conversations of the operator. Reads the store: call it in a thread."""
    found = services.store.threads(LOCAL, limit=CHATS + 1) if services.store else []
    return {"chats": found[:CHATS], "more": len(found) > CHATS, "open": open_chat, "to": address}


def _tools(services: AdminServices) -> dict[str, object]:
    """The gateway's own tools, and why they cannot be used."""
    try:
        return {"tools": chat_tools(services), "tools_problem": ""}
    except SettingsInvalid as error:
        return {"tools": (), "tools_problem": str(error)}


async def page_chat(services: AdminServices, request: Request) -> Response:
    query = structs.replace(query_of(request, "chat"), owner=LOCAL)  # the chat server asks as the operator

    def answer() -> Response:
        view = view_of(services, query, newest=True)
        values: dict[str, object] = {"view": view, "asked": query}
        if query.part:
            return fragment("turns.html", values)
        more = {"choices": _choices(services, view), **_chats(services, query.id), **_tools(services)}
        return page(services, request, "chat.html", {**values, **more})

    return await services.read(answer)


def _choices(services: AdminServices, view: ThreadView | None) -> ChatChoices:
    snapshot = services.current.snapshot
    settings = snapshot.settings
    data = list_models(settings, "limit=1000")["data"]
    models = [str(row["id"]) for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    asked = [turn.happened.asked_model for turn in view.turns if turn.happened] if view else []
    model = asked[-1] if asked else settings.chat.model
    if not asked and not model:
        # The newest Sonnet, as `clew ask` takes it: not every account may use the first model of the list.
        sonnets = [row for row in settings.models.values() if row.id in models and row.line == "sonnet" and not row.retired]
        model = max(sonnets, key=lambda row: row.released).id if sonnets else next(iter(models), "")
    active = settings.backends.get(snapshot.active)
    choices = [_backend_choice("", f"active ({snapshot.active})", active, model)]
    choices += [_backend_choice(name, name, backend, model) for name, backend in settings.backends.items()]
    return ChatChoices(
        backends=choices,
        active=snapshot.active,
        backend=view.thread.pin if view else "",
        models=models if model in models or not model else [model, *models],
        model=model,
        efforts=EFFORTS,
        effort=settings.chat.effort,
        thinking=settings.chat.thinking,
        system=settings.chat.system,
        megabytes=settings.gateway.max_body_megabytes,
    )


def _backend_choice(value: str, label: str, backend: Backend | None, asked: str) -> BackendChoice:
    """What the backend does with files when it is asked for this model."""
    images, documents = "take", "file"
    if backend and backend.dialect != "anthropic":
        manner = manner_of(backend, model_for(backend, asked))
        options = manner.wire if backend.dialect == "openai-chat" else manner.responses
        images, documents = options.images, options.documents
    return BackendChoice(value=value, label=label, images=images, documents=documents)


class MarkdownText(Struct, kw_only=True, forbid_unknown_fields=True):
    """`open`: more is to come, so only finished blocks are rendered."""

    text: str
    open: bool = False


async def post_markdown(services: AdminServices, request: Request) -> Response:
    """One element around the HTML, which says how many lines of the text are in it."""
    given = await read_body(request, MarkdownText)

    def render() -> Finished:
        from clew.chat.markdown import Finished, render_finished, render_markdown  # late, as in `clew.web.filters`

        if given.open:
            return render_finished(given.text)
        return Finished(render_markdown(given.text), given.text.count("\n") + 1)

    done = await asyncio.to_thread(render)
    return HTMLResponse(f'<div data-lines="{done.lines}">{done.html}</div>')
