"""The named keys in a store of any kind. A change reads the table, works the new one out, and writes what differs, with its
entry in the audit, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Final

import msgspec
from msgspec import Struct

from clew.limits.keys import KeyChange, KeyRights, NamedKey
from clew.store.audit_table import AuditEntry, add_entry
from clew.store.rows import Row
from clew.store.table_access import TableConnection, TableRunner

_ALL: Final = """
SELECT kid, name, hash, principal, team, rights, made, made_by, expires, replaced_by, last_used FROM clew.keys
ORDER BY made, kid
"""
_DELETE: Final = "DELETE FROM clew.keys WHERE kid = $1"
_PUT: Final = """
INSERT INTO clew.keys (kid, name, hash, principal, team, rights, made, made_by, expires, replaced_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CAST($9 AS float8), $10)
ON CONFLICT (kid) DO UPDATE SET name = excluded.name, hash = excluded.hash, principal = excluded.principal,
    team = excluded.team, rights = excluded.rights, made = excluded.made, made_by = excluded.made_by,
    expires = excluded.expires, replaced_by = excluded.replaced_by
"""
_USED: Final = """
UPDATE clew.keys SET last_used = CAST($2 AS float8) WHERE kid = $1 AND (last_used IS NULL OR last_used < CAST($2 AS float8))
"""
_LOCK: Final = "keys"


class _Rights(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the column `rights` holds."""

    rights: KeyRights = KeyRights()
    parent: str = ""


class KeyRows:
    """Of one store. Reads wait, writes give a future."""

    def __init__(self, access: TableRunner) -> None:
        self._access = access

    def all(self) -> tuple[NamedKey, ...]:
        """Those that a new secret has replaced too, the oldest first."""
        return self._access.read(_read)

    def change(self, work: Callable[[Sequence[NamedKey]], KeyChange], *, at: float, by: str) -> Future[KeyChange]:
        """The future raises what `work` raises; then nothing was changed."""
        return self._access.write(lambda on: _change(on, work, at, by), tells=True)

    def note_used(self, used: Mapping[str, float]) -> Future[None]:
        """When keys were used last, by their ids. Nobody has to take that over."""
        return self._access.write(lambda on: _note_used(on, used))


def _read(on: TableConnection) -> tuple[NamedKey, ...]:
    return tuple(map(_key_of, on.rows(_ALL)))


def _key_of(row: Row) -> NamedKey:
    kid, name, hash, principal, team, rights, made, made_by, _, replaced_by, last_used = row
    kept = msgspec.json.decode(str(rights) or "{}", type=_Rights)
    return msgspec.convert(
        {
            "kid": kid,
            "name": name,
            "hash": hash,
            "principal": principal,
            "team": team,
            "created": made,
            "made_by": made_by,
            "replaced_by": replaced_by,
            "last_used": last_used,
            "rights": kept.rights,
            "parent": kept.parent,
        },
        NamedKey,
    )


def _change(on: TableConnection, work: Callable[[Sequence[NamedKey]], KeyChange], at: float, by: str) -> KeyChange:
    on.lock(_LOCK)
    before = _read(on)
    change = work(before)
    old, new = {row.kid: row for row in before}, {row.kid: row for row in change.rows}
    for kid in old.keys() - new.keys():
        on.run(_DELETE, kid)
    for kid, row in new.items():
        if old.get(kid) != row:
            _put(on, row)
    target = f"key:{change.row.name}"
    add_entry(on, AuditEntry(at=at, who=by, what=change.what, target=target, before=change.before, after=change.after))
    return change


def _put(on: TableConnection, key: NamedKey) -> None:
    rights = msgspec.json.encode(_Rights(rights=key.rights, parent=key.parent)).decode()
    about = (key.kid, key.name, key.hash, key.principal, key.team, rights, key.created, key.made_by)
    on.run(_PUT, *about, key.rights.expires, key.replaced_by)


def _note_used(on: TableConnection, used: Mapping[str, float]) -> None:
    for kid in sorted(used):
        on.run(_USED, kid, used[kid])
