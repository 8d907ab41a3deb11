"""The audit: who changed what, in a store of any kind. An entry is written in the transaction of the change itself.

`before` and `after` are for people, and never hold a secret.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Final

from msgspec import Struct, convert

from clew.store.table_access import TableConnection, TableRunner

_ADD: Final = "INSERT INTO clew.audit (at, who, what, target, before, after) VALUES ($1, $2, $3, $4, $5, $6)"
_LAST: Final = """
SELECT seq, at, who, what, target, before, after FROM clew.audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2
"""
_END: Final = 2**62


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One change by an operator."""

    at: float
    who: str
    what: str
    """What was done: `limit set`, `key removed`."""
    target: str
    """To what: `key:anna`."""
    before: str = ""
    after: str = ""
    seq: int = 0
    """Its number, given by the store."""


class AuditTable:
    """The entries of a store."""

    def __init__(self, access: TableRunner) -> None:
        self._access = access

    def add(self, entry: AuditEntry) -> Future[None]:
        return self._access.write(lambda on: add_entry(on, entry))

    def entries(self, *, limit: int = 100, before: int = _END) -> tuple[AuditEntry, ...]:
        """The last ones, newest first; those with a smaller number than `before`."""
        rows = self._access.read(lambda on: on.rows(_LAST, before, limit))
        names = ("seq", "at", "who", "what", "target", "before", "after")
        return convert([dict(zip(names, row, strict=True)) for row in rows], tuple[AuditEntry, ...], strict=False)


def add_entry(on: TableConnection, entry: AuditEntry) -> None:
    on.run(_ADD, entry.at, entry.who, entry.what, entry.target, entry.before, entry.after)
