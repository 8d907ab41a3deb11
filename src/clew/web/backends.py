"""Backends: each with what it supports and how it is, a button that tries it, and its last errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk
from clew.admin.parameters import principal
from clew.backends.about import deviations_of, hidden_of, models_of, supports_of
from clew.backends.manner import Quirks
from clew.backends.row import Auth, Backend
from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.settings.schema import meanings_of
from clew.store.values import Exchange
from clew.web.exchange_row import Chip
from clew.web.frame import page
from clew.web.health import Condition, conditions

__all__ = ["deviations", "page_backends"]

_LOOKED_AT: Final = 300
_ERRORS: Final = 5
_AUTHS: Final[dict[Auth, str]] = {
    "passthrough": "the client's own credential",
    "key": "x-api-key",
    "bearer": "Bearer",
    "api-key": "api-key",
    "none": "none",
}


class Mishap(Struct, frozen=True):
    """A call that failed."""

    exchange: str
    at: float
    status: int
    why: str


class Shown(Struct, frozen=True, kw_only=True):
    """A backend for people. No key is part of it."""

    row: Backend
    url: str
    auth: str
    keys_from: tuple[str, ...]
    models: str
    hidden: str
    supports: Mapping[str, str]
    deviations: tuple[Chip, ...]
    """What is set for it, each with what that means."""
    unmapped: bool
    condition: Condition
    mishaps: tuple[Mishap, ...]


async def page_backends(desk: Desk, request: Request) -> Response:
    owner = principal(request)
    shown = await desk.read(lambda: _shown(desk, owner))
    snapshot = desk.current.snapshot
    settings = snapshot.settings
    values = {"shown": shown, "disabled": tuple(settings.disabled.values()), "now": snapshot.active}
    return page(desk, request, "backends.html", {**values, "failover": settings.failover})


def deviations(row: Backend) -> Iterator[Chip]:
    """What is set for it, each with what that means."""
    meanings = {**meanings_of(ChatRequestOptions), **meanings_of(Quirks)}
    for name, value in deviations_of(row).items():
        yield Chip("", f"{name} = {value}", (meanings[name],))


def _shown(desk: Desk, owner: str) -> list[Shown]:
    lately = desk.store.exchanges(owner, limit=_LOOKED_AT) if desk.store else []
    rows = desk.current.snapshot.settings.backends.values()
    return [_one(desk, row, each, lately) for row, each in zip(rows, conditions(desk, lately), strict=True)]


def _one(desk: Desk, row: Backend, condition: Condition, lately: list[Exchange]) -> Shown:
    redact = desk.redactor()
    mishaps = [
        Mishap(exchange.id, exchange.ended, tried.status, redact(tried.why))
        for exchange in lately
        for tried in exchange.tries
        if tried.backend == row.name and tried.why
    ]
    return Shown(
        row=row,
        url=redact(row.url),
        auth=_AUTHS[row.auth],
        keys_from=row.keys_from,
        models=models_of(row),
        hidden=hidden_of(row),
        supports=supports_of(row),
        deviations=tuple(deviations(row)),
        unmapped=row.dialect != "anthropic" and not (row.model or row.models),
        condition=condition,
        mishaps=tuple(mishaps[:_ERRORS]),
    )
