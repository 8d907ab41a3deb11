"""How each backend is: what its last calls came to, and whether it is left alone for a while.

The calls are those of the last exchanges, failed tries included; so a backend that only ever fails over is seen too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

from clew.admin.desk import Desk
from clew.engine.cooling import cool_downs_in, longest
from clew.engine.redact import Redactor
from clew.pipeline.attempts import class_of_status
from clew.store.values import Exchange, Try
from clew.web.exchange_row import Mood

__all__ = ["Condition", "conditions"]


class Condition(Struct, frozen=True, kw_only=True):
    """Of one backend. `cools`: seconds for which it is left alone; `last_error` also where a request was at fault."""

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


class _Call(Struct, frozen=True):
    at: float
    tried: Try

    @property
    def failed(self) -> bool:
        """A request that is refused for its own fault says nothing against the backend."""
        return class_of_status(self.tried.status) not in (None, "never") if self.tried.status else True


def conditions(desk: Desk, exchanges: Sequence[Exchange]) -> tuple[Condition, ...]:
    """In the order of the settings. `exchanges` are the last ones, newest first."""
    cooling = _cooling(desk)
    redact = desk.redactor()
    return tuple(
        _condition(name, _calls(name, exchanges), exchanges, cooling.get(name, 0.0), redact)
        for name in desk.current.snapshot.settings.backends
    )


def _cooling(desk: Desk) -> dict[str, float]:
    """Seconds that are left: what this process knows, and what others of this home told (`--workers`, other gateways)."""
    found = dict(cool_downs_in(desk.store, time.time())) if desk.store else {}
    if desk.works is not None:
        parts = desk.works.engine.parts
        for name, left in longest(parts.cool_downs, parts.clock()).items():
            found[name] = max(left, found.get(name, 0.0))
    return found


def _calls(name: str, exchanges: Iterable[Exchange]) -> list[_Call]:
    """Newest first."""
    return [
        _Call(exchange.ended, tried)
        for exchange in exchanges
        if exchange.outcome != "open"
        for tried in reversed(exchange.tries)
        if tried.backend == name
    ]


def _condition(
    name: str, calls: Sequence[_Call], exchanges: Iterable[Exchange], cools: float, redact: Redactor
) -> Condition:
    failures, refused = [call for call in calls if call.failed], [call for call in calls if call.tried.why]
    mood, says = _mood(calls, cools)
    times = [each.first_byte for each in exchanges if each.backend == name and each.first_byte is not None]
    return Condition(
        name=name,
        mood=mood,
        says=says,
        cools=cools,
        calls=len(calls),
        failed=len(failures),
        refused=len([call for call in refused if not call.failed]),
        first_byte=median(times) if times else None,
        last=calls[0].at if calls else None,
        last_error=redact(refused[0].tried.why) if refused else "",
        refuses_key=bool(calls) and class_of_status(calls[0].tried.status) == "key",
    )


def _mood(calls: Sequence[_Call], cools: float) -> tuple[Mood, str]:
    if cools > 0:
        return "warn", f"left alone for {cools:.0f} s"
    if not calls:
        return "", "not asked lately"
    if calls[0].failed:
        return "bad", _refusal(calls[0].tried.status)
    return "good", "answers"


def _refusal(status: int) -> str:
    if not status:
        return "did not answer"
    return f"refused its key ({status})" if class_of_status(status) == "key" else f"refused ({status})"
