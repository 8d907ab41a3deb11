"""The page Now.

It has what is active, with the switches; the health of each backend; and what happens, live. The page is whole when it
comes. A script listens to the events and asks for the two parts that change (`/now/top` and `/now/rows`) when something
happened, so there is one way to draw each.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.feed import principals_of
from clew.admin.requests import principal
from clew.admin.services import AdminServices
from clew.admin.views import Status, status_of
from clew.backends.names import FAMILIES
from clew.gateway.client import line_to_copy
from clew.model.turn import Exchange
from clew.settings.processes import RegisteredGateway
from clew.settings.values import RoutingRule
from clew.web.frame import fragment, page
from clew.web.health import LAST_EXCHANGES, health_of_all
from clew.web.rows import limit_lines, row_of
from clew.web.start_page import key_expression

ROWS: Final = 50
_THREADS: Final = 6
_PINS: Final = 20


class SwitchRow(Struct, frozen=True, kw_only=True):
    """Where a part of the requests goes: by a choice made here, by a rule of the config, or with all others ("")."""

    name: str
    family: str = ""
    agents: bool = False
    thread: str = ""
    chosen: str = ""
    rule: str = ""


class OtherProcess(Struct, frozen=True, kw_only=True):
    """A process that sends to another backend than this page names, or to none."""

    gateway: str
    pid: int
    in_use: str


class GatewayRow(Struct, frozen=True, kw_only=True):
    """A gateway that shares this home or this store. `problem` is why it does not have all settings; "" if it has."""

    name: str
    where: str
    backends: tuple[str, ...]
    """Those that its processes send to; "" among them where one answers 503. Empty while it starts."""
    processes: int
    since: float | None = None
    problem: str = ""
    follows: bool


async def page_now(services: AdminServices, request: Request) -> Response:
    owner = principal(request)
    values = await services.read(lambda: {**_top(services, owner), **_rows(services, owner)})
    return page(services, request, "now.html", {**values, "principals": principals_of(services.home)})


async def part_top(services: AdminServices, request: Request) -> Response:
    owner = principal(request)
    return fragment("now_top.html", await services.read(lambda: _top(services, owner)))


async def part_rows(services: AdminServices, request: Request) -> Response:
    owner = principal(request)
    return fragment("now_rows.html", await services.read(lambda: _rows(services, owner)))


def _top(services: AdminServices, owner: str) -> dict[str, object]:
    """The top of the page Now. It reads the store: call it in a thread."""
    status, store = status_of(services), services.store
    switches: list[SwitchRow] = []
    if store:
        newest = [thread for thread in store.threads(owner, limit=_THREADS) if not thread.pin]
        switches += _part_switches(status)
        switches += [
            SwitchRow(name=thread.title or thread.id, thread=thread.id, chosen=thread.pin)
            for thread in (*store.pinned(owner, limit=_PINS), *newest)
        ]
    return {
        "status": status,
        "owner": owner,
        "others": [
            OtherProcess(gateway=each.gateway, pid=each.pid, in_use=each.applied.in_use)
            for gateway in status.gateways
            for each in gateway.processes
            if each.applied and each.applied.in_use != status.active
        ]
        + [
            OtherProcess(gateway=f"{each.name} on {each.machine}", pid=each.pid, in_use=each.active)
            for each in status.shared
            if each.machine != socket.gethostname() and each.active != status.active
        ],
        "gateways": [*_gateways_here(status), *_gateways_elsewhere(status)],
        "limits": limit_lines(store),
        "conditions": health_of_all(services, store.exchanges(owner, limit=LAST_EXCHANGES) if store else []),
        "switches": switches,
        "connect": connection_lines(services, status.gateways),
    }


def _gateways_here(status: Status) -> Iterable[GatewayRow]:
    for each in status.gateways:
        problems = [process.applied.problem for process in each.processes if process.applied and process.applied.problem]
        yield GatewayRow(
            name=each.name,
            where=each.url,
            backends=tuple(sorted(each.in_use)),
            processes=len(each.processes),
            since=each.started,
            problem=next(iter(problems), ""),
            follows=each.in_use == frozenset((status.active,)) and not problems,
        )


def _gateways_elsewhere(status: Status) -> Iterable[GatewayRow]:
    """The gateways of other machines that share the store."""
    newest = max((each.taken for each in status.shared), default=0)
    for each in status.shared:
        if each.machine != socket.gethostname():
            problem = each.problem or ("it has not applied the last change yet" if each.taken < newest else "")
            yield GatewayRow(
                name=f"{each.name} on {each.machine}",
                where=each.address,
                backends=(each.active,),
                processes=1,
                problem=problem,
                follows=each.active == status.active and not problem,
            )


def _rows(services: AdminServices, owner: str) -> dict[str, object]:
    store = services.store
    found: Sequence[Exchange] = store.exchanges(owner, limit=ROWS) if store else ()
    titles = {thread.id: thread.title for thread in store.threads(owner, limit=ROWS)} if store else {}
    rows = [row_of(exchange) for exchange in found]
    return {"rows": rows, "titles": titles, "owner": owner, "stored": store is not None}


def _part_switches(status: Status) -> list[SwitchRow]:
    """A switch for sub-agents, then one for each family."""

    def switch(name: str, rules: Sequence[RoutingRule], *, family: str = "", agents: bool = False) -> SwitchRow:
        chosen = next((rule.backend for rule in rules if rule in status.chosen), "")
        by_rule = next((rule.backend for rule in rules if rule not in status.chosen), "")
        return SwitchRow(name=name, family=family, agents=agents, chosen=chosen, rule=by_rule)

    return [
        switch("Sub-agents", [rule for rule in status.rules if rule.agent == "*"], agents=True),
        *(
            switch(family.capitalize(), [rule for rule in status.rules if rule.family == family], family=family)
            for family in FAMILIES
        ),
    ]


def connection_lines(services: AdminServices, gateways: Iterable[RegisteredGateway]) -> str:
    """The line that connects Claude Code. Each of several gateways has its own. No key is shown, only its place."""
    reference = key_expression(services)
    settings = services.current.snapshot.settings
    lines = {each.name: line_to_copy(settings, each.url, reference, expands=True) for each in gateways}
    if len(lines) > 1:
        return "\n\n".join(f"# gateway {name}\n{line}" for name, line in lines.items())
    return next(iter(lines.values()), "clew run -- claude")
