"""A turn as one statement, known by its exchange: sent twice, it is kept once.

The statement keeps nothing if the thread was deleted since the turn began, or if the exchange is there already. Which of the
two it was, and whether an open turn is to be replaced, a few more statements find out; that is rare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from clew.model.turn import Charge, NativeTurn, TurnRecord
from clew.store.deletion_notes import NO_HASHES, deletion_hashes, without_text
from clew.store.postgres.database import PostgresDatabase, clean_text
from clew.store.postgres.deletions import discard_open, is_forgotten
from clew.store.postgres.parameters import ParameterType, array_text, bytes_array_text, typed
from clew.store.rows import COLUMNS, Row, columns_of, marks_of, pack, pack_changes, sum_of
from clew.store.touches import SEEN_STEP, USED_STEP

_EXCHANGE_COLUMNS: Final = (
    "principal, id, thread, started, ended, asked_model, backend, model, session, agent, outcome, status, first_byte, "
    "attempts, changes, kind, streamed, stop_reason, request_id, heals, kept, tries, recording, asked, readable, "
    "process, betas, dialect"
)
_EXCHANGE: Final = len(_EXCHANGE_COLUMNS.split(","))
_RECORDING: Final = len(COLUMNS.split(","))
_NAMES: Final = _EXCHANGE_COLUMNS.split(", ")
_EXCHANGE_VALUES: Final = ", ".join(f"${number}" for number in range(1, _EXCHANGE + 1))
_H, _T, _U, _R = _EXCHANGE + 1, _EXCHANGE + 3, _EXCHANGE + 5, _EXCHANGE + 11
"""Where the values of deletion hashes, of the thread, of usage and of the recording begin."""
_M: Final = _R + _RECORDING + 1
"""Where kinds and hashes of marks, the keys, and the weight of the recording begin."""
_C: Final = _M + 4
"""Where the price, the name of the key, the charges, their shard, and the team begin."""
_KINDS: Final[Mapping[str, ParameterType]] = {
    **dict.fromkeys(("started", "ended", "first_byte"), "float8"),
    **dict.fromkeys(("status", "attempts", "streamed", "heals", "kept", "readable", "whole"), "int8"),
    **dict.fromkeys(("changes", "tries", "asked", "place", "digest", "keys", "listed", "said", "blocks"), "bytea"),
}
"""Of columns that are no text."""
_PARAMETERS: Final[Sequence[ParameterType]] = (
    *(_KINDS.get(name, "text") for name in _NAMES),
    *("bytea", "bytea", "text", "float8"),  # deletion hashes; title and beginning of the thread
    *("int8", "int8", "int8", "int8", "int8", "int8"),  # usage
    *(_KINDS.get(name, "text") for name in COLUMNS.split(", ")),
    *("bytea", "text", "text", "text", "int8"),  # sum; marks, and keys; weight
    *("int8", "text", "text", "text", "bool", "text"),  # price, key, charges, shard, whether there are any, team
)
_RECORDING_VALUES: Final = ", ".join(
    f"${number}::{_KINDS.get(name, 'text')}" for number, name in enumerate(COLUMNS.split(", "), start=_R)
)

TURN: Final = f"""
WITH exchange AS (
    INSERT INTO clew.exchanges ({_EXCHANGE_COLUMNS}) SELECT {_EXCHANGE_VALUES}
    WHERE NOT EXISTS (SELECT 1 FROM clew.forgotten WHERE hash IN (${_H}, ${_H + 1}) AND at >= $4)
    ON CONFLICT (principal, id) DO NOTHING RETURNING 1
), thread AS (
    INSERT INTO clew.threads (principal, id, session, agent, title, created, used)
    SELECT $1, $3, $9, $10, ${_T}, ${_T + 1}::float8, $5 FROM exchange WHERE $16 = 'messages'
    ON CONFLICT (principal, id) DO UPDATE SET used = greatest(threads.used, excluded.used),
        title = CASE threads.title WHEN '' THEN excluded.title ELSE threads.title END
), used AS (
    INSERT INTO clew.usage (principal, exchange, at, backend, model, input, output, cache_read, cache_written, estimated,
        thinking, micro_usd, key_name, thread_id, agent_id, team_name)
    SELECT $1, $2, $5, $7, $8, ${_U}::bigint, ${_U + 1}::bigint, ${_U + 2}::bigint, ${_U + 3}::bigint, ${_U + 4}::smallint,
        ${_U + 5}::bigint, ${_C}::bigint, ${_C + 1}::text, $3, $10, ${_C + 5}::text
    FROM exchange WHERE ${_U}::bigint IS NOT NULL
    ON CONFLICT (principal, exchange, at) DO UPDATE SET backend = excluded.backend, model = excluded.model,
        input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,
        cache_written = excluded.cache_written, estimated = excluded.estimated, thinking = excluded.thinking,
        micro_usd = excluded.micro_usd, key_name = excluded.key_name, thread_id = excluded.thread_id,
        agent_id = excluded.agent_id, team_name = excluded.team_name
), charged AS (
    INSERT INTO clew.spent (scope, seconds, start, shard, micro_usd, tokens, requests)
    SELECT charge.scope, charge.seconds, charge.start, ${_C + 3}::text, charge.micro_usd, charge.tokens, charge.requests
    FROM exchange, json_to_recordset(${_C + 2}::json) AS charge
        (scope text, seconds bigint, start bigint, micro_usd bigint, tokens bigint, requests bigint)
    ON CONFLICT (scope, seconds, start, shard) DO UPDATE SET micro_usd = spent.micro_usd + excluded.micro_usd,
        tokens = spent.tokens + excluded.tokens, requests = spent.requests + excluded.requests
), settled AS (
    DELETE FROM clew.reservations USING exchange WHERE ${_C + 4}::bool AND reservations.exchange = $2
), recording AS (
    INSERT INTO clew.recordings ({COLUMNS}, created, sum)
    SELECT {_RECORDING_VALUES}, $5, ${_M - 1}::bytea FROM exchange WHERE ${_R + 1}::text IS NOT NULL RETURNING seq
), use AS (
    INSERT INTO clew.uses (seq, used, bytes) SELECT seq, $5, ${_M + 3}::bigint FROM recording
), marked AS (
    INSERT INTO clew.marks (principal, kind, hash, recording, backend, made)
    SELECT $1, mark.kind, mark.hash, recording.seq, CASE mark.kind WHEN 'key' THEN ${_R + 6}::text END,
        CASE mark.kind WHEN 'key' THEN $5::float8 END
    FROM recording, unnest(${_M}::text[], ${_M + 1}::bytea[]) AS mark (kind, hash)
), known AS (
    DELETE FROM clew.strangers USING recording WHERE strangers.principal = $1 AND key = ANY (${_M + 2}::bytea[])
)
SELECT count(*) FROM exchange
"""  # noqa: S608  (numbers and names of columns alone)

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
    def values(self) -> tuple[object, ...]:
        turn, exchange, recording = self._turn, self._turn.exchange, self._turn.recording
        usage = exchange.usage
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_written) if usage else (None,) * 4
        columns = _clean(columns_of(recording)) if recording else (None,) * _RECORDING
        marks = [*marks_of(recording)] if recording else []
        values = (
            *self._exchange_values(),
            *(NO_HASHES if self._brought_back else deletion_hashes(exchange)),
            *(clean_text(turn.title), exchange.started if turn.created is None else turn.created),
            *(*counts, int(usage.estimated) if usage else None, usage.thinking if usage else None),
            *(*columns, sum_of(columns) if recording else None),
            *(array_text([kind for kind, _ in marks]), bytes_array_text([hash for _, hash in marks])),
            bytes_array_text(recording.keys if recording else ()),
            sum(map(len, recording.blocks)) + sum(map(len, turn.asked)) if recording else 0,
            *(usage.micro_usd if usage else None, clean_text(exchange.key)),
            *(_charges(turn.charges), self._shard, bool(turn.charges), clean_text(exchange.team)),
        )
        return typed(values, _PARAMETERS)

    def _exchange_values(self) -> tuple[object, ...]:
        turn, exchange = self._turn, self._turn.exchange
        return (
            *(exchange.principal, exchange.id, clean_text(exchange.thread), exchange.started, exchange.ended),
            *(clean_text(exchange.asked_model), exchange.backend, clean_text(exchange.model)),
            *(clean_text(exchange.session), clean_text(exchange.agent), exchange.outcome, exchange.status),
            *(exchange.first_byte, exchange.attempts, pack_changes(exchange.changes), exchange.kind),
            *(int(exchange.streamed), clean_text(exchange.stop_reason), clean_text(exchange.request_id)),
            *(exchange.heals, exchange.kept, msgspec.json.encode(exchange.tries)),
            *(turn.recording.id if turn.recording else None, pack(turn.asked), int(self._readable)),
            *(self._process, clean_text(",".join(exchange.betas)), exchange.dialect),
        )

    def finish(self, database: PostgresDatabase, count: object) -> bool:
        """`count` is what the statement gave. False if the turn is there already, or its thread was deleted meanwhile."""
        exchange = self._turn.exchange
        if not count:
            if not self._brought_back and is_forgotten(database, exchange):
                if exchange.outcome != "open":
                    bare = TurnRecord(exchange=without_text(exchange), charges=self._turn.charges)
                    TurnWrite(bare, process="", readable=False, brought_back=True, shard=self._shard)(database)
                return False
            if not discard_open(database, exchange.principal, exchange.id):
                return False
            if not database.value(TURN, *self.values):
                return False
        if self._replaces_usage:
            database.run(_OTHER_USAGE, exchange.principal, exchange.id, exchange.ended)
        if self._turn.native:
            _add_native_turn(database, exchange.principal, exchange.id, self._turn.native)
        return True

    @property
    def is_one_statement(self) -> bool:
        """Whether nothing else is to be written with it."""
        return self._turn.native is None and not self._replaces_usage

    @property
    def _replaces_usage(self) -> bool:
        """Usage outlives a deleted thread: if the thread is brought back with another end of this turn, it is there twice,
        because the rows are kept by month."""
        return self._brought_back and self._turn.exchange.usage is not None

    def __call__(self, database: PostgresDatabase) -> bool:
        return self.finish(database, database.value(TURN, *self.values))


def _charges(charges: tuple[Charge, ...]) -> str:
    return msgspec.json.encode([charge._asdict() for charge in charges]).decode() if charges else "[]"


def _clean(columns: Row) -> Row:
    return tuple(clean_text(value) if isinstance(value, str) else value for value in columns)


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
