"""Verify: read everything, recompute what can be recomputed, and report what does not agree.

SQLite's own check finds broken pages. Beyond it: each recording's sum; its marks, which must be those that its content
makes, and no others; for answers of realm `anthropic`, whose blocks clients hold as they came, the block keys themselves,
and the digest of their proofs, wherever all blocks of the strand are known. (The digest of their texts is not compared: a
text that a client changed went as it was if its recording could not be read at that moment. A seal is in the client's copy
alone, so the keys of sealed blocks can only be compared with the marks; digests of others were not always made the same
way.) No strand may lead in a circle.

What belongs together must be there together: an exchange leads to its recording and its thread, a recording to its exchange,
bodies to theirs. The index of words has every turn up to its newest, with exactly the words of the turn, and no other.
(SQLite's own check compares the index itself with the copy that it was made from.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import apsw
import msgspec

from clew.errors import RecordCorrupt
from clew.model.blocks import made
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording, Shelf
from clew.store.reports import StoreFault
from clew.store.sqlite.database import Database, Row, Value
from clew.store.sqlite.rows import COLUMNS, is_sum_of, marks_of, recording_of_row, unpack_changes
from clew.store.sqlite.search import indexed_words
from clew.thinking.keys import digest_of, key_of, proof_half, proof_of
from clew.thinking.strands import strand_keys

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
    try:
        return (
            *_file_faults(connection),
            *_recording_faults(connection),
            *_turn_faults(connection),
        )
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return (StoreFault("", f"the file is damaged: {error}"),)


def _file_faults(connection: Database) -> Iterator[StoreFault]:
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield StoreFault("", str(line))
    for principal, kind, hash in connection.execute(_STRAY):
        yield StoreFault("", f"the {kind} mark {hash} of {principal!r} leads to no recording")


def _recording_faults(connection: Database) -> Iterator[StoreFault]:
    for (principal,) in connection.execute("SELECT DISTINCT principal FROM recordings").fetchall():
        readable: list[Recording] = []
        marks: dict[Value, set[Row]] = defaultdict(set)  # of every recording, at once: they lie in the order of their hashes
        for recording, *mark in connection.execute(_MARKS, (principal,)):
            marks[recording].add(tuple(mark))
        for *columns, sum, seq in connection.execute(_ROWS, (principal,)):
            try:
                readable.append(_readable_recording(tuple(columns)))
            except RecordCorrupt as error:
                yield StoreFault(str(columns[1]), str(error))
                continue
            yield from _row_faults(readable[-1], tuple(columns), sum, marks[seq])
        yield from _strand_faults(readable)


def _readable_recording(columns: Row) -> Recording:
    """A recording of which every block is JSON. Raises RecordCorrupt."""
    recording = recording_of_row(columns)
    try:
        for raw in recording.blocks:
            made(raw)
    except msgspec.DecodeError as error:
        raise RecordCorrupt(f"a block of recording {recording.id!r} cannot be read: {error}") from error
    return recording


def _row_faults(recording: Recording, columns: Row, sum: Value, marks: set[Row]) -> Iterator[StoreFault]:
    if not is_sum_of(columns, sum):
        yield StoreFault(recording.id, "its bytes are not those that were recorded")
    if marks != set(marks_of(recording)):
        yield StoreFault(recording.id, "its marks are not those that its content makes")
    keys = tuple(key for raw in recording.blocks if (key := key_of(made(raw))))
    if recording.origin.realm == ANTHROPIC and keys != recording.keys:
        yield StoreFault(recording.id, "its keys are not those of its blocks")


def _strand_faults(recordings: list[Recording]) -> Iterator[StoreFault]:
    shelf = Shelf(recordings)
    yield from (StoreFault(id, "its strand leads in a circle") for id in _in_circles(recordings, shelf))
    proofs: dict[bytes, str] = {}  # behind the keys of recordings whose blocks clients hold as they came
    for recording in recordings:
        for block in map(made, recording.blocks):
            if (key := key_of(block)) and key in recording.keys:
                proofs[key] = proof_of(block)
    for recording in (each for each in recordings if each.digest and each.origin.realm == ANTHROPIC):
        row = (*strand_keys(recording, shelf), *recording.keys)
        known = [proofs[key] for key in row if key in proofs]
        lost = recording.strand.after is not None and not _reaches_its_start(recording, shelf)
        if not lost and len(known) == len(row) and digest_of(known) != proof_half(recording.digest):
            yield StoreFault(recording.id, "its digest is not that of its strand")


def _in_circles(recordings: list[Recording], shelf: Shelf) -> Iterator[str]:
    """The recordings whose strand's links lead in a circle. No link is followed twice."""
    known: set[str] = set()
    for recording in recordings:
        path: set[str] = set()
        at: Recording | None = recording
        while at is not None and at.id not in known and at.id not in path:
            path.add(at.id)
            at = shelf.by_id(at.strand.after or "")
        if at is not None and at.id in path:
            yield recording.id
        known |= path


def _reaches_its_start(recording: Recording, shelf: Shelf) -> bool:
    """Whether every link of the strand still leads somewhere. A forgotten one is no fault, but leaves the row unknown."""
    at: Recording | None = recording
    seen: set[str] = set()
    while at is not None and at.strand.after is not None and at.id not in seen:
        seen.add(at.id)
        at = shelf.by_id(at.strand.after)
    return at is not None


def _turn_faults(connection: Database) -> Iterator[StoreFault]:
    for what, statement in _LINKS.items():
        for (name,) in connection.execute(statement):
            yield StoreFault(str(name), what)
    for id, changes in connection.execute("SELECT id, changes FROM exchanges"):
        assert isinstance(changes, bytes)
        try:
            unpack_changes(changes)
        except RecordCorrupt as error:
            yield StoreFault(str(id), str(error))
    for id, row, asked, answered, *columns in connection.execute(_WORDS):
        if row is None:
            yield StoreFault(str(id), "it is not in the index of words")
        elif (asked, answered) != indexed_words(tuple(columns)):
            yield StoreFault(str(id), "its words in the index are not those that were said")
