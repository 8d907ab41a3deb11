"""The rows of the table of routes that are about conversations."""

from __future__ import annotations

from typing import Final

from clew.admin.conversations import routes
from clew.admin.routing import Route

__all__ = ["CONVERSATIONS"]

_PATH: Final = "/api/conversations"

CONVERSATIONS: Final[tuple[Route, ...]] = (
    Route("GET", _PATH, "inference", routes.place, "Who could answer, and who is active."),
    Route(
        "GET",
        f"{_PATH}/{{id}}",
        "inference",
        routes.opened,
        "A conversation with all its turns. `id` may be how the id begins; with `known`, the turns are left out if there are"
        " no more than that.",
        "known",
    ),
    Route("PATCH", f"{_PATH}/{{id}}", "inference", routes.rename, "Gives it another title.", "body: title"),
    Route(
        "POST",
        f"{_PATH}/{{id}}/turns",
        "inference",
        routes.ask,
        "Says something, in a new conversation if there is none of this id, and answers with SSE: `turn` when that is kept,"
        " `thinking`, `text` and `call` as they come, `end` with what became of it. Whoever leaves stops the answer.",
        "body: asked, model; follows, backend, wishes, session, agent",
    ),
    Route(
        "DELETE",
        f"{_PATH}/{{id}}/turns/{{turn}}",
        "inference",
        routes.stop,
        "Stops an answer that comes. What was finished of it is kept, and answered.",
    ),
    Route("GET", f"{_PATH}/{{id}}/begun", "inference", routes.begun, "The turn whose calls somebody began to run, or none."),
    Route(
        "PUT",
        f"{_PATH}/{{id}}/begun",
        "inference",
        routes.mark,
        "Takes the calls of a turn, so that nobody runs them twice; empty: there are none. Answers who has them now.",
        "body: turn, run, was, followers",
    ),
    Route(
        "GET",
        f"{_PATH}/{{id}}/sent",
        "inference",
        routes.sent,
        "The line up to a turn, the newest if none is named, as a backend would get it, with each Change.",
        "turn, backend, model",
    ),
)
