"""The page Threads: the conversations with what they used, and those in which words were found.

The list begins with the thread that was used last, and is read page by page. For any other order, and for a filter, the
totals of many threads are needed: then the page is about the last used threads alone, as many as `SCOPE` says, and tells so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.problems import AdminProblem
from clew.admin.requests import number, principal
from clew.admin.services import AdminServices
from clew.admin.views import status_of
from clew.backends.row import Backend
from clew.chat.formats import FORMATS
from clew.chat.prices import Cost, cost_of, total_cost
from clew.model.facts.clients import known_clients
from clew.model.turn import API_NAMES, TokenUsage
from clew.store import Store
from clew.store.values import Hit, Thread, ThreadTotal
from clew.web.frame import address, page
from clew.web.now_page import connection_lines

SCOPE: Final = 500
"""Threads that are looked at for another order than the usual, or for a filter."""
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


class ThreadRow(Struct, frozen=True, kw_only=True):
    """A thread with what was used in it. `models` and `backends` are those that answered, the newest first."""

    thread: Thread
    models: tuple[str, ...]
    backends: tuple[str, ...]
    clients: tuple[str, ...]
    """The programs that asked."""
    apis: tuple[str, ...]
    """Their dialects."""
    keys: tuple[str, ...]
    """The names of their keys; the gateway's own has none."""
    calls: int
    seconds: float
    tokens: int
    output: int
    cost: Cost | None


class ThreadFilter(Struct, frozen=True, kw_only=True):
    """What the list is to show, and in which order."""

    model: str = ""
    backend: str = ""
    client: str = ""
    """A program."""
    api: str = ""
    """A dialect."""
    days: int = 0
    """Only what was used in so many days; 0: ever."""
    sort: str = ""

    @property
    def is_set(self) -> bool:
        return self != ThreadFilter()

    @property
    def query(self) -> dict[str, str]:
        """For an address, without the order."""
        days = str(self.days or "")
        return {"model": self.model, "backend": self.backend, "client": self.client, "api": self.api, "days": days}

    def matches(self, row: ThreadRow, now: float) -> bool:
        return (
            (not self.model or self.model in row.models)
            and (not self.backend or self.backend in row.backends)
            and (not self.client or self.client in row.clients)
            and (not self.api or self.api in row.apis)
            and (not self.days or row.thread.used >= now - self.days * 86_400.0)
        )


SORTS: Final[Mapping[str, Callable[[ThreadRow], tuple[float, str]]]] = {
    "cost": lambda row: (-float(row.cost.usd) if row.cost else 1.0, ""),
    "tokens": lambda row: (-row.tokens, ""),
    "time": lambda row: (-row.seconds, ""),
    "turns": lambda row: (-row.thread.turns, ""),
    "model": lambda row: (not row.models, f"{row.backends[:1]} {row.models[:1]}"),
    "client": lambda row: (not row.clients, f"{row.clients[:1]} {row.apis[:1]} {row.keys[:1]}".casefold()),
}
"""The largest first, names by the alphabet; who has none comes last."""


async def page_threads(services: AdminServices, request: Request) -> Response:
    owner, words = principal(request), request.query_params.get("q", "").strip()
    before, chosen = number(request, "before"), filter_of(request)
    wanted = request.query_params.get("from", "")[:9]

    def values() -> dict[str, object]:
        """One thread or hit more than a page shows is read, to know whether there are more."""
        store = services.kept
        hits = store.search(owner, words, limit=MOST_HITS + 1) if words else []
        rows = [] if words else _rows(services, owner, before, chosen)
        listed = _chosen(rows, chosen)
        start = int(wanted) if wanted.isdecimal() and chosen.is_set and int(wanted) < len(listed) else 0
        shown = listed[start : start + PAGE]
        left = len(listed) - start - len(shown)
        usual = not chosen.is_set
        return {
            "words": words,
            "owner": owner,
            "to": partial(address, owner=owner),
            "found": [SearchHit(hit, snippet_parts(hit)) for hit in hits[:MOST_HITS]],
            "others": len(hits) > MOST_HITS,
            "rows": shown,
            "more": shown[-1].thread.used if usual and left > 0 else None,
            "next": start + PAGE if left > 0 and not usual else None,
            "left": left,
            "chosen": chosen,
            "filtered": partial(address, "threads", owner=owner, **chosen.query),
            "api_names": API_NAMES,
            "choices": {**_choices(store, owner), "clients": _client_names(rows, chosen)},
            "formats": tuple(FORMATS.values()),
            "scope": SCOPE,
            "first": before is None,
            "connect": "" if listed or words else connection_lines(services, status_of(services).gateways),
            "keeps": services.current.snapshot.settings.store.content,
        }

    return page(services, request, "threads.html", await services.read(values))


