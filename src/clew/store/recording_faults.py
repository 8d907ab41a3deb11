"""What can be wrong with recordings, as `verify` finds it out: all that follows from their content is worked out again.

Each recording's sum; its marks, which must be those that its content makes, and no others; for answers of realm `anthropic`,
whose blocks clients hold as they came, the block keys themselves, and the digest of their proofs, wherever all blocks of the
strand are known. (The digest of their texts is not compared: a text that a client changed went as it was if its recording
could not be read at that moment. A seal is in the client's copy alone, so the keys of sealed blocks can only be compared
with the marks; digests of others were not always made the same way.) No strand may lead in a circle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from clew.errors import RecordCorrupt
from clew.model.blocks import made
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording, Shelf
from clew.store.rows import Row, Value, is_sum_of, marks_of, recording_of_row, unpack_changes
from clew.store.values import StoreFault
from clew.store.words import indexed_words
from clew.thinking.keys import digest_of, key_of, keys_of, proof_half, proof_of
from clew.thinking.strands import strand_keys


def recording_faults(rows: Iterable[Row], marks: Mapping[Value, set[Row]]) -> Iterator[StoreFault]:
    """Of all recordings of a principal: each row has the columns, the sum and the place, by which `marks` are found."""
    readable: list[Recording] = []
    for *columns, sum, seq in rows:
        try:
            recording = recording_of_row(tuple(columns))
            for raw in recording.blocks:
                made(raw)
        except RecordCorrupt as error:
            yield StoreFault(str(columns[1]), str(error))
        except msgspec.DecodeError as error:
            yield StoreFault(str(columns[1]), f"a block of recording {columns[1]!r} cannot be read: {error}")
        else:
            readable.append(recording)
            yield from _row_faults(recording, tuple(columns), sum, marks.get(seq, set()))
    yield from _strand_faults(readable)


def marks_by_place(rows: Iterable[Row]) -> dict[Value, set[Row]]:
    """Kinds and hashes by the place of their recording, which stands first in a row."""
    marks: dict[Value, set[Row]] = defaultdict(set)
    for place, *mark in rows:
        marks[place].add(tuple(mark))
    return marks


def change_faults(rows: Iterable[Row]) -> Iterator[StoreFault]:
    """Of rows of an exchange's id and its changes."""
    for id, changes in rows:
        assert isinstance(changes, bytes)
        try:
            unpack_changes(changes)
        except RecordCorrupt as error:
            yield StoreFault(str(id), str(error))


def word_faults(rows: Iterable[Row]) -> Iterator[StoreFault]:
    """Of turns that must be in the index: the id, the place in the index, its two texts, and what they are made from."""
    for id, place, asked, answered, *columns in rows:
        if place is None:
            yield StoreFault(str(id), "it is not in the index of words")
        elif (asked, answered) != indexed_words(tuple(columns)):
            yield StoreFault(str(id), "its words in the index are not those that were said")


def _row_faults(recording: Recording, columns: Row, sum: Value, marks: set[Row]) -> Iterator[StoreFault]:
    if not is_sum_of(columns, sum):
        yield StoreFault(recording.id, "its bytes are not those that were recorded")
    if marks != set(marks_of(recording)):
        yield StoreFault(recording.id, "its marks are not those that its content makes")
    keys = keys_of(map(made, recording.blocks))
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
