"""The route about usage: calls, tokens and cost by key, principal, team, thread, sub-agent, backend, model, day and hour."""

from __future__ import annotations

import time
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.parameters import MOST_ROWS, count
from clew.admin.problems import AdminProblem
from clew.admin.routing import as_json
from clew.admin.services import AdminServices
from clew.errors import SettingsInvalid
from clew.limits.usage import (
    FILTERS,
    UsageField,
    UsageLine,
    UsageQuery,
    total_line,
    usage_lines,
)
from clew.limits.usage_text import UsageEntry, read_fields, read_since, usage_csv, usage_entry

USUAL_SPAN: Final = "30d"


class UsageReply(Struct, frozen=True, kw_only=True):
    """What was used from `since` to `until`, in seconds since the epoch. `left_out` counts lines beyond `limit`; `total` has
    all."""

    since: float
    until: float
    by: tuple[UsageField, ...]
    lines: tuple[UsageEntry, ...]
    total: UsageEntry
    left_out: int


async def usage(services: AdminServices, request: Request) -> Response:
    query, most = _query_of(request, time.time()), count(request, MOST_ROWS)
    format = request.query_params.get("format", "json")
    if format not in ("json", "csv"):
        raise AdminProblem(400, "format cannot be used", "it is json or csv")
    lines = await services.read(lambda: lines_of(services, query))
    if format == "csv":
        name = f"clew-usage-{time.strftime('%Y-%m-%d', time.gmtime(query.until))}.csv"
        disposition = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(usage_csv(query.by, lines), media_type="text/csv", headers=disposition)
    return as_json(
        UsageReply(
            since=query.since,
            until=query.until,
            by=query.by,
            lines=tuple(usage_entry(query.by, line) for line in lines[:most]),
            total=usage_entry((), total_line(lines)),
            left_out=max(0, len(lines) - most),
        )
    )


def lines_of(services: AdminServices, query: UsageQuery) -> list[UsageLine]:
    """The lines of a table of usage. It reads the store: call it in a thread."""
    return usage_lines(query, services.kept.usage.groups(query), services.current.snapshot.settings.backends)


def _query_of(request: Request, now: float) -> UsageQuery:
    """What the query of the URL asks for. Raises AdminProblem if it cannot be added up."""
    given = request.query_params
    try:
        return UsageQuery(
            by=read_fields(given.get("by", "")),
            since=read_since(given.get("since", USUAL_SPAN), now),
            until=read_since(given["until"], now) if "until" in given else now,
            only={field: given[field] for field in FILTERS if field in given},
        )
    except SettingsInvalid as error:
        raise AdminProblem(400, "this cannot be added up", str(error)) from None