def filter_of(request: Request) -> ThreadFilter:
    """The filter that the query describes. Raises AdminProblem for an unknown order."""
    query = request.query_params
    days, sort = query.get("days", ""), query.get("sort", "")
    if sort and sort not in SORTS:
        raise AdminProblem(400, "this order does not exist", f"there are: {', '.join(SORTS)}")
    number = int(days[:5]) if days.isdecimal() else 0
    names = {name: query.get(name, "") for name in ("model", "backend", "client", "api")}
    return ThreadFilter(**names, days=number, sort=sort)


def _choices(store: Store, owner: str) -> dict[str, list[str]]:
    """The models and backends that a filter can name: all that were ever used."""
    totals = store.usage_totals(owner)
    return {
        "models": sorted({each.model for each in totals if each.model}),
        "backends": sorted({each.backend for each in totals if each.backend}),
    }


def _client_names(rows: Iterable[ThreadRow], chosen: ThreadFilter) -> list[str]:
    """The programs that a filter can name: those that clew knows, those of these rows, and the chosen one."""
    found = {name for row in rows for name in row.clients} | {row.title for row in known_clients()} | {chosen.client}
    return sorted(found - {""}, key=str.casefold)


def _rows(services: AdminServices, owner: str, before: float | None, chosen: ThreadFilter) -> list[ThreadRow]:
    """One more than a page, or all that a filter and another order look at."""
    store, backends = services.kept, services.current.snapshot.settings.backends
    threads = store.threads(owner, limit=SCOPE) if chosen.is_set else store.threads(owner, limit=PAGE + 1, before=before)
    return thread_rows(store, owner, threads, backends)


def _chosen(rows: list[ThreadRow], chosen: ThreadFilter) -> list[ThreadRow]:
    if not chosen.is_set:
        return rows
    now = time.time()
    kept = [row for row in rows if chosen.matches(row, now)]
    return sorted(kept, key=SORTS[chosen.sort]) if chosen.sort else kept


def thread_rows(store: Store, owner: str, threads: Sequence[Thread], backends: Mapping[str, Backend]) -> list[ThreadRow]:
    """The rows of these threads, in the same order."""
    totals: dict[str, list[ThreadTotal]] = {}
    for total in store.thread_totals(owner, [thread.id for thread in threads]):
        totals.setdefault(total.thread, []).append(total)
    return [_row(thread, totals.get(thread.id, []), backends) for thread in threads]


def _row(thread: Thread, totals: Sequence[ThreadTotal], backends: Mapping[str, Backend]) -> ThreadRow:
    last_first = totals[::-1]
    return ThreadRow(
        thread=thread,
        models=tuple(dict.fromkeys(each.model for each in last_first if each.model)),
        backends=tuple(dict.fromkeys(each.backend for each in last_first if each.backend)),
        clients=tuple(dict.fromkeys(each.client for each in last_first if each.client)),
        apis=tuple(dict.fromkeys(each.dialect for each in last_first)),
        keys=tuple(dict.fromkeys(each.key for each in last_first if each.key)),
        calls=sum(each.calls for each in totals),
        seconds=sum(each.seconds for each in totals),
        tokens=sum(each.usage.prompt + each.usage.output for each in totals),
        output=sum(each.usage.output for each in totals),
        cost=total_cost(_cost(each, backends.get(each.backend)) for each in totals) if totals else None,
    )


def _cost(total: ThreadTotal, backend: Backend | None) -> Cost | None:
    """The cost of a call of average length, times the calls. An estimate where a price depends on the length."""
    usage, calls = total.usage, total.calls
    average = TokenUsage(
        input=usage.input // calls,
        output=usage.output // calls,
        cache_read=usage.cache_read // calls,
        cache_written=usage.cache_written // calls,
    )
    cost = cost_of(total.model, average, backend=backend, complete=not usage.estimated)
    return Cost(cost.usd * Decimal(calls), estimated=cost.estimated or calls > 1) if cost else None


# Search


def snippet_parts(hit: Hit) -> list[SnippetPart]:
    """The snippet, cut where words were found: a template escapes each part by itself. Marks of Markdown are removed."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for start, end in hit.marks:
        parts += [(hit.snippet[at:start], False), (hit.snippet[start:end], True)]
        at = end
    parts.append((hit.snippet[at:], False))
    return [SnippetPart(_MARKUP.sub("", text), found) for text, found in parts if text]
