"""Changes as a column: whatever they are, the same ones are read back, and many of them take little room."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from clew.errors import RecordCorrupt
from clew.model.change import Change
from clew.store.rows import LEAST_COMPRESSED, pack_changes, unpack_changes
from clew.store.sqlite.store import SqliteStore
from tests.database import connected
from tests.store.turns import recorded, turn

DROPPED = "the client had left it out"
OF_ONE = 6
"""Bytes for each of many Changes, whatever their order. Measured: three to five."""


def restored(*places: tuple[int, int], why: str = DROPPED) -> tuple[Change, ...]:
    return tuple(Change("thinking", f"messages.{message}.content.{block}", "restored", why) for message, block in places)


MANY = {
    "one of each answer": restored(*((2 * number + 1, 0) for number in range(200))),
    "of some answers": restored(*((2 * number + 1, number % 3) for number in range(400) if number * number % 7 in (1, 2))),
    "two steps in turn": tuple(
        change
        for number in range(100)
        for change in (
            Change(
                "tool_structure", f"messages.{2 * number + 1}.content.1.id", "set", "the id stands for another call, too"
            ),
            Change("tool_structure", f"messages.{2 * number + 2}.content.0", "moved", "it must follow its call at once"),
        )
    ),
}


def rows(path: Path) -> dict[str, bytes]:
    with closing(connected(path)) as file:
        return {str(id): bytes(kept) for id, kept in file.execute("SELECT id, changes FROM exchanges")}


@pytest.mark.parametrize("which", MANY)
def test_many_changes_take_a_few_bytes_each_and_are_read_back(store: SqliteStore, path: Path, which: str) -> None:
    store.record(turn(recorded("r"), changes=MANY[which])).result(120)
    assert len(rows(path)["x-r"]) < OF_ONE * len(MANY[which])
    found = store.exchange("local", "x-r")
    assert found is not None
    assert found.changes == MANY[which]
    assert store.exchanges("local") == [found]


def test_few_are_kept_as_json(store: SqliteStore, path: Path) -> None:
    """As every exchange was before, and as ordinary ones are: it costs nothing more."""
    few = restored((1, 0), (3, 0))
    store.record(turn(recorded("r"), changes=few)).result(120)
    store.record(turn(recorded("none"), changes=())).result(5)
    kept = rows(path)
    assert [each["path"] for each in json.loads(kept["x-r"])] == ["messages.1.content.0", "messages.3.content.0"]
    assert kept["x-none"] == b"[]"


def test_an_older_row_is_read_however_long_it_is(store: SqliteStore, path: Path) -> None:
    many = MANY["one of each answer"]
    store.record(turn(recorded("r"), changes=many)).result(120)
    as_json = json.dumps([{name: getattr(change, name) for name in change.__struct_fields__} for change in many]).encode()
    assert len(as_json) > LEAST_COMPRESSED
    with closing(connected(path)) as file:
        file.execute("UPDATE exchanges SET changes = ?", (as_json,))
    assert [each.changes for each in store.exchanges("local")] == [many]


@pytest.mark.parametrize(
    "kept", [b"", b"[{", b'[{"step":1}]', b"x\x01 not compressed", pack_changes(MANY["of some answers"])[:-9]]
)
def test_what_cannot_be_read_is_said_to_be(kept: bytes) -> None:
    with pytest.raises(RecordCorrupt, match="the changes of an exchange cannot be read"):
        unpack_changes(kept)
