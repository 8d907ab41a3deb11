"""A turn as one statement, known by its exchange: sent twice, it is kept once.

The statement keeps nothing if the thread was deleted since the turn began, or if the exchange is there already. Which of the
two it was, and whether an open turn is to be replaced, a few more statements find out; that is rare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from clew.model.turn import NativeTurn, TurnRecord
from clew.store.deletion_notes import without_text
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.deletions import discard_open, is_forgotten
from clew.store.postgres.turn_statement import turn_values
from clew.store.rows import pack
from clew.store.touches import SEEN_STEP, USED_STEP

_NATIVE: Final = """
INSERT INTO clew.natives (principal, exchange, follows, digest, items, answer) VALUES ($1, $2, $3, $4, $5, $6)
"""
_OTHER_USAGE: Final = "DELETE FROM clew.usage WHERE principal = $1 AND exchange = $2 AND at <> $3"
_SEEN: Final = """
UPDATE clew.marks SET seen = $2 WHERE principal = $1 AND kind = 'key' AND hash = ANY ($3::bytea[])
    AND (seen IS NULL OR seen < $2 - $4::float8)
"""
_STRANGERS: Final = """
INSERT INTO clew.strangers (principal, key, seen)
SELECT $1, key, $2 FROM unnest($3::bytea[]) AS given (key) WHERE NOT EXISTS (
    SELECT 1 FROM clew.marks WHERE principal = $1 AND kind = 'key' AND hash = key
) ORDER BY key
ON CONFLICT (principal, key) DO UPDATE SET seen = excluded.seen WHERE strangers.seen < excluded.seen - $4::float8
"""
_USED: Final = """
UPDATE clew.uses SET used = $2 WHERE used < $2 - $5::float8 AND seq IN (
    SELECT seq FROM clew.recordings WHERE principal = $1 AND id = ANY ($4::text[])
    UNION SELECT recording FROM clew.marks WHERE principal = $1 AND kind = 'key' AND hash = ANY ($3::bytea[])
)
"""


class TurnWrite:
    """One turn, to be kept in a transaction of the writer: its statement may stand in a pipeline with others, and `finish`
    says what came of it."""

    def __init__(
        self, turn: TurnRecord, *, process: str, readable: bool, brought_back: bool = False, shard: str = ""
    ) -> None:
        """`process` answers an open turn. `shard`: under which its charges are added up. `readable`: it is kept for
        people to read. `brought_back`: by an import, which restores deleted threads on purpose."""
        self._turn = turn
        self._process = process
        self._readable = readable
        self._brought_back = brought_back
        self._shard = shard

    @property
    def values(self) -> Sequence[bytes | None]:
        """The parameters of its statement."""
        return turn_values(self._turn, self._process, self._shard, readable=self._readable, is_new=not self._brought_back)

    def finish(self, database: PostgresDatabase, *, is_kept: bool) -> bool:
        """Do what the statement of a turn leaves to be done; `is_kept` is its result. False if the turn is there already, or
        its thread was deleted meanwhile."""
        exchange = self._turn.exchange
        if not is_kept:
            if not self._brought_back and is_forgotten(database, exchange):
                if exchange.outcome != "open":
                    bare = TurnRecord(exchange=without_text(exchange), charges=self._turn.charges)
                    TurnWrite(bare, process="", readable=False, brought_back=True, shard=self._shard)(database)
                return False
            if not discard_open(database, exchange.principal, exchange.id):
                return False
            if not database.keep_turns([self.values])[0]:
                return False
        if self._replaces_usage:
            database.run(_OTHER_USAGE, exchange.principal, exchange.id, exchange.ended)
        if self._turn.native:
            _add_native_turn(database, exchange.principal, exchange.id, self._turn.native)
        return True

    @property
    def is_one_statement(self) -> bool:
        """Whether the turn is written by its statement alone."""
        return self._turn.native is None and not self._replaces_usage

    @property
    def _replaces_usage(self) -> bool:
        """Usage outlives a deleted thread: if the thread is brought back with another end of this turn, it is there twice,
        because the rows are kept by month."""
        return self._brought_back and self._turn.exchange.usage is not None

    def __call__(self, database: PostgresDatabase) -> bool:
        [is_kept] = database.keep_turns([self.values])
        return self.finish(database, is_kept=is_kept)


def _add_native_turn(database: PostgresDatabase, principal: str, exchange: str, turn: NativeTurn) -> None:
    find = "SELECT digest FROM clew.natives WHERE principal = $1 AND exchange = $2"
    before = database.value(find, principal, turn.follows) if turn.follows else None
    is_known = before is not None and before == turn.before_digest
    items = turn.items[turn.before :] if is_known else turn.items
    follows = turn.follows if is_known else None
    database.run(_NATIVE, principal, exchange, follows, turn.digest, pack(items), turn.answer)


def touch(database: PostgresDatabase, principal: str, keys: Iterable[bytes], recordings: Iterable[str], at: float) -> None:
    """Mark blocks and recordings as seen. Rows are taken in one order, so that two gateways do not wait for each other."""
    blocks, ids = sorted(keys), sorted(recordings)
    database.run(_SEEN, principal, at, blocks, SEEN_STEP)
    database.run(_STRANGERS, principal, at, blocks, SEEN_STEP)
    database.run(_USED, principal, at, blocks, ids, USED_STEP)
