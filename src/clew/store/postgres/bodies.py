"""Bodies as rows, by day: which of them are written, read and pruned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from clew.model.turn import Bodies
from clew.store.body_writer import BodyRow
from clew.store.pieces import join_bodies, pack_bodies, unpack_bodies
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.deletions import delete_pieces
from clew.store.values import DAY

_ADD: Final = """
INSERT INTO clew.bodies (day, principal, exchange, at, kept, chain)
SELECT $1, $2, $3, $4, $5, $6::bigint
WHERE EXISTS (SELECT 1 FROM clew.exchanges WHERE principal = $2 AND id = $3 AND kind <> 'forgotten')
ON CONFLICT (day, principal, exchange) DO NOTHING
"""
_PRUNE: Final = """
DELETE FROM clew.bodies WHERE principal = $1 AND seq <= (
    SELECT seq FROM clew.bodies WHERE principal = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2
) RETURNING chain
"""
_READ: Final = "SELECT kept, chain, day FROM clew.bodies WHERE principal = $1 AND exchange = $2"
_PIECES: Final = "SELECT seq, content FROM clew.pieces WHERE day = $1 AND seq >= $2 AND seq < $2 + 1048576"


def add_bodies(database: PostgresDatabase, rows: Sequence[BodyRow], limit: int | None) -> None:
    for row in rows if limit != 0 else ():
        chain, exchange = row.chain, row.exchange
        if chain and not row.is_first and database.value("SELECT 1 FROM clew.bodies WHERE chain = $1", chain.id) is None:
            chain.is_broken = True
        place = chain.id if chain and not chain.is_broken else None
        kept = pack_bodies(row.bodies) if chain and chain.is_broken else row.kept
        day = chain.day if chain else int(exchange.ended // DAY)
        is_added = database.run(_ADD, day, exchange.principal, exchange.id, exchange.ended, kept, place)
        if chain and is_added and not chain.is_broken:
            for seq, content in row.pieces:
                database.run("INSERT INTO clew.pieces VALUES ($1, $2, $3)", day, seq, content)
        elif chain:
            chain.is_broken = True
    for principal in sorted({row.exchange.principal for row in rows}) if limit is not None else ():
        delete_pieces(database, {chain for (chain,) in database.rows(_PRUNE, principal, limit) if chain is not None})


def read_bodies(database: PostgresDatabase, principal: str, exchange: str) -> Bodies | None:
    """The bodies of an exchange; None if there are none. Raises RecordCorrupt."""
    found = database.row(_READ, principal, exchange)
    if found is None:
        return None
    kept, chain, day = found
    assert isinstance(kept, bytes)
    if not isinstance(chain, int):
        return unpack_bodies(kept)
    pieces = dict(msgspec.convert(database.rows(_PIECES, day, chain), list[tuple[int, bytes]]))
    return join_bodies(kept, lambda number: pieces.get(chain + number))
