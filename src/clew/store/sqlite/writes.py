"""What the writer does: functions on its connection, inside a transaction that the writer begins and commits.

A request that sends a history again adds nothing: a turn is known by its exchange, and what a request only mentions is
marked as seen. These marks are coarse on purpose (a minute for blocks, an hour for recordings, whose rows are large), so
that a busy conversation does not rewrite its whole past with every request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from clew.model.recording import Recording
from clew.model.turn import Exchange, TokenUsage, TurnRecord
from clew.store.deletion_notes import NO_HASHES, deletion_hashes, without_text
from clew.store.rows import COLUMNS, Value, columns_of, marks_of, pack, pack_changes, sum_of
from clew.store.sqlite.database import Cursor, Database
from clew.store.sqlite.deletions import discard_open, is_forgotten
from clew.store.sqlite.native_turns import add_native_turn
from clew.store.touches import SEEN_STEP, USED_STEP

PINS, GENERATION = "pins", "generation"
"""The scope and the name of the setting that counts how often a pin was changed, by any process."""

_NEXT_GENERATION = """
INSERT INTO settings VALUES (?, ?, '1', 0.0)
ON CONFLICT (scope, name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)
"""

_EXCHANGE = f"""
INSERT INTO exchanges SELECT NULL, {", ".join(f"?{number}" for number in range(1, 30))}
WHERE NOT EXISTS (SELECT 1 FROM forgotten WHERE hash = ?30 AND at >= ?4)
    AND (?31 = x'' OR NOT EXISTS (SELECT 1 FROM forgotten WHERE hash = ?31 AND at >= ?4))
ON CONFLICT (principal, id) DO NOTHING
"""  # noqa: S608  (numbers alone)
"""Inserts nothing if its thread or its session was deleted since it began. (`hash IN (?30, ?31)` would make a table.)"""
_THREAD = """
INSERT INTO threads (principal, id, session, agent, title, created, used) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (principal, id) DO UPDATE SET
    used = max(used, excluded.used), title = CASE title WHEN '' THEN excluded.title ELSE title END
"""
_USAGE = "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
"""Usage outlives a deleted thread, and is there already when that thread is imported again."""
_CHARGE = """
INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, seconds, start, shard) DO UPDATE SET
    micro_usd = micro_usd + excluded.micro_usd, tokens = tokens + excluded.tokens, requests = requests + excluded.requests
"""
_SETTLED = "DELETE FROM reservations WHERE exchange = ?"
_RECORDING = f"""
INSERT INTO recordings ({COLUMNS}, created, used, sum) VALUES ({"?, " * len(COLUMNS.split(","))}?, ?, ?)
"""  # noqa: S608  (the columns are a constant)
_MARKS = "INSERT INTO marks (principal, recording, backend, made, kind, hash) VALUES "
_KEY, _OTHER = "(?1, ?2, ?3, ?4, 'key', ?{0})", "(?1, ?2, NULL, NULL, '{1}', ?{0})"
_NO_STRANGERS = "DELETE FROM strangers WHERE principal = ? AND key IN ({})"
_TOGETHER = 32
"""Marks of one statement. Each step of one gives the interpreter away, and waits until the event loop does."""

_SEEN = """
UPDATE marks SET seen = :at WHERE principal = :principal AND kind = 'key'
    AND hash IN (SELECT unhex(value) FROM json_each(:keys)) AND (seen IS NULL OR seen < :at - :step)
