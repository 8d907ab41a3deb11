"""The audit: who changed what, in a store of any kind.

The entry of a key or a limit is written in the transaction of the change itself, that of any other change right after it.
`before` and `after` are for people, and never hold a secret or words of a conversation.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Final

from msgspec import Struct, convert

from clew.store.table_access import TableConnection, TableRunner

_ADD: Final = "INSERT INTO clew.audit (at, who, what, target, before, after) VALUES ($1, $2, $3, $4, $5, $6)"
_LAST: Final = """
SELECT seq, at, who, what, target, before, after FROM clew.audit
WHERE seq < $1 AND at >= CAST($3 AS float8) AND lower(who) LIKE $4 ESCAPE '!' AND lower(what) LIKE $5 ESCAPE '!'
    AND lower(target) LIKE $6 ESCAPE '!'
ORDER BY seq DESC LIMIT $2
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


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which entries are wanted: those with these texts somewhere in their fields, in any case of letters."""

    who: str = ""
    what: str = ""
    target: str = ""
    since: float = 0.0


_EVERY: Final = AuditFilter()


class AuditTable:
    """The entries of a store."""

    def __init__(self, access: TableRunner) -> None:
        self._access = access

    def add(self, entry: AuditEntry) -> Future[None]:
        return self._access.write(lambda on: add_entry(on, entry))

    def note(self, who: str, what: str, target: str, before: str = "", after: str = "") -> Future[None]:
        """Add an entry of now."""
        return self.add(AuditEntry(at=time.time(), who=who, what=what, target=target, before=before, after=after))

    def entries(
        self, *, limit: int = 100, before: int | None = None, wanted: AuditFilter = _EVERY
    ) -> tuple[AuditEntry, ...]:
        """The last ones, newest first; those with a smaller number than `before`."""
        texts = [_pattern(text) for text in (wanted.who, wanted.what, wanted.target)]
        rows = self._access.read(lambda on: on.rows(_LAST, _END if before is None else before, limit, wanted.since, *texts))
        names = ("seq", "at", "who", "what", "target", "before", "after")
        return convert([dict(zip(names, row, strict=True)) for row in rows], tuple[AuditEntry, ...], strict=False)


def _pattern(text: str) -> str:
    """For LIKE: the text anywhere, as it stands."""
    plain = "".join(f"!{each}" if each in "!%_" else each for each in text.lower())
    return f"%{plain}%"


def add_entry(on: TableConnection, entry: AuditEntry) -> None:
    on.run(_ADD, entry.at, entry.who, entry.what, entry.target, entry.before, entry.after)
