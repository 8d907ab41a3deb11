"""Backends that refused their key when they were asked last, as the store recorded it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from clew.admin.checkup.finding import Circumstances
from clew.errors import ClewError
from clew.pipeline.attempts import class_of_status
from clew.settings.gateway_key import LOCAL, named_keys
from clew.store import look
from clew.store.connection import connect
from clew.store.foreign import mapped
from clew.store.migrations import MIGRATIONS
from clew.store.values import Exchange

__all__ = ["RefusedKey", "refused_keys"]

_LOOKED_AT: Final = 300


class RefusedKey(Struct, frozen=True):
    """When, and with which status."""

    at: float
    status: int


def refused_keys(at: Circumstances) -> dict[str, RefusedKey]:
    """By the backend's name. A store that cannot be read says nothing here: there is a check for it."""
    if at.store is None or not at.store.is_file():
        return {}
    try:
        newest = _newest_calls(at.store, {LOCAL, *(row.principal for row in named_keys(at.home))})
    except ClewError:
        return {}
    return {name: call for name, call in newest.items() if class_of_status(call.status) == "key"}


def _newest_calls(path: Path, principals: set[str]) -> dict[str, RefusedKey]:
    newest: dict[str, RefusedKey] = {}
    for exchange in _exchanges(path, principals):
        for tried in exchange.tries:
            if tried.backend not in newest or newest[tried.backend].at <= exchange.ended:
                newest[tried.backend] = RefusedKey(exchange.ended, tried.status)
    return newest


def _exchanges(path: Path, principals: set[str]) -> Iterator[Exchange]:
    with mapped(path):
        connection = connect(path, read_only=True, busy=1.0)
        try:
            if connection.pragma("user_version") == len(MIGRATIONS):
                for principal in sorted(principals):
                    yield from (each for each, _ in look.exchanges(connection, principal, None, _LOOKED_AT))
        finally:
            connection.close()
