"""Verify: read everything, recompute what can be recomputed, and say what does not agree.

SQLite's own check finds broken pages. Beyond it: each recording's sum; its marks, which must be those that its content
makes, and no others; for answers of realm `anthropic`, whose blocks clients hold as they came, the block keys themselves,
and the digest of their proofs, wherever all blocks of the strand are at hand. (The digest of their texts is not compared: a
text that a client changed went as it was if its recording could not be read at that moment. A seal is in the client's copy
alone, so the keys of sealed blocks can only be compared with the marks; what a digest of others is over was not always the
same.) No strand may lead in a circle. And what belongs together must be there together: `verify_turns`.
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
from clew.store.sqlite.database import Database, Row, Value
from clew.store.sqlite.rows import COLUMNS, is_sum_of, marks_of, recording_of_row
from clew.store.sqlite.verify_turns import faults_of_turns
from clew.store.values import Fault
from clew.thinking.keys import digest_of, key_of, proof_half, proof_of
from clew.thinking.strands import strand_keys

__all__ = ["verify"]

_ROWS = f"SELECT {COLUMNS}, sum, seq FROM recordings WHERE principal = ? ORDER BY seq"  # noqa: S608  (the columns are a constant)
_MARKS = "SELECT recording, kind, hash FROM marks WHERE principal = ?"
_STRAY = """
SELECT principal, kind, hex(hash) FROM marks
WHERE NOT EXISTS (SELECT 1 FROM recordings WHERE seq = recording AND recordings.principal = marks.principal)
"""


def verify(connection: Database) -> tuple[Fault, ...]:
    try:
        return (
            *_of_file(connection),
            *_of_marks(connection),
            *_of_recordings(connection),
            *faults_of_turns(connection),
        )
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return (Fault("", f"the file is damaged: {error}"),)


def _of_file(connection: Database) -> Iterator[Fault]:
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield Fault("", str(line))


def _of_marks(connection: Database) -> Iterator[Fault]:
    for principal, kind, hash in connection.execute(_STRAY):
        yield Fault("", f"the {kind} mark {hash} of {principal!r} leads to no recording")


def _of_recordings(connection: Database) -> Iterator[Fault]:
    for (principal,) in connection.execute("SELECT DISTINCT principal FROM recordings").fetchall():
        readable: list[Recording] = []
        marks = _marks(connection, principal)
        for *columns, sum, seq in connection.execute(_ROWS, (principal,)):
            try:
                readable.append(_read(tuple(columns)))
            except RecordCorrupt as error:
                yield Fault(str(columns[1]), str(error))
                continue
            yield from _of_row(readable[-1], tuple(columns), sum, marks[seq])
        yield from _of_digests(readable)


def _read(columns: Row) -> Recording:
    """A recording of which every block is JSON. Raises RecordCorrupt."""
    recording = recording_of_row(columns)
    try:
        for raw in recording.blocks:
            made(raw)
    except msgspec.DecodeError as error:
        raise RecordCorrupt(f"a block of recording {recording.id!r} cannot be read: {error}") from error
    return recording


def _marks(connection: Database, principal: Value) -> dict[Value, set[Row]]:
    """Of every recording, by its number. At once: they lie in the order of their hashes."""
    marks: dict[Value, set[Row]] = defaultdict(set)
    for recording, *mark in connection.execute(_MARKS, (principal,)):
        marks[recording].add(tuple(mark))
    return marks


def _of_row(recording: Recording, columns: Row, sum: Value, marks: set[Row]) -> Iterator[Fault]:
    if not is_sum_of(columns, sum):
        yield Fault(recording.id, "its bytes are not those that were recorded")
    if marks != set(marks_of(recording)):
        yield Fault(recording.id, "its marks are not those that its content makes")
    if recording.origin.realm == ANTHROPIC and _keys_in(recording) != recording.keys:
        yield Fault(recording.id, "its keys are not those of its blocks")


def _keys_in(recording: Recording) -> tuple[bytes, ...]:
    return tuple(key for raw in recording.blocks if (key := key_of(made(raw))))


def _of_digests(recordings: list[Recording]) -> Iterator[Fault]:
    shelf = Shelf(recordings)
    yield from (Fault(id, "its strand leads in a circle") for id in _in_circles(recordings, shelf))
    proofs = {key: proof for each in recordings for key, proof in _proofs_in(each)}
    for recording in (each for each in recordings if each.digest and each.origin.realm == ANTHROPIC):
        row = (*strand_keys(recording, shelf), *recording.keys)
        known = [proofs[key] for key in row if key in proofs]
        lost = recording.strand.after is not None and not _reaches_its_start(recording, shelf)
        if not lost and len(known) == len(row) and digest_of(known) != proof_half(recording.digest):
            yield Fault(recording.id, "its digest is not that of its strand")


def _proofs_in(recording: Recording) -> Iterator[tuple[bytes, str]]:
    """The proofs behind a recording's keys, where clients hold its blocks as they came."""
    for raw in recording.blocks:
        block = made(raw)
        if (key := key_of(block)) and key in recording.keys:
            yield key, proof_of(block)


def _in_circles(recordings: list[Recording], shelf: Shelf) -> Iterator[str]:
    """Those from which the links of a strand lead in a circle. No link is followed twice."""
    known: set[str] = set()
    for recording in recordings:
        way: set[str] = set()
        at: Recording | None = recording
        while at is not None and at.id not in known and at.id not in way:
            way.add(at.id)
            at = shelf.by_id(at.strand.after or "")
        if at is not None and at.id in way:
            yield recording.id
        known |= way


def _reaches_its_start(recording: Recording, shelf: Shelf) -> bool:
    """Whether every link of the strand still leads somewhere. A forgotten one is no fault, but leaves the row unknown."""
    at: Recording | None = recording
    seen: set[str] = set()
    while at is not None and at.strand.after is not None and at.id not in seen:
        seen.add(at.id)
        at = shelf.by_id(at.strand.after)
    return at is not None
