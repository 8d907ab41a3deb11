"""Examining a store: for `clew doctor` the SQLite that is linked, the schema and the file; and `verify`, for its content.

The file is opened to read, never to migrate.

`verify` reads everything, recomputes what can be recomputed, and reports what does not agree. SQLite's own check finds
broken pages. Beyond it: each recording, for itself and in its strand (`clew.store.recording_faults`).

What belongs together must be there together: an exchange leads to its recording and its thread, a recording to its exchange,
bodies to theirs. The index of words has every turn up to its newest, with exactly the words of the turn, and no other.
(SQLite's own check compares the index itself with the copy that it was made from.)
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from clew.errors import RecordCorrupt, StoreError
from clew.model.turn import Exchange
from clew.store.kinds import StoreFinding
from clew.store.recording_faults import change_faults, marks_by_place, recording_faults, word_faults
from clew.store.rows import COLUMNS
from clew.store.sqlite.database import (
    APPLICATION,
    OLDEST_SQLITE,
    Database,
    connect,
    log_bytes,
    raising_store_errors,
)
from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.sqlite.queries import exchanges
from clew.store.sqlite.retention import clock_doubt
from clew.store.text import format_size
from clew.store.values import ClockDoubt, StoreFault

FUTURE_SECONDS: Final = 3600.0
READ_WHOLE: Final = 64 << 20
"""Bytes of a store that is read through, which takes some seconds. Larger ones get SQLite's own check alone."""

_RESTORE: Final = "stop clew, move the file away, and start again with a new one, or with a backup"


def examine_library() -> Iterator[StoreFinding]:
    """Old versions can damage a store that several processes use."""
    linked, oldest = apsw.sqlite_lib_version(), ".".join(map(str, OLDEST_SQLITE))
    if tuple(int(part) for part in linked.split(".")) < OLDEST_SQLITE:
        repair = f"install apsw {oldest} or newer, as a wheel"
        yield StoreFinding("broken", f"SQLite {linked} is linked, which can damage the store", repair)
    else:
        yield StoreFinding("ok", f"SQLite {linked} ({oldest} or newer is needed)")


def examine_file(path: Path, now: float) -> Iterator[StoreFinding]:
    """The schema is clew's, SQLite's quick check finds nothing, and the content is consistent."""
    if not path.exists():
        yield StoreFinding("ok", f"{path} does not exist yet; the first start makes it")
        return
    if not path.is_file():
        repair = "move it away, or name another file in `[store] url`"
        yield StoreFinding("broken", f"{path} is a directory or a device, not a file", repair)
        return
    try:
        with _open_to_read(path) as connection:
            yield from [_examine_schema(connection, path), *_examine_content(connection, path)]
    except RecordCorrupt as error:
        yield StoreFinding("broken", str(error), _RESTORE)
    except StoreError as error:  # nothing says that the file is damaged, so it stays where it is
        yield StoreFinding("broken", str(error))
    ahead = path.stat().st_mtime - now
    if ahead > FUTURE_SECONDS:
        written = f"{path} was written {ahead / 3600:.0f} hours in the future"
        yield StoreFinding("warning", written, "set this machine's clock")


def has_answers(path: Path) -> bool:
    """Whether anything was ever recorded in it. True also where it cannot be read."""
    try:
        with _open_to_read(path) as connection:
            return bool([*connection.execute("SELECT 1 FROM recordings LIMIT 1")])
    except StoreError:
        return True


def clock_doubt_in(path: Path, now: float) -> ClockDoubt | None:
    """Why the clock may be wrong, by the times that the store has seen. Raises StoreError."""
    with _open_to_read(path) as connection:
        return clock_doubt(connection, now)


def last_exchanges(path: Path, principals: Iterable[str], limit: int) -> list[Exchange]:
    """The last exchanges of each of these principals; none from a file of another schema. Raises StoreError."""
    with _open_to_read(path) as connection:
        if connection.pragma("user_version") != len(MIGRATIONS):
            return []
        return [each for principal in principals for each, _ in exchanges(connection, principal, None, limit)]


@contextmanager
def _open_to_read(path: Path) -> Generator[Database]:
    with raising_store_errors(path):
        connection = connect(path, read_only=True, busy=1.0)
        try:
            yield connection
        finally:
            connection.close()


def _examine_schema(connection: Database, path: Path) -> StoreFinding:
    version, newest = connection.pragma("user_version"), len(MIGRATIONS)
    assert isinstance(version, int)
    has_tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get is not None
    if connection.pragma("application_id") != APPLICATION and (version or has_tables):
        return StoreFinding("broken", f"{path} is no store of clew's", "name another file in `[store] url`")
    if version > newest:
        newer = f"{path} was written by a newer clew (schema {version}, this one knows {newest})"
        return StoreFinding("broken", newer, "update clew")
    if version < newest:
        return StoreFinding("ok", f"{path} has schema {version}; the next start brings it to {newest}")
    return StoreFinding("ok", f"{path}: schema {version}, {format_size(path.stat().st_size + log_bytes(path))}")


