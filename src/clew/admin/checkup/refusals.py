"""Backends that refused their key when they were asked last, as the store recorded it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from clew.admin.checkup.finding import Circumstances
from clew.errors import ClewError
from clew.pipeline.attempts import class_of_status
from clew.settings.gateway_key import LOCAL, named_keys
from clew.store.location import StoreLocation

__all__ = ["RefusedKey", "refused_keys"]

_LOOKED_AT: Final = 300


class RefusedKey(Struct, frozen=True):
    """When, and with which status."""

    at: float
    status: int


def refused_keys(at: Circumstances) -> dict[str, RefusedKey]:
    """By the backend's name. A store that cannot be read says nothing here: there is a check for it."""
    if at.store is None or not at.store.is_readable():
        return {}
    try:
        newest = _newest_calls(at.store, {LOCAL, *(row.principal for row in named_keys(at.home))})
    except ClewError:
        return {}
    return {name: call for name, call in newest.items() if class_of_status(call.status) == "key"}


def _newest_calls(store: StoreLocation, principals: set[str]) -> dict[str, RefusedKey]:
    newest: dict[str, RefusedKey] = {}
    for exchange in store.last_exchanges(sorted(principals), _LOOKED_AT):
        for tried in exchange.tries:
            if tried.backend not in newest or newest[tried.backend].at <= exchange.ended:
                newest[tried.backend] = RefusedKey(exchange.ended, tried.status)
    return newest
