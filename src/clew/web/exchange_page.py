"""Exchange: one request from the client's bytes to the backend's and back, and all that befell it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk
from clew.admin.parameters import principal
from clew.admin.problem import Problem
from clew.admin.views import heads_of, texts_of
from clew.store.values import Bodies
from clew.web.difference import Difference, difference, spread
from clew.web.exchange_row import cost_in, row_of
from clew.web.frame import page
from clew.web.timeline import phases_of

__all__ = ["page_exchange"]

_WRITING: Final = 10.0
"""Seconds in which the bodies may still be on their way into the store."""
MOST_SHOWN: Final = 200_000
"""Characters of a body. All of it is in the JSON."""


class Sides(Struct, frozen=True, kw_only=True):
    """The bodies for people. `difference` is None where the request went out as it came."""

    asked: str
    sent: str
    answered: str
    difference: Difference | None
    asked_head: tuple[tuple[str, str], ...]
    sent_head: tuple[tuple[str, str], ...]
    answered_head: tuple[tuple[str, str], ...]
    target: str
    status: int


async def page_exchange(desk: Desk, request: Request) -> Response:
    owner, id = principal(request), request.path_params["id"]
    return page(desk, request, "exchange.html", await desk.read(lambda: _values(desk, owner, id)))


def _values(desk: Desk, owner: str, id: str) -> dict[str, object]:
    exchange, bodies = desk.kept.exchange(owner, id), desk.kept.bodies(owner, id)
    if exchange is None:
        raise Problem(
            404, "there is no such exchange", "it may have been forgotten", "look at the last ones on the page Now"
        )
    redact = desk.redactor()
    return {
        "it": exchange,
        "row": row_of(exchange),
        "tries": [(each, redact(each.why)) for each in exchange.tries],
        "cost": cost_in(exchange, desk.current.snapshot.settings.backends),
        "phases": phases_of(exchange, bodies),
        "sides": _sides(desk, bodies) if bodies else None,
        "writing": 0.0 <= time.time() - exchange.ended < _WRITING,
        "keeps": desk.current.snapshot.settings.store.bodies,
        "owner": owner,
    }


def _sides(desk: Desk, bodies: Bodies) -> Sides:
    texts, heads = texts_of(bodies, desk), heads_of(bodies, desk)
    return Sides(
        asked=_shown(spread(texts.asked)),
        sent=_shown(spread(texts.sent)),
        answered=_shown(spread(texts.answered)),
        difference=difference(texts.asked, texts.sent) if bodies.asked != bodies.sent else None,
        asked_head=heads.asked,
        sent_head=heads.sent,
        answered_head=heads.answered,
        target=heads.target,
        status=heads.status,
    )


def _shown(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    more = len(text) - MOST_SHOWN
    return f"{text[:MOST_SHOWN]}\n… and {more:,} more characters" if more > 0 else text
