"""The table of routes: all that the admin answers. The reference is made from it."""

from __future__ import annotations

from typing import Final

from clew.admin import backend_edits, conversations, exchanges, keys, limits, routing, threads, views
from clew.admin.chat import endpoints as chat
from clew.admin.routing import AdminRoute

_PATH: Final = "/api/conversations"

_CONVERSATIONS: Final[tuple[AdminRoute, ...]] = (
    AdminRoute("GET", _PATH, "inference", conversations.place, "Who could answer, and who is active."),
    AdminRoute(
        "GET",
        f"{_PATH}/{{id}}",
        "inference",
        conversations.read_conversation,
        "A conversation with all its turns. `id` may be how the id begins; with `known`, the turns are left out if there are"
        " no more than that.",
        "known",
    ),
    AdminRoute("PATCH", f"{_PATH}/{{id}}", "inference", conversations.rename, "Gives it another title.", "body: title"),
    AdminRoute(
        "POST",
        f"{_PATH}/{{id}}/turns",
        "inference",
        conversations.ask,
        "Says something, in a new conversation if there is none of this id, and answers with SSE: `turn` when that is kept,"
        " `thinking`, `text` and `call` as they come, `end` with the outcome. A client that disconnects stops the answer.",
        "body: asked, model; follows, backend, wishes, session, agent",
    ),
    AdminRoute(
        "DELETE",
        f"{_PATH}/{{id}}/turns/{{turn}}",
        "inference",
        conversations.stop,
        "Stops an answer that comes. What was finished of it is kept, and answered.",
    ),
    AdminRoute(
        "GET",
        f"{_PATH}/{{id}}/begun",
        "inference",
        conversations.read_begun_calls,
        "The turn whose calls somebody began to run, or none.",
    ),
    AdminRoute(
        "PUT",
        f"{_PATH}/{{id}}/begun",
        "inference",
        conversations.mark,
        "Takes the calls of a turn, so that nobody runs them twice; empty: there are none. Answers who has them now.",
        "body: turn, run, was, followers",
    ),
    AdminRoute(
        "GET",
        f"{_PATH}/{{id}}/sent",
        "inference",
        conversations.show_as_sent,
        "The line up to a turn, the newest if none is named, as a backend would get it, with each Change.",
        "turn, backend, model",
    ),
)

_CHAT: Final[tuple[AdminRoute, ...]] = (
    AdminRoute(
        "POST",
        "/api/chat",
        "inference",
        chat.post,
        "Asks in a chat, and answers with the AI SDK's UI message stream, version 1. The answer comes to its end whether or"
        " not somebody listens.",
        "body: id, messages (or message), trigger, messageId; backend, model, effort, thinking, system, tools, max_tokens;"
        " ownTools, decisions, turn",
    ),
    AdminRoute(
        "GET",
        "/api/chat/{id}/stream",
        "inference",
        chat.follow,
        "The answer that comes now, from its beginning on; 204 if there is none.",
    ),
    AdminRoute(
        "DELETE",
        "/api/chat/{id}/stream",
        "inference",
        chat.stop,
        "Stops the answer that comes now, and keeps the blocks that were finished.",
    ),
    AdminRoute("POST", "/api/chat/{id}/stop", "inference", chat.stop, "The same, for clients that have no DELETE."),
    AdminRoute(
        "GET",
        "/api/chat",
        "inference",
        chat.threads,
        "The caller's own chats, the last used first; with `q`, those in which all these words were said.",
        "q, limit, before",
    ),
    AdminRoute(
        "GET",
        "/api/chat/{id}",
        "inference",
        chat.read,
        "A chat as UI messages, in the order in which it was said, with the last turns of its lines.",
        "turn",
    ),
    AdminRoute("PATCH", "/api/chat/{id}", "inference", chat.rename, "Gives a chat another title.", "body: title"),
    AdminRoute(
        "DELETE",
        "/api/chat/{id}",
        "inference",
        chat.forget,
        "Deletes a chat: none of its words is left in the store when this answers.",
    ),
)

_LIMITS: Final[tuple[AdminRoute, ...]] = (
    AdminRoute("GET", "/api/limits", "read", limits.limits, "The limits, and what was used of each in its present window."),
    AdminRoute(
        "PUT",
        "/api/limits",
        "admin",
        limits.set_limit,
        "Sets a limit, or changes its cap. It answers when all gateways of this home have applied it, or with those that"
        " have not.",
        "body: scope, amount; hard",
    ),
    AdminRoute(
        "DELETE",
        "/api/limits",
        "admin",
        limits.remove_limit,
        "Removes the limit with this scope, unit and window.",
        "body: scope, amount",
    ),
    AdminRoute(
        "GET",
        "/api/usage",
        "read",
        limits.usage,
        "Calls, tokens and cost, grouped by what `by` names: some of key, principal, team, thread, agent, client, backend,"
        " model, day, hour, with commas between. `since` and `until` are 24h, 7d, 4w or a day in UTC; `since` is 30d if left"
        " out. The highest cost is first; with day or hour, the oldest. `format=csv` gives all lines as CSV, money in"
        " dollars.",
        "by, since, until, key, principal, team, thread, agent, client, backend, model, limit, format",
    ),
    AdminRoute(
        "GET",
        "/api/audit",
        "read",
        limits.audit,
        "Who changed what, the newest first: the active backend, pins, keys, limits, backends, deleted threads. With `who`,"
        " `what` or `target`, the entries with these texts in them; `since` as for usage.",
        "limit, before, who, what, target, since",
    ),
)