def _examine_content(connection: Database, path: Path) -> Iterator[StoreFinding]:
    """Whether pages are sound; and whether the content is consistent, where the store is small enough to be read through."""
    damage = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
    if damage != ["ok"]:
        yield StoreFinding("broken", f"{path} is damaged: {'; '.join(damage)[:500]}", _RESTORE)
        return
    is_readable = connection.pragma("user_version") == len(MIGRATIONS) and path.stat().st_size <= READ_WHOLE
    if faults := verify(connection) if is_readable else ():
        first = "; ".join(f"{fault.record}: {fault.what}" if fault.record else fault.what for fault in faults[:3])
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        yield StoreFinding("broken", f"{path} has faults: {first[:500]}{more}", _RESTORE)


_ROWS = f"SELECT {COLUMNS}, sum, seq FROM recordings WHERE principal = ? ORDER BY seq"  # noqa: S608  (the columns are a constant)
_MARKS = "SELECT recording, kind, hash FROM marks WHERE principal = ?"
_STRAY = """
SELECT principal, kind, hex(hash) FROM marks
WHERE NOT EXISTS (SELECT 1 FROM recordings WHERE seq = recording AND recordings.principal = marks.principal)
"""
_LINKS = {
    "no exchange leads to this recording": """
        SELECT id FROM recordings WHERE (principal, thread, id) NOT IN (SELECT principal, thread, recording FROM turns
            WHERE recording IS NOT NULL)""",
    "its recording is not there": """
        SELECT exchange FROM turns WHERE recording IS NOT NULL AND NOT EXISTS (SELECT 1 FROM recordings AS said
            WHERE said.principal = turns.principal AND said.id = turns.recording)""",
    "its thread is not there": """
        SELECT exchange FROM turns WHERE NOT EXISTS (SELECT 1 FROM threads
            WHERE threads.principal = turns.principal AND threads.id = turns.thread)""",
    "these bodies belong to no exchange": """
        SELECT exchange FROM bodies WHERE NOT EXISTS (SELECT 1 FROM exchanges
            WHERE exchanges.principal = bodies.principal AND exchanges.id = bodies.exchange)""",
    "this turn in a client's dialect belongs to no exchange": """
        SELECT exchange FROM natives WHERE NOT EXISTS (SELECT 1 FROM exchanges
            WHERE exchanges.principal = natives.principal AND exchanges.id = natives.exchange)""",
    "this piece belongs to no bodies": """
        SELECT seq FROM pieces WHERE NOT EXISTS (SELECT 1 FROM bodies WHERE chain = pieces.seq / 1048576 * 1048576)""",
    "it was forgotten, and is not without words": """
        SELECT id FROM exchanges WHERE kind = 'forgotten' AND (thread <> '' OR recording IS NOT NULL OR asked <> x'90'
            OR EXISTS (SELECT 1 FROM bodies WHERE bodies.principal = exchanges.principal AND exchange = id))""",
    "the index of words has a turn that is not there": """
        SELECT '' FROM words WHERE NOT EXISTS (SELECT 1 FROM turns WHERE turns.seq = words.rowid)""",
}
_WORDS = """
SELECT exchanges.id, words.rowid, words.asked, words.answered, readable, exchanges.asked, said FROM exchanges
LEFT JOIN recordings ON recordings.principal = exchanges.principal AND recordings.id = exchanges.recording
LEFT JOIN words ON words.rowid = exchanges.seq
WHERE kind = 'messages' AND exchanges.seq <= (SELECT rowid FROM words ORDER BY rowid DESC LIMIT 1)
"""


def verify(connection: Database) -> tuple[StoreFault, ...]:
    """All that is wrong with the content of the file."""
    try:
        return tuple(_faults(connection))
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return (StoreFault("", f"the file is damaged: {error}"),)


def _faults(connection: Database) -> Iterator[StoreFault]:
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield StoreFault("", str(line))
    for principal, kind, hash in connection.execute(_STRAY):
        yield StoreFault("", f"the {kind} mark {hash} of {principal!r} leads to no recording")
    for (principal,) in connection.execute("SELECT DISTINCT principal FROM recordings").fetchall():
        # The marks of every recording at once: they lie in the order of their hashes.
        marks = marks_by_place(connection.execute(_MARKS, (principal,)))
        yield from recording_faults(connection.execute(_ROWS, (principal,)), marks)
    for what, statement in _LINKS.items():
        for (name,) in connection.execute(statement):
            yield StoreFault(str(name), what)
    yield from change_faults(connection.execute("SELECT id, changes FROM exchanges"))
    yield from word_faults(connection.execute(_WORDS))
