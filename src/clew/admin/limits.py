"""Routes about limits, usage and the audit: what may be used, what was and what it cost, and who changed what."""

from __future__ import annotations

import time
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.problems import AdminProblem
from clew.admin.requests import MOST_ROWS, count, number, read_body
from clew.admin.routing import as_json, caller_name
from clew.admin.services import AdminServices
from clew.errors import SettingsInvalid
from clew.limits.ledger import LimitUse, limit_uses
from clew.limits.limit import Limit, read_limit, read_scope
from clew.limits.usage import (
    FILTERS,
    UsageEntry,
    UsageField,
    UsageLine,
    UsageQuery,
    read_fields,
    read_since,
    total_line,
    usage_csv,
    usage_entry,
    usage_lines,
)
from clew.settings.rollout import Rollout, roll_out_limits
from clew.store.audit_table import AuditEntry, AuditFilter


class LimitRow(Struct, frozen=True, kw_only=True):
    """A limit, and what was used of it in the present window. Money is in millionths of a dollar."""

    scope: str
    amount: str
    """As it is typed: 5usd/1d."""
    unit: str
    cap: int
    seconds: int
    hard: bool
    made: float
    made_by: str
    used: int | None
    ends: int | None
    """When the window ends."""


class LimitRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """Which limit: `scope` is key:NAME, principal:NAME or team:NAME; `amount` is such as 5usd/1d."""

    scope: str
    amount: str
    hard: bool = False


class LimitsReply(Struct, frozen=True):
    """All limits after a change, and whether all gateways of this home have applied it."""

    limits: tuple[LimitRow, ...]
    followed: Rollout


class AuditPage(Struct, frozen=True):
    """A part of the audit, the newest change first."""

    entries: tuple[AuditEntry, ...]


async def limits(services: AdminServices, request: Request) -> Response:
    return as_json({"limits": await services.read(lambda: _rows(services))})


async def set_limit(services: AdminServices, request: Request) -> Response:
    limit = _limit_of(await read_body(request, LimitRequest), caller_name(request))
    await services.wait_for_write(services.kept.limits.set(limit))
    return await _roll_out(services)


async def remove_limit(services: AdminServices, request: Request) -> Response:
    named = _limit_of(await read_body(request, LimitRequest), caller_name(request))
    removed = services.kept.limits.remove(named, at=named.made, by=named.made_by)
    if not await services.wait_for_write(removed):
        raise AdminProblem(404, "there is no such limit", "the scope, the unit and the window must be the same")
    return await _roll_out(services)


async def audit(services: AdminServices, request: Request) -> Response:
    before, limit, given = number(request, "before"), count(request), request.query_params
    more = {} if before is None else {"before": int(before)}
    try:
        since = read_since(given["since"], time.time()) if "since" in given else 0.0
    except SettingsInvalid as error:
        raise AdminProblem(400, "since cannot be used", str(error)) from None
    wanted = AuditFilter(who=given.get("who", ""), what=given.get("what", ""), target=given.get("target", ""), since=since)
    entries = await services.read(lambda: services.kept.audit.entries(limit=limit, wanted=wanted, **more))
    return as_json(AuditPage(entries))


def _limit_of(body: LimitRequest, made_by: str) -> Limit:
    """The limit that the body describes. Raises AdminProblem if it describes none."""
    try:
        return read_limit(read_scope(body.scope), body.amount, hard=body.hard, made=time.time(), made_by=made_by)
    except SettingsInvalid as error:
        raise AdminProblem(400, "this is not a limit", str(error)) from None


async def _roll_out(services: AdminServices) -> Response:
    def wait() -> LimitsReply:
        services.current.poll()
        followed = roll_out_limits(services.home, services.kept)
        return LimitsReply(_rows(services), followed)

    return as_json(await services.read(wait))


def _rows(services: AdminServices) -> tuple[LimitRow, ...]:
    """All limits and how much of each is used. It reads the store: call it in a thread."""
    if services.store is None:
        return ()
    found, now = services.store.limits.all(), time.time()
    return tuple(_row(each) for each in limit_uses(found, services.store.limits.totals(now) if found else {}, now))


def _row(use: LimitUse) -> LimitRow:
    limit: Limit = use.limit
    return LimitRow(
        scope=str(limit.scope),
        amount=limit.amount,
        unit=limit.unit,
        cap=limit.cap,
        seconds=limit.seconds,
        hard=limit.hard,
        made=limit.made,
        made_by=limit.made_by,
        used=use.used,
        ends=use.ends,
    )


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
