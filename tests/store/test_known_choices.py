"""A gateway that starts while its database is away knows what was chosen, as its machine read it last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.errors import StoreError
from clew.store.postgres.known_choices import NAME, KnownChoices, PinnedThread
from clew.store.postgres.store import PostgresStore
from clew.store.values import Lookup
from tests.postgres import PostgresServer, private_server
from tests.store.turns import NOON, recorded, turn

PIN = PinnedThread("local", "t", "glm", "s", "")


def test_what_was_chosen_is_read_again_for_the_same_database_alone(tmp_path: Path) -> None:
    known = KnownChoices(tmp_path / "home" / NAME, "here")
    known.note_settings({"active": "glm"})
    known.note_pins([PIN])
    again = KnownChoices(tmp_path / "home" / NAME, "here")
    assert (again.settings, again.pins) == ({"active": "glm"}, (PIN,))
    assert oct((tmp_path / "home" / NAME).stat().st_mode)[-3:] == "600"
    other = KnownChoices(tmp_path / "home" / NAME, "elsewhere")
    assert (other.settings, other.pins) == ({}, ())


@pytest.mark.parametrize("written", [b"", b"{", b'{"pins": 3}', b"\xff"])
def test_a_file_that_cannot_be_read_is_none(tmp_path: Path, written: bytes) -> None:
    (tmp_path / NAME).write_bytes(written)
    known = KnownChoices(tmp_path / NAME, "here")
    assert (known.settings, known.pins) == ({}, ())
    known.note_pins([PIN])
    assert KnownChoices(tmp_path / NAME, "here").pins == (PIN,)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_server() as server:
        yield server


@pytest.mark.slow
def test_a_gateway_that_starts_without_its_database_keeps_choices_and_pins(server: PostgresServer, tmp_path: Path) -> None:
    url, spool = server.create(), tmp_path / "home" / "spool"
    session = Lookup(principal="local", keys=(b"k" * 32,), session="s", links=9)
    with PostgresStore(url, spool=spool) as store:
        assert store.record(turn(recorded("a"), session="s")).result(60)
        store.pin("local", "t", "glm").result(60)
        store.set("active", "claude", at=NOON).result(60)
        store.refresh_pins()
        assert store.settings()["active"] == "claude"
    server.stop("immediate")
    with PostgresStore(url, spool=spool) as store:
        assert store.settings()["active"] == "claude"
        found = store.gather(session)
        assert (found.thread, found.pins, found.has_pins) == ("t", {"t": "glm"}, False)
        store._forget_read()  # as after a minute without a word
        assert store.gather(session).pins == {"t": "glm"}
    with PostgresStore(url, spool=tmp_path / "new" / "spool") as store:  # a machine that never reached it
        found = store.gather(session)
        assert (found.thread, found.has_pins, found.thread_failure) == ("", False, None)
        with pytest.raises(StoreError):
            store.settings()
