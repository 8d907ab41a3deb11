"""The table of routes: all that the admin answers. The reference is made from it."""

from __future__ import annotations

from typing import Final

from clew.admin import login, thread_files, views
from clew.admin.chat.table import CHAT
from clew.admin.conversations.rows import CONVERSATIONS
from clew.admin.events import events
from clew.admin.routing import Route
from clew.admin.trying import try_backend

__all__ = ["ROUTES"]

ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", "/healthz", "open", views.healthz, "Says that the process runs."),
    Route("GET", "/login", "open", login.log_in, "Exchanges a one-time code for a session, and leads to `/`.", "code"),
    Route("GET", "/metrics", "read", views.metrics, "Counters in the Prometheus text form."),
    Route("GET", "/api/status", "read", views.status, "What is active, which backends there are, and the store's health."),
    Route(
        "POST",
        "/api/use",
        "admin",
        views.use,
        "Switches the active backend; or only for one thread, one gateway, a family of models, or all sub-agents. `reset`"
        " takes that back. It answers when all gateways of this home have applied it, or with those that have not.",
        "body: backend or reset; thread, gateway, family or agents",
    ),
    Route(
        "GET",
        "/api/exchanges",
        "read",
        views.exchanges,
        "What befell the last requests, newest first; with `after`, what came after that exchange, oldest first.",
        "thread, after, limit, principal",
    ),
    Route(
        "GET",
        "/api/exchanges/{id}",
        "read",
        views.exchange,
        "One exchange, with its bodies where they are kept.",
        "principal",
    ),
    Route(
        "GET",
        "/api/threads",
        "read",
        views.threads,
        "Conversations, the last used first; with `q`, those in which all these words were said, and where.",
        "q, limit, before, principal",
    ),
    Route(
        "GET",
        "/api/threads/{id}",
        "read",
        views.thread,
        "A conversation as it was said, with its branches and sub-agents as a tree; with `as`, its last line as that backend"
        " would get it, with each Change.",
        "as, principal",
    ),
    Route(
        "DELETE",
        "/api/threads/{id}",
        "admin",
        views.forget,
        "Deletes a conversation: none of its words is left in the store when this answers.",
        "principal",
    ),
    Route(
        "GET",
        "/api/threads/{id}/export",
        "read",
        thread_files.export,
        "A conversation as a file, in any format of `clew export`.",
        "format, principal",
    ),
    Route(
        "POST",
        "/api/threads/{id}/title",
        "admin",
        thread_files.rename,
        "Gives a conversation another title.",
        "body: title; principal",
    ),
    Route(
        "GET",
        "/api/events",
        "read",
        events,
        "Live events as SSE (`exchange`, of one principal; `switch`); `Last-Event-ID` brings what was missed.",
        "principal",
    ),
    *CONVERSATIONS,
    *CHAT,
    Route(
        "POST",
        "/api/trials",
        "admin",
        try_backend,
        "Goes one round with a backend, as `clew backends test` does: thinking, a tool, its result. It costs some tokens.",
        "body: backend",
    ),
    Route("GET", "/api/doctor", "read", views.doctor, "The checks of `clew doctor`, with how to mend each.", "online=1"),
    Route("GET", "/api/session", "read", login.session, "How the caller came in, and a browser's CSRF token."),
    Route("DELETE", "/api/session", "admin", login.log_out, "Ends a browser's session."),
    Route("POST", "/api/login", "owner", login.link, "A new one-time link for a browser."),
)
