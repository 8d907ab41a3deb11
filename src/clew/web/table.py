"""The table of pages. Their routes are the admin's: the same scopes, the same guard. Only their problems are pages too."""

from __future__ import annotations

from typing import Final

from clew.admin.login import log_in
from clew.admin.routing import AdminRoute, Endpoint
from clew.web import backends, chat_page, doctor, exchange_page, now, thread_page, threads, usage
from clew.web.frame import problem_page
from clew.web.static_files import static_file


def _page(path: str, endpoint: Endpoint, does: str, takes: str = "") -> AdminRoute:
    return AdminRoute("GET", path, "read", endpoint, does, takes, tell=problem_page)


def _part(path: str, endpoint: Endpoint, does: str, takes: str = "") -> AdminRoute:
    """A part of a page, which its script fetches: a problem is answered as JSON, not as a page."""
    return AdminRoute("GET", path, "read", endpoint, does, takes)


PAGES: Final[tuple[AdminRoute, ...]] = (
    AdminRoute(
        "GET", "/login", "open", log_in, "As in the API; to a browser a page says what is wrong.", "code", problem_page
    ),
    AdminRoute("GET", "/static/{version}/{name}", "open", static_file, "Styles and scripts, kept by browsers for good."),
    _page("/", now.page_now, "Now: what is active, and what happens.", "principal"),
    _part("/now/top", now.part_top, "A part of Now: the switches, and the backends.", "principal"),
    _part("/now/rows", now.part_rows, "A part of Now: the last requests.", "principal"),
    _page("/exchanges/{id}", exchange_page.page_exchange, "One request, from client to backend and back.", "principal"),
    _page(
        "/usage", usage.page_usage, "Usage: tokens, cost, cache, times and thinking by backend and day.", "days, principal"
    ),
    _part("/usage.csv", usage.usage_csv, "The same as CSV.", "days, principal"),
    _page("/backends", backends.page_backends, "Backends: what each supports, how it is, and a button that tries it."),
    _page("/doctor", doctor.page_doctor, "Doctor: the checks of `clew doctor`."),
    _part("/doctor/checks", doctor.part_checks, "A part of Doctor: what was found, and how to mend it.", "online=1"),
    _page("/threads", threads.page_threads, "Threads: the conversations, and a search in all of them.", "q, before"),
    _page(
        "/threads/{id}",
        thread_page.page_thread,
        "A conversation as it was said; with `as`, beside what that backend would get of it.",
        "as, at, from, part",
    ),
    _page("/chat", chat_page.page_new_chat, "A new chat."),
    _page("/chat/{id}", chat_page.page_chat, "A conversation to take part in.", "at, part"),
    AdminRoute("POST", "/api/markdown", "read", chat_page.post_markdown, "Markdown as clean HTML.", "body: text, open"),
)