"""
_STRANGERS = """
INSERT INTO strangers (principal, key, seen)
SELECT :principal, unhex(value), :at FROM json_each(:keys) WHERE NOT EXISTS (
    SELECT 1 FROM marks WHERE principal = :principal AND kind = 'key' AND hash = unhex(value)
)
ON CONFLICT (principal, key) DO UPDATE SET seen = excluded.seen WHERE seen < excluded.seen - :step
"""
_USED = """
UPDATE recordings SET used = :at WHERE principal = :principal AND used < :at - :step AND (
    id IN (SELECT value FROM json_each(:ids)) OR seq IN (
        SELECT recording FROM marks WHERE principal = :principal AND kind = 'key'
            AND hash IN (SELECT unhex(value) FROM json_each(:keys))
    )
)
"""


def record(
    connection: Database,
    turn: TurnRecord,
    *,
    process: str = "",
    readable: bool = True,
    brought_back: bool = False,
    shard: str = "",
) -> bool:
    """Keep a turn. False if it is there already, or if its thread was deleted since it began: then the exchange is kept
    without its text, unless it is `brought_back`. A turn that is not `readable` was kept without content, and is not found
    by its words. `process` is the one that answers an open turn; `shard` is under which its charges are added up.
    """
    exchange, recording, cursor = turn.exchange, turn.recording, connection.cursor()
    hashes = NO_HASHES if brought_back else deletion_hashes(exchange)
    row = (*_columns(turn, readable), process, ",".join(exchange.betas), exchange.dialect, exchange.client, *hashes)
    cursor.execute(_EXCHANGE, row)
    if not connection.changes():
        if not brought_back and is_forgotten(connection, exchange):
            if exchange.outcome != "open":
                forgotten = TurnRecord(exchange=without_text(exchange), charges=turn.charges)
                record(connection, forgotten, readable=False, brought_back=True, shard=shard)
            return False
        if not discard_open(connection, exchange.principal, exchange.id):
            return False
        cursor.execute(_EXCHANGE, row)
    if exchange.kind == "messages":
        thread = (exchange.principal, exchange.thread, exchange.session, exchange.agent)
        created = exchange.started if turn.created is None else turn.created
        cursor.execute(_THREAD, (*thread, turn.title, created, exchange.ended))
    if exchange.usage:
        _add_usage(cursor, exchange, exchange.usage)
    if turn.charges:
        cursor.executemany(_CHARGE, [(*charge[:3], shard, *charge[3:]) for charge in turn.charges])
        cursor.execute(_SETTLED, (exchange.id,))
    if recording:
        _add_recording(connection, cursor, recording, exchange.ended)
    if turn.native:
        add_native_turn(connection, exchange.principal, exchange.id, turn.native)
    return True


def _add_usage(cursor: Cursor, exchange: Exchange, usage: TokenUsage) -> None:
    made_by = (exchange.principal, exchange.id, exchange.ended, exchange.backend, exchange.model)
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_written, int(usage.estimated))
    asked_by = (exchange.key, exchange.thread, exchange.agent, exchange.team, exchange.client)
    cursor.execute(_USAGE, (*made_by, *counts, usage.thinking, usage.micro_usd, *asked_by))


def _columns(turn: TurnRecord, readable: bool) -> tuple[Value, ...]:
    exchange, recording = turn.exchange, turn.recording
    return (
        *(exchange.principal, exchange.id, exchange.thread, exchange.started, exchange.ended),
        *(exchange.asked_model, exchange.backend, exchange.model, exchange.session, exchange.agent),
        *(exchange.outcome, exchange.status, exchange.first_byte, exchange.attempts),
        *(pack_changes(exchange.changes), exchange.kind, int(exchange.streamed), exchange.stop_reason),
        *(exchange.request_id, exchange.heals, exchange.kept, msgspec.json.encode(exchange.tries)),
        *(recording.id if recording else None, pack(turn.asked), int(readable)),
    )


def _add_recording(connection: Database, cursor: Cursor, recording: Recording, at: float) -> None:
    columns, principal = columns_of(recording), recording.principal
    cursor.execute(_RECORDING, (*columns, at, at, sum_of(columns)))
    maker = (principal, connection.last_insert_rowid(), recording.origin.backend, at)
    marks, keys = list(marks_of(recording)), recording.keys
    for begin in range(0, len(marks), _TOGETHER):
        kinds, hashes = zip(*marks[begin : begin + _TOGETHER], strict=True)
        cursor.execute(_insert_marks(kinds), (*maker, *hashes))
    for begin in range(0, len(keys), _TOGETHER):
        some = keys[begin : begin + _TOGETHER]
        cursor.execute(_NO_STRANGERS.format(", ".join("?" * len(some))), (principal, *some))


@lru_cache(maxsize=64)
def _insert_marks(kinds: tuple[str, ...]) -> str:
    """The statement for marks of these kinds. Only of a key it matters who made it."""
    rows = [(_KEY if kind == "key" else _OTHER).format(at, kind) for at, kind in enumerate(kinds, 5)]
    return _MARKS + ", ".join(rows)


def touch(connection: Database, principal: str, keys: Iterable[bytes], recordings: Iterable[str], at: float) -> None:
    bindings = {"principal": principal, "at": at, "step": SEEN_STEP, "keys": json.dumps([key.hex() for key in keys])}
    connection.execute(_SEEN, bindings)
    connection.execute(_STRANGERS, bindings)
    connection.execute(_USED, {**bindings, "step": USED_STEP, "ids": json.dumps(list(recordings))})


def pin(connection: Database, principal: str, thread: str, backend: str) -> bool:
    connection.execute("UPDATE threads SET pin = ? WHERE principal = ? AND id = ?", (backend, principal, thread))
    is_there = bool(connection.changes())
    connection.execute(_NEXT_GENERATION, (PINS, GENERATION))
    return is_there


def rename(connection: Database, principal: str, thread: str, title: str) -> bool:
    connection.execute("UPDATE threads SET title = ? WHERE principal = ? AND id = ?", (title, principal, thread))
    return bool(connection.changes())


def set_setting(connection: Database, scope: str, name: str, value: str | None, at: float) -> None:
    if value is None:
        connection.execute("DELETE FROM settings WHERE scope = ? AND name = ?", (scope, name))
    else:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)", (scope, name, value, at))
