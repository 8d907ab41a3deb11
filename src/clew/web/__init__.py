"""The web UI: pages made on the server, and small modules of plain JavaScript that keep them live. No build step.

It is served by the admin: the same listeners, the same scopes, the same guard. Only the problems of pages are pages too. The
caller of `clew.admin.serving.serve_admin` hands these routes in, so that the admin does not import them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.admin.routing import AdminRoute, Endpoint


def routes() -> Sequence[AdminRoute]:
    """All pages. Importing them takes a moment: call it where no request waits."""
    from clew.admin.routing import AdminRoute, log_in
    from clew.web import chat_page, exchange_page, health, lists, thread_page, usage
    from clew.web.frame import problem_page, static_file

    def page(path: str, endpoint: Endpoint, does: str, takes: str = "") -> AdminRoute:
        return AdminRoute("GET", path, "read", endpoint, does, takes, tell=problem_page)

    def part(path: str, endpoint: Endpoint, does: str, takes: str = "") -> AdminRoute:
        """A part of a page, which its script fetches: a problem is answered as JSON, not as a page."""
        return AdminRoute("GET", path, "read", endpoint, does, takes)

    return (
        AdminRoute(
            "GET", "/login", "open", log_in, "As in the API; to a browser a page says what is wrong.", "code", problem_page
        ),
        AdminRoute("GET", "/static/{version}/{name}", "open", static_file, "Styles and scripts, kept by browsers for good."),
        page("/", lists.page_now, "Now: what is active, and what happens.", "principal"),
        part("/now/top", lists.part_top, "A part of Now: the switches, and the backends.", "principal"),
        part("/now/rows", lists.part_rows, "A part of Now: the last requests.", "principal"),
        page("/exchanges/{id}", exchange_page.page_exchange, "One request, from client to backend and back.", "principal"),
        page(
            "/usage",
            usage.page_usage,
            "Usage: tokens, cost, cache, times and thinking by backend and day.",
            "days, principal",
        ),
        part("/usage.csv", usage.usage_csv, "The same as CSV.", "days, principal"),
        page("/backends", health.page_backends, "Backends: what each supports, how it is, and a button that tries it."),
        page("/doctor", health.page_doctor, "Doctor: the checks of `clew doctor`."),
        part("/doctor/checks", health.part_checks, "A part of Doctor: the findings and their fixes.", "online=1"),
        page("/threads", lists.page_threads, "Threads: the conversations, and a search in all of them.", "q, before"),
        page(
            "/threads/{id}",
            thread_page.page_thread,
            "A conversation as it was said; with `as`, beside what that backend would get of it.",
            "as, at, from, part",
        ),
        page("/compare", chat_page.page_compare, "The same question on two backends, side by side."),
        part("/chats", chat_page.part_chats, "A part of Chat: the last used chats.", "open"),
        page("/chat", chat_page.page_new_chat, "A new chat."),
        page("/chat/{id}", chat_page.page_chat, "A conversation to take part in.", "at, part"),
        AdminRoute("POST", "/api/markdown", "read", chat_page.post_markdown, "Markdown as clean HTML.", "body: text, open"),
    )
