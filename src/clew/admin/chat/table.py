"""The routes of the chat, for the table of all routes."""

from __future__ import annotations

from typing import Final

from clew.admin.chat import threads, views
from clew.admin.routing import Route

__all__ = ["CHAT"]

CHAT: Final[tuple[Route, ...]] = (
    Route(
        "POST",
        "/api/chat",
        "inference",
        views.post,
        "Asks in a chat, and answers with the AI SDK's UI message stream, version 1. The answer comes to its end whether or"
        " not somebody listens.",
        "body: id, messages (or message), trigger, messageId; backend, model, effort, thinking, system, tools, max_tokens",
    ),
    Route(
        "GET",
        "/api/chat/{id}/stream",
        "inference",
        views.follow,
        "The answer that comes now, from its beginning on; 204 if there is none.",
    ),
    Route(
        "DELETE",
        "/api/chat/{id}/stream",
        "inference",
        views.stop,
        "Stops the answer that comes now, and keeps the blocks that were finished.",
    ),
    Route("POST", "/api/chat/{id}/stop", "inference", views.stop, "The same, for clients that have no DELETE."),
    Route(
        "GET",
        "/api/chat",
        "inference",
        threads.threads,
        "The caller's own chats, the last used first; with `q`, those in which all these words were said.",
        "q, limit, before",
    ),
    Route(
        "GET",
        "/api/chat/{id}",
        "inference",
        threads.read,
        "A chat as UI messages, in the order in which it was said, with the last turns of its lines.",
        "turn",
    ),
    Route("PATCH", "/api/chat/{id}", "inference", threads.rename, "Gives a chat another title.", "body: title"),
    Route(
        "DELETE",
        "/api/chat/{id}",
        "inference",
        threads.forget,
        "Deletes a chat: none of its words is left in the store when this answers.",
    ),
)
