"""The pages with lists: Now and Threads.

Now has what is active, with the switches; the health of each backend; and what happens, live. The page is whole when it
comes. A script listens to the events and asks for the two parts that change (`/now/top` and `/now/rows`) when something
happened, so there is one way to draw each. Threads has the conversations, the last used first, and those in which words were
found.
"""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.parameters import number, principal
from clew.admin.services import AdminServices, principals_of
from clew.admin.views import Status, status_of
from clew.backends.names import FAMILIES
from clew.gateway.client import line_to_copy
from clew.model.turn import Exchange
from clew.settings.own_keys import KEY_VARIABLE
from clew.settings.processes import RegisteredGateway
from clew.settings.values import RoutingRule
from clew.store.values import Hit
from clew.web.exchange_row import row_of
from clew.web.frame import address, fragment, page
from clew.web.health import LAST_EXCHANGES, health_of_all

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
    """Reads the store, so it belongs into a thread."""
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
        "conditions": health_of_all(services, store.exchanges(owner, limit=LAST_EXCHANGES) if store else []),
        "switches": switches,
        "connect": connection_lines(services, status.gateways),
    }


def _rows(services: AdminServices, owner: str) -> dict[str, object]:
    store = services.store
    found: Sequence[Exchange] = store.exchanges(owner, limit=ROWS) if store else ()
    titles = {thread.id: thread.title for thread in store.threads(owner, limit=ROWS)} if store else {}
    rows = [row_of(exchange) for exchange in found]
    return {"rows": rows, "titles": titles, "owner": owner, "stored": store is not None}


def _part_switches(status: Status) -> list[SwitchRow]:
    """Sub-agents, then families."""

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
    """The lines that connect Claude Code, one for each running gateway. A key is named by where it is, never shown."""
    key = services.home.key
    reference = f"$(cat {shlex.quote(str(key))})" if key.is_file() else f"${KEY_VARIABLE}"
    settings = services.current.snapshot.settings
    lines = ["clew run -- claude    # a gateway for one run of Claude Code"]
    for gateway in gateways:
        lines += ["", f"# the gateway {gateway.name}", line_to_copy(settings, gateway.url, reference, expands=True)]
    return "\n".join(lines)


# Threads


PAGE: Final = 50
MOST_HITS: Final = 100
_MARKUP: Final = re.compile(r"\*\*|(?:\| *)?(?::?(?<!-)-{2,}:? *\| *)+|\| *(?=\|)")
"""Marks of bold type and lines of tables. A row of dashes is matched from its beginning alone: some are very long."""


class SnippetPart(Struct, frozen=True):
    """A part of a snippet; `found` is a word that was looked for."""

    text: str
    found: bool


class SearchHit(Struct, frozen=True):
    """A place in which the words are."""

    hit: Hit
    parts: Sequence[SnippetPart]


async def page_threads(services: AdminServices, request: Request) -> Response:
    owner, words = principal(request), request.query_params.get("q", "").strip()
    before = number(request, "before")

    def values() -> dict[str, object]:
        """One thread or hit more than a page shows is read, to know whether there are more."""
        store = services.kept
        threads = [] if words else store.threads(owner, limit=PAGE + 1, before=before)
        hits = store.search(owner, words, limit=MOST_HITS + 1) if words else []
        return {
            "words": words,
            "owner": owner,
            "to": partial(address, owner=owner),
            "found": [SearchHit(hit, snippet_parts(hit)) for hit in hits[:MOST_HITS]],
            "others": len(hits) > MOST_HITS,
            "threads": threads[:PAGE],
            "more": threads[PAGE - 1].used if len(threads) > PAGE else None,
            "first": before is None,
            "connect": "" if threads or words else connection_lines(services, status_of(services).gateways),
            "keeps": services.current.snapshot.settings.store.content,
        }

    return page(services, request, "threads.html", await services.read(values))


def snippet_parts(hit: Hit) -> list[SnippetPart]:
    """The snippet, cut where words were found: a template escapes each part by itself. Marks of Markdown are removed."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for start, end in hit.marks:
        parts += [(hit.snippet[at:start], False), (hit.snippet[start:end], True)]
        at = end
    parts.append((hit.snippet[at:], False))
    return [SnippetPart(_MARKUP.sub("", text), found) for text, found in parts if text]
