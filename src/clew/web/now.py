"""Now: what is active, with the switches; how each backend is; and what happens, live.

The page is whole when it comes. A script listens to the events and asks for the two parts that change (`/now/top` and
`/now/rows`) when something happened, so there is one way to draw each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk, principals_of
from clew.admin.parameters import principal
from clew.admin.status import Status, status_of
from clew.backends.names import FAMILIES
from clew.settings.values import RoutingRule
from clew.store.values import Exchange, Thread
from clew.web.connecting import connecting
from clew.web.exchange_row import row_of
from clew.web.frame import fragment, page
from clew.web.health import conditions

__all__ = ["page_now", "rows_now", "top_now"]

ROWS: Final = 50
_LOOKED_AT: Final = 300
"""Exchanges by which the health of backends is judged."""
_THREADS: Final = 6
_PINS: Final = 20


class Switch(Struct, frozen=True, kw_only=True):
    """Where a part goes: by a choice that was made here, by a rule of the config, or where everything goes ("")."""

    name: str
    family: str = ""
    agents: bool = False
    thread: str = ""
    chosen: str = ""
    rule: str = ""


class Other(Struct, frozen=True, kw_only=True):
    """A process that sends to another backend than this page names, or to none."""

    gateway: str
    pid: int
    in_use: str


async def page_now(desk: Desk, request: Request) -> Response:
    owner = principal(request)
    values = await desk.read(lambda: {**_top(desk, owner), **_rows(desk, owner)})
    return page(desk, request, "now.html", {**values, "principals": principals_of(desk.home)})


async def top_now(desk: Desk, request: Request) -> Response:
    owner = principal(request)
    return Response(fragment("now_top.html", await desk.read(lambda: _top(desk, owner))), media_type="text/html")


async def rows_now(desk: Desk, request: Request) -> Response:
    owner = principal(request)
    return Response(fragment("now_rows.html", await desk.read(lambda: _rows(desk, owner))), media_type="text/html")


def _top(desk: Desk, owner: str) -> dict[str, object]:
    """Reads the store, so it belongs into a thread."""
    status, store = status_of(desk), desk.store
    lately = store.exchanges(owner, limit=_LOOKED_AT) if store else []
    pinned = store.pinned(owner, limit=_PINS) if store else []
    newest = store.threads(owner, limit=_THREADS) if store else []
    threads = [*pinned, *(thread for thread in newest if not thread.pin)]
    return {
        "status": status,
        "owner": owner,
        "others": _others(status),
        "conditions": conditions(desk, lately),
        "switches": (*_parts(status), *(_of_thread(thread) for thread in threads)) if store else (),
        "connect": connecting(desk, status.gateways),
    }


def _rows(desk: Desk, owner: str) -> dict[str, object]:
    store = desk.store
    found: Sequence[Exchange] = store.exchanges(owner, limit=ROWS) if store else ()
    titles = {thread.id: thread.title for thread in store.threads(owner, limit=ROWS)} if store else {}
    rows = [row_of(exchange) for exchange in found]
    return {"rows": rows, "titles": titles, "owner": owner, "stored": store is not None}


def _others(status: Status) -> list[Other]:
    """Those that have not applied the choice yet, or have one of their own."""
    processes = [each for gateway in status.gateways for each in gateway.processes]
    return [
        Other(gateway=each.gateway, pid=each.pid, in_use=each.applied.in_use)
        for each in processes
        if each.applied and each.applied.in_use != status.active
    ]


def _parts(status: Status) -> list[Switch]:
    """Sub-agents, then families."""
    agents = [rule for rule in status.rules if rule.agent == "*"]
    parts = [Switch(name="Sub-agents", agents=True, chosen=_chosen(agents, status), rule=_rule(agents, status))]
    for family in FAMILIES:
        rules = [rule for rule in status.rules if rule.family == family]
        parts.append(
            Switch(name=family.capitalize(), family=family, chosen=_chosen(rules, status), rule=_rule(rules, status))
        )
    return parts


def _chosen(rules: Sequence[RoutingRule], status: Status) -> str:
    return next((rule.backend for rule in rules if rule in status.chosen), "")


def _rule(rules: Sequence[RoutingRule], status: Status) -> str:
    return next((rule.backend for rule in rules if rule not in status.chosen), "")


def _of_thread(thread: Thread) -> Switch:
    return Switch(name=thread.title or thread.id, thread=thread.id, chosen=thread.pin)
