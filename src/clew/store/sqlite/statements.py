"""The statements of SQLite, as `clew.store.statements.StoreStatements` names them."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.turn import Bodies
from clew.store.body_writer import BodyRow
from clew.store.pieces import join_bodies, pack_bodies, unpack_bodies
from clew.store.sqlite.database import Database
from clew.store.sqlite.deletions import delete_some_of_thread, delete_thread, deletions
from clew.store.sqlite.leases import abandon_calls, call_owner, claim_calls, finish_calls
from clew.store.sqlite.native_turns import hide_native_turn, native_history, native_turns
from clew.store.sqlite.queries import (
    days,
    exchange,
    exchanges,
    exchanges_since,
    passages,
    pin_of,
    pinned,
    position,
    settings,
    sibling_threads,
    statistics,
    thread,
    thread_of,
    thread_totals,
    threads,
    tree,
    usage_totals,
)
from clew.store.sqlite.retention import apply_retention, check_clock
from clew.store.sqlite.search import index_turns, search
from clew.store.sqlite.writes import pin, rename, set_setting, touch

__all__ = [
    "abandon_calls",
    "add_bodies",
    "apply_retention",
    "call_owner",
    "check_clock",
    "claim_calls",
    "days",
    "delete_some_of_thread",
    "delete_thread",
    "deletions",
    "exchange",
    "exchanges",
    "exchanges_since",
    "finish_calls",
    "hide_native_turn",
    "index_turns",
    "native_history",
    "native_turns",
    "passages",
    "pin",
    "pin_of",
    "pinned",
    "position",
    "read_bodies",
    "rename",
    "search",
    "set_setting",
    "settings",
    "sibling_threads",
    "statistics",
    "thread",
    "thread_of",
    "thread_totals",
    "threads",
    "touch",
    "tree",
    "usage_totals",
]


# Bodies as rows: which of them are written, read and pruned, in a transaction of the writer.


_ADD = """
INSERT INTO bodies (principal, exchange, at, kept, chain)
SELECT :principal, :exchange, :at, :kept, :chain
WHERE EXISTS (SELECT 1 FROM exchanges WHERE principal = :principal AND id = :exchange AND kind <> 'forgotten')
ON CONFLICT (principal, exchange) DO NOTHING
"""
_HAS_CHAIN = "SELECT 1 FROM bodies WHERE chain = ? LIMIT 1"
"""The pieces of a chain go with the last body that has it."""
_PRUNE = """
DELETE FROM bodies WHERE principal = :principal AND seq <= (
    SELECT seq FROM bodies WHERE principal = :principal ORDER BY seq DESC LIMIT 1 OFFSET :limit
)
"""
_READ = "SELECT kept, chain FROM bodies WHERE principal = ? AND exchange = ?"
_PIECE = "SELECT content FROM pieces WHERE seq = ?"


def add_bodies(connection: Database, rows: Sequence[BodyRow], limit: int | None) -> None:
    for row in rows if limit != 0 else ():
        chain, exchange = row.chain, row.exchange
        if chain and not row.is_first and connection.execute(_HAS_CHAIN, (chain.id,)).get is None:
            chain.is_broken = True
        place = chain.id if chain and not chain.is_broken else None
        kept = pack_bodies(row.bodies) if chain and chain.is_broken else row.kept
        named = {"principal": exchange.principal, "exchange": exchange.id, "at": exchange.ended}
        connection.execute(_ADD, {**named, "kept": kept, "chain": place})
        if chain and connection.changes() and not chain.is_broken:
            pieces = [(seq, chain.day, content) for seq, content in row.pieces]
            connection.executemany("INSERT INTO pieces VALUES (?, ?, ?)", pieces)
        elif chain:
            chain.is_broken = True
    for principal in {row.exchange.principal for row in rows} if limit is not None else ():
        connection.execute(_PRUNE, {"principal": principal, "limit": limit})


def read_bodies(connection: Database, principal: str, exchange: str) -> Bodies | None:
    """Raises RecordCorrupt."""
    found = connection.execute(_READ, (principal, exchange)).fetchone()
    if found is None:
        return None
    kept, chain = found
    assert isinstance(kept, bytes)
    if not isinstance(chain, int):
        return unpack_bodies(kept)
    return join_bodies(kept, lambda number: connection.execute(_PIECE, (chain + number,)).get)
