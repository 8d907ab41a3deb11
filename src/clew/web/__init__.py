"""The web UI: pages made on the server, and small modules of plain JavaScript that keep them live. No build step.

It is served by the admin: the same listeners, the same scopes, the same guard. Only the problems of pages are pages too. The
caller of `clew.admin.listening.serve_admin` hands these routes in, so that the admin does not import them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.admin.routing import AdminRoute, Endpoint


def routes() -> Sequence[AdminRoute]:
    """All pages. Importing them takes a moment: call it where no request waits."""
    from clew.admin.routing import AdminRoute, log_in
    from clew.web.chat_page import post_markdown
    from clew.web.frame import problem_page, static_file

    login = "As in the API; to a browser a page says what is wrong."
    return (
        AdminRoute("GET", "/login", "open", log_in, login, "code", problem_page),
        AdminRoute("GET", "/static/{version}/{name}", "open", static_file, "Styles and scripts, kept by browsers for good."),
        *_pages_of_the_gateway(),
        *_pages_of_conversations(),
        AdminRoute("POST", "/api/markdown", "read", post_markdown, "Markdown as clean HTML.", "body: text, open"),
    )


def _page(path: str, endpoint: Endpoint, does: str, takes: str = "") -> AdminRoute:
    from clew.admin.routing import AdminRoute
    from clew.web.frame import problem_page

    return AdminRoute("GET", path, "read", endpoint, does, takes, tell=problem_page)


def _part(path: str, endpoint: Endpoint, does: str, takes: str = "") -> AdminRoute:
    """A part of a page, which its script fetches: a problem is answered as JSON, not as a page."""
    from clew.admin.routing import AdminRoute

    return AdminRoute("GET", path, "read", endpoint, does, takes)


def _pages_of_the_gateway() -> Iterator[AdminRoute]:
    from clew.web import exchange_page, health, keys_page, now_page, start_page, usage

    yield _page("/", now_page.page_now, "Now: what is active, and what happens.", "principal")
    yield _part("/now/top", now_page.part_top, "A part of Now: the switches, and the backends.", "principal")
    yield _part("/now/rows", now_page.part_rows, "A part of Now: the last requests.", "principal")
    yield _page("/start", start_page.page_start, "The guided start: client, backend, one line, the first request.")
    does = "One request, from client to backend and back."
    yield _page("/exchanges/{id}", exchange_page.page_exchange, does, "principal")
    does = "Usage: calls, tokens and cost of a day, a week, a month or a year, by any name, with the limits."
    yield _page(
        "/usage",
        usage.page_usage,
        does,
        "since (24h, 7d, 30d, 365d), by, key, principal, team, thread, agent, client, backend, model",
    )
    does = "Backends: what each supports, how it is; test, add, edit and remove them."
    yield _page("/backends", health.page_backends, does)
    yield _page(
        "/keys", keys_page.page_keys, "Keys: who may use the gateway, what for and until when; make and change them."
    )
    yield _part("/keys/rows", keys_page.part_keys, "A part of Keys: the table.")
    yield _page("/audit", keys_page.page_audit, "Audit: who changed which key or limit.", "before")
    yield _page("/doctor", health.page_doctor, "Doctor: the checks of `clew doctor`.")
    yield _part("/doctor/checks", health.part_checks, "A part of Doctor: what was found, and how to fix it.", "online=1")


def _pages_of_conversations() -> Iterator[AdminRoute]:
    from clew.web import chat_page, thread_page, threads_page

    does = "Threads: the conversations with what they used, and a search in all of them."
    yield _page(
        "/threads", threads_page.page_threads, does, "q, before, from, model, backend, client, api, days, sort, principal"
    )
    does = "A conversation as it was said; with `as`, beside what that backend would get of it."
    yield _page("/threads/{id}", thread_page.page_thread, does, "as, at, from, part")
    yield _page("/compare", chat_page.page_compare, "The same question on two backends, side by side.")
    yield _part("/chats", chat_page.part_chats, "A part of Chat: the last used chats.", "open")
    yield _page("/chat", chat_page.page_new_chat, "A new chat.")
    yield _page("/chat/{id}", chat_page.page_chat, "A conversation to take part in.", "at, part")
