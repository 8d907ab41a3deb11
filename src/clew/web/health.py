"""The pages about health: Backends, and Doctor.

Of each backend: what it supports, its health, a button that tries it, its last errors. The health is what its last calls
came to, and whether it is left alone for a while. The calls are those of the last exchanges, failed tries included; so a
backend from which every request fails over is seen too.

The checks of Doctor read the store through, which may take seconds, so the page comes first and its script asks for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.backend_edits import read_only
from clew.admin.checkup import CHECKS
from clew.admin.requests import principal
from clew.admin.services import AdminServices
from clew.admin.views import checkup
from clew.backends.credential import Auth
from clew.backends.presets import deviations_of, hidden_of, is_unmapped, models_of, presets, supports_of
from clew.backends.row import DIALECTS, Backend, Quirks
from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.engine.services import cool_downs_in, longest
from clew.exchange.redact import Redactor
from clew.model.turn import Exchange
from clew.pipeline.attempts import class_of_status
from clew.settings.schema import meanings_of
from clew.web.frame import fragment, page
from clew.web.rows import Chip, Mood

LAST_EXCHANGES: Final = 300
"""The exchanges by which the health of backends is judged."""
_ERRORS: Final = 5
_AUTHS: Final[dict[Auth, str]] = {
    "passthrough": "the client's own credential",
    "key": "x-api-key",
    "bearer": "Bearer",
    "api-key": "api-key",
    "none": "none",
}


class FailedCall(Struct, frozen=True):
    exchange: str
    at: float
    status: int
    why: str


class BackendHealth(Struct, frozen=True, kw_only=True):
    """The health of one backend. `cools`: seconds for which it is left alone; `last_error` also where a request was at
    fault."""

    name: str
    mood: Mood
    says: str
    cools: float = 0.0
    calls: int = 0
    failed: int = 0
    refused: int = 0
    """Calls that were refused for what was asked, which says nothing against the backend."""
    first_byte: float | None = None
    last: float | None = None
    last_error: str = ""
    refuses_key: bool = False
    """The last call was refused for its key."""


class BackendView(Struct, frozen=True, kw_only=True):
    """A backend for people. No key is part of it."""

    row: Backend
    url: str
    auth: str
    models: str
    hidden: str
    supports: Mapping[str, str]
    deviations: tuple[Chip, ...]
    """The quirks that are set for it, each with its meaning."""
    unmapped: bool
    condition: BackendHealth
    mishaps: tuple[FailedCall, ...]


async def page_backends(services: AdminServices, request: Request) -> Response:
    owner = principal(request)
    snapshot = services.current.snapshot

    def views() -> list[BackendView]:
        lately = services.store.exchanges(owner, limit=LAST_EXCHANGES) if services.store else []
        rows, redact = snapshot.settings.backends.values(), services.redactor()
        found: list[BackendView] = []
        for row, health in zip(rows, health_of_all(services, lately), strict=True):
            failed = [
                FailedCall(exchange.id, exchange.ended, tried.status, redact(tried.why))
                for exchange in lately
                for tried in exchange.tries
                if tried.backend == row.name and tried.why
            ]
            view = BackendView(
                row=row,
                url=redact(row.url),
                auth=_AUTHS[row.auth],
                models=models_of(row),
                hidden=hidden_of(row),
                supports=supports_of(row),
                deviations=tuple(deviations(row)),
                unmapped=is_unmapped(row),
                condition=health,
                mishaps=tuple(failed[:_ERRORS]),
            )
            found.append(view)
        return found

    disabled, failover = tuple(snapshot.settings.disabled.values()), snapshot.settings.failover
    values = {
        "shown": await services.read(views),
        "disabled": disabled,
        "now": snapshot.active,
        "failover": failover,
        "read_only": await services.read(lambda: read_only(services)),
        "presets": {name: f"{row.title}: {name}" for name, row in sorted(presets().items())},
        "dialects": DIALECTS,
        "auths": _AUTHS,
    }
    return page(services, request, "backends.html", values)


def deviations(row: Backend) -> Iterator[Chip]:
    """The quirks that are set for a backend, each with its meaning."""
    meanings = {**meanings_of(ChatRequestOptions), **meanings_of(Quirks)}
    for name, value in deviations_of(row).items():
        yield Chip("", f"{name} = {value}", (meanings[name],))


# Health


def health_of_all(services: AdminServices, exchanges: Sequence[Exchange]) -> tuple[BackendHealth, ...]:
    """In the order of the settings. `exchanges` are the last ones, newest first."""
    # Cool-downs of other processes of this home (workers, other gateways), and then those of this one.
    cooling = dict(cool_downs_in(services.store, time.time())) if services.store else {}
    if services.runtime is not None:
        shared = services.runtime.engine.services
        for name, left in longest(shared.cool_downs, shared.clock()).items():
            cooling[name] = max(left, cooling.get(name, 0.0))
    redact = services.redactor()
    names = services.current.snapshot.settings.backends
    return tuple(_health(name, exchanges, cooling.get(name, 0.0), redact) for name in names)


def _health(name: str, exchanges: Sequence[Exchange], cools: float, redact: Redactor) -> BackendHealth:
    calls = [
        (exchange.ended, tried)
        for exchange in exchanges
        if exchange.outcome != "open"
        for tried in reversed(exchange.tries)
        if tried.backend == name
    ]
    with_error = [tried for _, tried in calls if tried.why]
    times = [each.first_byte for each in exchanges if each.backend == name and each.first_byte is not None]
    last_status = calls[0][1].status if calls else None
    mood, says = _mood(last_status, cools)
    return BackendHealth(
        name=name,
        mood=mood,
        says=says,
        cools=cools,
        calls=len(calls),
        failed=sum(_is_failure(tried.status) for _, tried in calls),
        refused=sum(not _is_failure(tried.status) for tried in with_error),
        first_byte=median(times) if times else None,
        last=calls[0][0] if calls else None,
        last_error=redact(with_error[0].why) if with_error else "",
        refuses_key=last_status is not None and class_of_status(last_status) == "key",
    )


def _is_failure(status: int) -> bool:
    """Whether a call speaks against the backend. A request that is refused for its own fault does not."""
    return class_of_status(status) not in (None, "never") if status else True


def _mood(status: int | None, cools: float) -> tuple[Mood, str]:
    """The mood and its words, by the status of the last call; 0 if it had none, None if there was no call."""
    if cools > 0:
        return "warn", f"paused after a failure, {cools:.0f} s left"
    if status is None:
        return "", "no recent calls"
    if not _is_failure(status):
        return "good", "answers"
    if not status:
        return "bad", "did not answer"
    return "bad", f"refused its key ({status})" if class_of_status(status) == "key" else f"refused ({status})"


# Doctor


async def page_doctor(services: AdminServices, request: Request) -> Response:
    return page(services, request, "doctor.html", {"checks": CHECKS})


async def part_checks(services: AdminServices, request: Request) -> Response:
    online = request.query_params.get("online", "") == "1"
    made = await services.read(lambda: checkup(services, online))
    states = [each.state for each in made]
    counts = {state: states.count(state) for state in ("broken", "warning", "ok")}
    return fragment("checks.html", {"made": made, "about": {each.name: each.does for each in CHECKS}, "counts": counts})
