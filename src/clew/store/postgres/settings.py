"""Settings that operators chose, pins, and titles, as rows."""

from __future__ import annotations

from typing import Final

from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.parameters import clean_text

PINS, GENERATION = "pins", "generation"
"""The scope and the name of the setting that counts how often a pin was changed, by any process."""

_SET: Final = """
INSERT INTO clew.settings VALUES ($1, $2, $3, $4)
ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value, changed = excluded.changed
"""
_NEXT_GENERATION: Final = """
INSERT INTO clew.settings VALUES ($1, $2, '1', 0.0)
ON CONFLICT (scope, name) DO UPDATE SET value = (settings.value::bigint + 1)::text
"""


def set_setting(database: PostgresDatabase, scope: str, name: str, value: str | None, at: float) -> None:
    if value is None:
        database.run("DELETE FROM clew.settings WHERE scope = $1 AND name = $2", scope, name)
    else:
        database.run(_SET, scope, name, clean_text(value), at)


def pin(database: PostgresDatabase, principal: str, thread: str, backend: str) -> bool:
    find = "UPDATE clew.threads SET pin = $3 WHERE principal = $1 AND id = $2"
    is_there = bool(database.run(find, principal, thread, backend))
    database.run(_NEXT_GENERATION, PINS, GENERATION)
    return is_there


def rename(database: PostgresDatabase, principal: str, thread: str, title: str) -> bool:
    find = "UPDATE clew.threads SET title = $3 WHERE principal = $1 AND id = $2"
    return bool(database.run(find, principal, thread, clean_text(title)))
