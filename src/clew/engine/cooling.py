"""What the processes of a home tell each other about backends that are left alone for a while: for people to see.

Each process learns for itself and acts on that alone (`Parts.cool_downs`); what it learnt goes into the store besides, where
an admin that speaks for several workers, or for other gateways, finds it. A cool-down that grows by less than a second is no
news, so a backend that is down costs one write a second at most, however many ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.pipeline.attempts import CoolDowns
from clew.store import Store

SCOPE: Final = ":cooling"
"""No gateway has such a name."""
_NEWS: Final = 1.0


def tell_cool_downs(store: Store, known: CoolDowns, cooled: CoolDowns, *, now: float, wall: float) -> None:
    """Write down what was not `known`. `now` is the clock's word for the moment that `wall` calls otherwise."""
    before = longest(known, now)
    for backend, left in longest(cooled, now).items():
        if left > before.get(backend, 0.0) + _NEWS:
            store.set(backend, f"{wall + left:.3f}", scope=SCOPE, at=wall)


def longest(cooled: CoolDowns, now: float) -> dict[str, float]:
    """The seconds that are left of each backend's longest cool-down, whichever of its keys that is."""
    found: dict[str, float] = {}
    for (backend, _), until in cooled.until.items():
        if until > now:
            found[backend] = max(found.get(backend, 0.0), until - now)
    return found


def cool_downs_in(store: Store, wall: float) -> Mapping[str, float]:
    """The seconds that are left, as whichever process knows it that told last."""
    until = {backend: float(value) for backend, value in store.settings(SCOPE).items()}
    return {backend: end - wall for backend, end in until.items() if end > wall}
