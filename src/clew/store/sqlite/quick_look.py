"""A quick look at the store, for a command that must be over before anybody waits for it.

No threads, no lock, no index and nothing that writes are made or even loaded; there is one connection, for what a line of
text needs. A file that is not of the present schema is not read: whoever opens it properly brings it there.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from clew.store.sqlite import look
from clew.store.sqlite.connection import connect, prepare_file
from clew.store.sqlite.foreign import mapped
from clew.store.sqlite.leases import FileLeases
from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.values import Exchange

__all__ = ["SqliteQuickLook"]


class SqliteQuickLook:
    """Of a file that is there. Raises StoreError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        prepare_file(path)
        self._path = path
        with mapped(path):
            self._connection = connect(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    @property
    def is_current(self) -> bool:
        """Whether the file has the present schema."""
        with mapped(self._path):
            return self._connection.pragma("user_version") == len(MIGRATIONS)

    def last(self, principal: str, session: str) -> Exchange | None:
        """What befell the last request of the main thread with this session."""
        with mapped(self._path):
            thread = look.thread_of(self._connection, principal, session, "")
            found = look.exchanges(self._connection, principal, thread, 1) if thread else []
        for exchange, process in found:
            is_cut = exchange.outcome == "open" and not FileLeases(self._path).is_held(process)
            return msgspec.structs.replace(exchange, outcome="cut") if is_cut else exchange
        return None

    def pin_of(self, principal: str, thread: str) -> str:
        with mapped(self._path):
            return look.pin_of(self._connection, principal, thread)

    def settings(self, scope: str = "") -> dict[str, str]:
        with mapped(self._path):
            return look.settings(self._connection, scope)