ROUTES: Final[tuple[AdminRoute, ...]] = (
    AdminRoute("GET", "/healthz", "open", views.healthz, "Says that the process runs."),
    AdminRoute(
        "GET", "/login", "open", routing.log_in, "Exchanges a one-time code for a session, and leads to `/`.", "code"
    ),
    AdminRoute("GET", "/metrics", "read", views.metrics, "Counters in the Prometheus text form."),
    AdminRoute(
        "GET", "/api/status", "read", views.status, "What is active, which backends there are, and the store's health."
    ),
    AdminRoute(
        "GET",
        "/api/status/session",
        "read",
        views.session_status,
        "The last exchange of a session, and which backend is next: what `clew statusline` shows.",
        "session, principal",
    ),
    AdminRoute(
        "POST",
        "/api/use",
        "admin",
        views.use,
        "Switches the active backend; or only for one thread, one gateway, a family of models, or all sub-agents. `reset`"
        " takes that back. It answers when all gateways of this home have applied it, or with those that have not.",
        "body: backend or reset; thread, gateway, family or agents",
    ),
    AdminRoute(
        "GET",
        "/api/exchanges",
        "read",
        exchanges.exchanges,
        "What happened to the last requests, newest first; with `after`, what came after that exchange, oldest first.",
        "thread, after, limit, principal",
    ),
    AdminRoute(
        "GET",
        "/api/exchanges/{id}",
        "read",
        exchanges.exchange,
        "One exchange, with its bodies where they are kept.",
        "principal",
    ),
    AdminRoute(
        "GET",
        "/api/threads",
        "read",
        threads.threads,
        "Conversations with the programs that asked in them, the last used first; with `q`,"
        " those in which all these words were said, and where.",
        "q, limit, before, principal",
    ),
    AdminRoute(
        "GET",
        "/api/threads/{id}",
        "read",
        threads.thread,
        "A conversation as it was said, with its branches and sub-agents as a tree; with `as`, its last line as that backend"
        " would get it, with each Change.",
        "as, principal",
    ),
    AdminRoute(
        "DELETE",
        "/api/threads/{id}",
        "admin",
        threads.forget,
        "Deletes a conversation: none of its words is left in the store when this answers.",
        "principal",
    ),
    AdminRoute(
        "GET",
        "/api/threads/{id}/export",
        "read",
        threads.export,
        "A conversation as a file, in any format of `clew export`.",
        "format, principal",
    ),
    AdminRoute(
        "GET",
        "/api/threads-export",
        "read",
        threads.export_many,
        "Several conversations as a ZIP file, each in a format of `clew export`.",
        "id (up to 100 times), format, principal",
    ),
    AdminRoute(
        "POST",
        "/api/threads/{id}/title",
        "admin",
        threads.rename,
        "Gives a conversation another title.",
        "body: title; principal",
    ),
    AdminRoute(
        "GET",
        "/api/events",
        "read",
        exchanges.events,
        "Live events as SSE (`exchange`, of one principal; `switch`); `Last-Event-ID` brings what was missed.",
        "principal",
    ),
    *_LIMITS,
    *_CONVERSATIONS,
    *_CHAT,
    AdminRoute(
        "POST",
        "/api/trials",
        "admin",
        views.try_backend,
        "Goes one round with a backend, as `clew backends test` does: thinking, a tool, its result. It costs some tokens.",
        "body: backend",
    ),
    AdminRoute(
        "GET",
        "/api/backends/{name}",
        "read",
        backend_edits.values,
        "What the settings file says about a backend, without keys; and why it cannot be changed here, if so.",
    ),
    AdminRoute(
        "POST",
        "/api/backends/preview",
        "fresh",
        backend_edits.preview,
        "What adding, editing or removing a backend would change in the settings file, as a diff. Nothing is written.",
        "body: action (add, edit, remove), name; fields, secret",
    ),
    AdminRoute(
        "POST",
        "/api/backends/apply",
        "fresh",
        backend_edits.apply,
        "Writes that change, if the file is still the one of the preview. It answers when all gateways have applied it.",
        "body: as for the preview, and its digest",
    ),
    AdminRoute(
        "GET",
        "/api/keys",
        "read",
        keys.keys,
        "The named keys: what each may do, until when, when it was used.",
    ),
    AdminRoute(
        "POST",
        "/api/keys",
        "fresh",
        keys.add,
        "Makes a key. It is shown this once. The texts are those of `clew keys add`: models and backends with commas"
        " between, `expires` is 30d, a day, or never. It answers when all gateways have taken it, or with those that have"
        " not.",
        "body: name; principal, team, parent, models, backends, expires, scopes",
    ),
    AdminRoute(
        "PATCH",
        "/api/keys/{name}",
        "fresh",
        keys.edit,
        "Changes what a key may do. What is left out stays; so does its secret.",
        "body: team, models, backends, expires, scopes",
    ),
    AdminRoute(
        "POST",
        "/api/keys/{name}/rotate",
        "fresh",
        keys.rotate,
        "A new secret for a key; the old one ends, or opens for the time of `overlap` (24h) more.",
        "body: {} or overlap",
    ),
    AdminRoute("DELETE", "/api/keys/{name}", "fresh", keys.remove, "Revokes a key, and its children. Recordings are kept."),
    AdminRoute("GET", "/api/doctor", "read", views.doctor, "The checks of `clew doctor`, each with its fix.", "online=1"),
    AdminRoute("GET", "/api/session", "read", routing.session, "How the caller came in, and a browser's CSRF token."),
    AdminRoute("DELETE", "/api/session", "admin", routing.log_out, "Ends a browser's session."),
    AdminRoute("POST", "/api/login", "owner", routing.link, "A new one-time link for a browser."),
)
