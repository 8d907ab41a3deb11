"""Verify finds what SQLite itself cannot see."""

from pathlib import Path

import pytest
from msgspec import structs

from clew.errors import RecordCorrupt
from clew.model.recording import Strand
from clew.store.rows import pack
from clew.store.sqlite.store import SqliteStore
from clew.store.values import StoreFault
from tests.database import connected
from tests.store.turns import GLM, conversation, recorded, turn

OTHER = b"o" * 32


@pytest.fixture
def filled(store: SqliteStore) -> SqliteStore:
    for each in (*conversation(2), recorded("g", origin=GLM, keys=(OTHER,), digest=b"d" * 32)):
        store.record(turn(each)).result(120)
    assert store.verify() == ()
    return store


def tamper(path: Path, statement: str, *bindings: object) -> None:
    connection = connected(path)
    connection.execute(statement, bindings)
    assert connection.changes() == 1
    connection.close()


def test_a_changed_byte_is_found(filled: SqliteStore, path: Path) -> None:
    tamper(path, "UPDATE recordings SET blocks = ? WHERE id = 'g'", pack([b'{"type":"text","text":"other"}']))
    assert filled.verify() == (StoreFault("g", "its bytes are not those that were recorded"),)


def test_a_lost_mark_is_found(filled: SqliteStore, path: Path) -> None:
    tamper(path, "DELETE FROM marks WHERE kind = 'key' AND hash = ?", OTHER)
    assert filled.verify() == (StoreFault("g", "its marks are not those that its content makes"),)


def test_a_mark_that_leads_nowhere_is_found(filled: SqliteStore, path: Path) -> None:
    tamper(path, "INSERT INTO marks (principal, kind, hash, recording) VALUES ('local', 'tool', x'00ff', 99)")
    assert filled.verify() == (StoreFault("", "the tool mark 00FF of 'local' leads to no recording"),)


def test_keys_and_digests_are_recomputed(store: SqliteStore) -> None:
    """Wrong from the start, so that sums and marks agree: only the recomputation can tell."""
    store.record(turn(recorded("key", keys=(OTHER,), digest=b""))).result(120)
    store.record(turn(recorded("digest", digest=b"d" * 32))).result(120)
    assert store.verify() == (
        StoreFault("key", "its keys are not those of its blocks"),
        StoreFault("digest", "its digest is not that of its strand"),
    )


def test_a_strand_whose_beginning_is_forgotten_is_no_fault(store: SqliteStore) -> None:
    for each in conversation(3):
        store.record(turn(each)).result(120)
    lost = recorded("lost", before=tuple(conversation(3)), strand=Strand(after="never"), thread="u")
    store.record(turn(lost)).result(120)
    assert store.verify() == ()


def test_a_row_that_cannot_be_read_is_found_and_refused(filled: SqliteStore, path: Path) -> None:
    tamper(path, "UPDATE recordings SET keys = x'00' WHERE id = 'g'")
    assert filled.verify() == (StoreFault("g", "recording 'g' cannot be read: 1 bytes are not a row of keys"),)
    with SqliteStore(path) as other, pytest.raises(RecordCorrupt, match="recording 'g' is not as it was written"):
        other.recordings("local").by_id("g")  # who wrote it has it in memory, as it was


def test_a_block_that_is_no_json_is_found(filled: SqliteStore, path: Path) -> None:
    """A damaged byte in an answer of Claude's, whose keys are made from its blocks."""
    tamper(path, "UPDATE recordings SET blocks = ? WHERE id = 'r1'", pack([b'("type":"text","text":"a")']))
    [fault] = filled.verify()
    assert (fault.record, fault.what.split(":")[0]) == ("r1", "a block of recording 'r1' cannot be read")


@pytest.mark.parametrize("kept", [b'[{"step":', b"\x78\x01 damaged"])
def test_changes_that_cannot_be_read_are_found(filled: SqliteStore, path: Path, kept: bytes) -> None:
    tamper(path, "UPDATE exchanges SET changes = ? WHERE id = 'x-g'", kept)
    [fault] = filled.verify()
    assert (fault.record, fault.what.split(":")[0]) == ("x-g", "the changes of an exchange cannot be read")


def test_a_broken_page_is_found(filled: SqliteStore, path: Path) -> None:
    filled.close()
    raw = bytearray(path.read_bytes())
    raw[4096 * 2 : 4096 * 3] = b"\xa5" * 4096
    path.write_bytes(raw)
    with SqliteStore(path) as store:
        assert any(fault.record == "" for fault in store.verify())


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM exchanges WHERE recording = 'r2'", StoreFault("r2", "no exchange leads to this recording")),
        ("UPDATE exchanges SET recording = 'none' WHERE id = 'x-r2'", StoreFault("x-r2", "its recording is not there")),
        ("DELETE FROM threads WHERE id = 'u'", StoreFault("x-u", "its thread is not there")),
        (
            "INSERT INTO bodies VALUES (9, 'local', 'none', 0.0, x'00', NULL)",
            StoreFault("none", "these bodies belong to no exchange"),
        ),
        ("INSERT INTO pieces VALUES (9, 1, x'00')", StoreFault("9", "this piece belongs to no bodies")),
        (
            "INSERT INTO words (rowid, asked, answered) VALUES (99, 'a', 'b')",
            StoreFault("", "the index of words has a turn that is not there"),
        ),
        ("DELETE FROM words WHERE rowid = 1", StoreFault("x-r0", "it is not in the index of words")),
        (
            "UPDATE words SET asked = 'other' WHERE rowid = 1",
            StoreFault("x-r0", "its words in the index are not those that were said"),
        ),
    ],
)
def test_what_belongs_together_must_be_there_together(
    store: SqliteStore, path: Path, statement: str, fault: StoreFault
) -> None:
    for each in (*conversation(3), recorded("u", thread="u")):
        store.record(turn(each)).result(120)
    assert len(store.search("local", "secret")) == 4
    assert store.verify() == ()
    tamper(path, statement)
    assert fault in store.verify()


def test_a_strand_that_leads_in_a_circle_is_found(store: SqliteStore) -> None:
    for id, after in (("a", "b"), ("b", "a"), ("c", "c")):
        store.record(turn(recorded(id, strand=Strand(after=after), digest=b""))).result(120)
    assert store.verify() == (
        StoreFault("a", "its strand leads in a circle"),
        StoreFault("c", "its strand leads in a circle"),
    )


def test_what_another_process_did_to_the_index_of_words_is_no_damage(store: SqliteStore, path: Path) -> None:
    """A turn that was open and in the index is replaced elsewhere, while this store has looked at the index before."""
    for number in range(25):
        whole = turn(recorded(f"r{number}"), exchange=f"r{number}")
        begun = structs.replace(whole, exchange=structs.replace(whole.exchange, outcome="open"))
        with SqliteStore(path) as other:
            assert store.record(begun).result(120)
            assert other.index_turns().result(120) == 1
            assert other.record(whole).result(120)
            assert other.index_turns().result(120) == 1
        assert store.verify() == ()
