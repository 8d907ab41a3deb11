"""Turns in their clients' own dialects, each with what was new in it; what came before is in the turn that it followed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from clew.model.turn import NativeTurn
from clew.store.rows import Row, pack, unpack
from clew.store.sqlite.database import Database
from clew.store.values import NativePassage

_DIGEST: Final = "SELECT digest FROM natives WHERE principal = ? AND exchange = ?"
_ADD: Final = "INSERT INTO natives (principal, exchange, follows, digest, items, answer) VALUES (?, ?, ?, ?, ?, ?)"
_HISTORY: Final = """
WITH RECURSIVE past (exchange, follows, distance) AS (
    SELECT exchange, follows, 0 FROM natives WHERE principal = :principal AND exchange = :exchange AND NOT hidden
    UNION ALL
    SELECT natives.exchange, natives.follows, distance + 1 FROM past CROSS JOIN natives
        ON natives.principal = :principal AND natives.exchange = past.follows
)
SELECT natives.exchange, items, answer, natives.follows FROM past CROSS JOIN natives
    ON natives.principal = :principal AND natives.exchange = past.exchange ORDER BY distance DESC
"""
"""The items stand in the outer select, so that the search for what came before carries ids alone."""
_TURNS: Final = """
SELECT exchange, items, answer FROM natives
WHERE principal = ? AND exchange IN (SELECT value FROM json_each(?)) AND NOT hidden
"""
_HIDE: Final = "UPDATE natives SET hidden = 1 WHERE principal = ? AND exchange = ? AND NOT hidden"


def add_native_turn(connection: Database, principal: str, exchange: str, turn: NativeTurn) -> None:
    before = connection.execute(_DIGEST, (principal, turn.follows)).get if turn.follows else None
    if before is not None and before == turn.before_digest:
        follows, items = turn.follows, turn.items[turn.before :]
    else:
        follows, items = None, turn.items
    connection.execute(_ADD, (principal, exchange, follows, turn.digest, pack(items), turn.answer))


def native_history(connection: Database, principal: str, exchange: str) -> list[NativePassage]:
    rows = connection.execute(_HISTORY, {"principal": principal, "exchange": exchange}).fetchall()
    if not rows or rows[0][3] is not None:  # the oldest followed one that is not there any more
        return []
    return [_passage(row) for row in rows]


def native_turns(connection: Database, principal: str, exchanges: Iterable[str]) -> list[NativePassage]:
    return [_passage(row) for row in connection.execute(_TURNS, (principal, json.dumps(list(exchanges))))]


def hide_native_turn(connection: Database, principal: str, exchange: str) -> bool:
    connection.execute(_HIDE, (principal, exchange))
    return bool(connection.changes())


def _passage(row: Row) -> NativePassage:
    exchange, items, answer = row[:3]
    assert isinstance(exchange, str)
    assert isinstance(items, bytes)
    assert isinstance(answer, bytes)
    return NativePassage(exchange=exchange, items=unpack(items), answer=answer)
