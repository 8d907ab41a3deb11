"""Examining a store: for `clew doctor` the server, the schema and the connections; and `verify`, for its content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from clew.errors import StoreError
from clew.store.kinds import StoreFinding
from clew.store.postgres.database import PostgresDatabase, raising_store_errors
from clew.store.postgres.leases import gateways
from clew.store.postgres.schema import NEWEST, schema_version
from clew.store.recording_faults import change_faults, marks_by_place, recording_faults, word_faults
from clew.store.rows import COLUMNS
from clew.store.text import format_size
from clew.store.values import GatewayProcess, StoreFault

OLDEST_SERVER: Final = 14
MOST_OFFSET: Final = 1.0
"""Seconds that clocks may differ without a warning."""
CONNECTIONS: Final = 4
"""Of one process at most: one writes, two read, one hears of changes."""

_CONNECTIONS: Final = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
"""
_SIZE: Final = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = to_regnamespace('clew') AND relkind IN ('r', 'p')
"""
_ROWS: Final = f"SELECT {COLUMNS}, sum, seq FROM clew.recordings WHERE principal = $1 ORDER BY seq"  # noqa: S608  (the columns are a constant)
_STRAY: Final = """
SELECT principal, kind, encode(hash, 'hex') FROM clew.marks
WHERE NOT EXISTS (SELECT 1 FROM clew.recordings WHERE seq = recording AND recordings.principal = marks.principal)
"""
_LINKS: Final = {
    "no exchange leads to this recording": """
        SELECT id FROM clew.recordings AS said WHERE NOT EXISTS (SELECT 1 FROM clew.exchanges
            WHERE exchanges.principal = said.principal AND exchanges.thread = said.thread AND recording = said.id)""",
    "its recording is not there": """
        SELECT id FROM clew.exchanges WHERE kind = 'messages' AND recording IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM clew.recordings AS said WHERE said.principal = exchanges.principal AND said.id = recording)""",
    "its thread is not there": """
        SELECT id FROM clew.exchanges WHERE kind = 'messages' AND NOT EXISTS (SELECT 1 FROM clew.threads
            WHERE threads.principal = exchanges.principal AND threads.id = exchanges.thread)""",
    "these bodies belong to no exchange": """
        SELECT exchange FROM clew.bodies WHERE NOT EXISTS (SELECT 1 FROM clew.exchanges
            WHERE exchanges.principal = bodies.principal AND exchanges.id = bodies.exchange)""",
    "this piece belongs to no bodies": """
        SELECT seq::text FROM clew.pieces WHERE NOT EXISTS (
            SELECT 1 FROM clew.bodies WHERE chain = pieces.seq / 1048576 * 1048576)""",
    "it was forgotten, and is not without words": """
        SELECT id FROM clew.exchanges WHERE kind = 'forgotten' AND (thread <> '' OR recording IS NOT NULL
            OR asked <> '\\x90')""",
    "the index of words has a turn that is not there": """
        SELECT '' FROM clew.words WHERE NOT EXISTS (SELECT 1 FROM clew.exchanges WHERE exchanges.seq = words.seq)""",
}
_WORDS: Final = """
SELECT exchanges.id, words.seq, words.asked, words.answered, readable, exchanges.asked, said FROM clew.exchanges
LEFT JOIN clew.recordings ON recordings.principal = exchanges.principal AND recordings.id = exchanges.recording
LEFT JOIN clew.words ON words.seq = exchanges.seq
WHERE kind = 'messages' AND indexed
"""


def examine_server(database: PostgresDatabase, where: str) -> Iterator[StoreFinding]:
    """The server's version, the schema, the room, and the connections that are left."""
    server = database.connection.info.server_version // 10_000
    if server < OLDEST_SERVER:
        yield StoreFinding("broken", f"{where} is PostgreSQL {server}", f"PostgreSQL {OLDEST_SERVER} or newer is needed")
        return
    version = schema_version(database)
    if version is None:
        yield StoreFinding("ok", f"{where} has no tables of clew's yet; they are made at the first start")
        return
    if version > NEWEST:
        yield StoreFinding("warning", f"{where} has schema {version}, this clew knows {NEWEST}", "update clew")
    size = database.value(_SIZE)
    kind = "through a pooler" if database.is_pooled else "directly"
    said = f"{where}: PostgreSQL {server}, schema {version}, {format_size(size if isinstance(size, int) else 0)}"
    yield StoreFinding("ok", f"{said}, reached {kind}")
    yield _examine_connections(database)
    offset = database.clock_offset
    if abs(offset) > MOST_OFFSET:
        says = f"this machine's clock is {abs(offset):.1f} s {'behind' if offset > 0 else 'ahead of'} the server's"
        yield StoreFinding("warning", says, "keep both right by NTP: times in the store are corrected by the difference")
    if version >= NEWEST:
        yield from _examine_gateways(gateways(database))


def _examine_gateways(found: Sequence[GatewayProcess]) -> Iterator[StoreFinding]:
    """The gateways that share the database have the same settings file and the same clew."""
    if not found:
        return
    yield StoreFinding("ok", f"{len(found)} processes of gateways share it: {', '.join(map(_name_of, found))}")
    for what, values in (
        ("settings files", [each.config for each in found]),
        ("versions", [each.version for each in found]),
    ):
        usual = max(set(values), key=values.count)
        others = [_name_of(each) for each, value in zip(found, values, strict=True) if value != usual]
        if others:
            says = f"the gateways that share it have different {what}: {', '.join(others)}"
            yield StoreFinding("warning", says, "give all of them the same, or expect that they answer differently")


def _name_of(process: GatewayProcess) -> str:
    return f"{process.name} on {process.machine} (pid {process.pid})"


def _examine_connections(database: PostgresDatabase) -> StoreFinding:
    found = database.row(_CONNECTIONS)
    most, used = msgspec.convert(found, tuple[int, int])
    says = f"{used} of {most} connections are in use; each process of clew takes up to {CONNECTIONS}"
    if most - used < CONNECTIONS:
        return StoreFinding("warning", says, "raise `max_connections`, or put PgBouncer between")
    return StoreFinding("ok", says)


def size_of(database: PostgresDatabase) -> int:
    size = database.value(_SIZE)
    return size if isinstance(size, int) else 0


def verify(database: PostgresDatabase, where: str) -> tuple[StoreFault, ...]:
    """Everything that can be found by reading everything."""
    try:
        with raising_store_errors(where):
            stray = [
                StoreFault("", f"the {kind} mark {hash} of {principal!r} leads to no recording")
                for principal, kind, hash in database.rows(_STRAY)
            ]
            return (*stray, *_recording_faults(database), *_turn_faults(database))
    except StoreError as error:
        return (StoreFault("", str(error)),)


def _recording_faults(database: PostgresDatabase) -> Iterator[StoreFault]:
    for (principal,) in database.rows("SELECT DISTINCT principal FROM clew.recordings"):
        marks = database.rows("SELECT recording, kind, hash FROM clew.marks WHERE principal = $1", principal)
        yield from recording_faults(database.rows(_ROWS, principal), marks_by_place(marks))


def _turn_faults(database: PostgresDatabase) -> Iterator[StoreFault]:
    for what, statement in _LINKS.items():
        for (name,) in database.rows(statement):
            yield StoreFault(str(name), what)
    yield from change_faults(database.rows("SELECT id, changes FROM clew.exchanges"))
    yield from word_faults(database.rows(_WORDS))
