"""Searching in a SQLite store: its index, in bites, of old files too, and whatever is typed."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store.sqlite.store import SqliteStore
from clew.store.words import STEP_CHARACTERS, search_terms
from tests.counts import examples
from tests.database import connected
from tests.store.contract.test_search import found, keep, said
from tests.store.make_old import OLD


def test_without_content_nothing_is_found(path: Path) -> None:
    """`content = false`: neither by those who keep so, nor by a command that looks later."""
    with SqliteStore(path, content=False) as store:
        keep(store, said("quiet", "heron", "egret", title="stork"))
        assert found(store, "heron") + found(store, "egret") + found(store, "stork") == []
    with SqliteStore(path) as store:
        keep(store, said("loud", "heron", "egret"))
        assert (found(store, "egret"), store.verify()) == (["x-loud"], ())
        with store._readers.use() as connection:
            assert connection.execute("SELECT asked, answered FROM words ORDER BY rowid").fetchall() == [
                ("", ""),
                ("heron", "egret"),
            ]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_old_store_is_indexed_when_it_is_searched(version: int, path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    shutil.copy(OLD / f"v{version}.sqlite", path)
    path.chmod(0o600)
    with SqliteStore(path) as store:
        assert found(store, '"secret question"') == ["x-g", "x-r2", "x-r1", "x-r0"]
        assert found(store, "answer r1") == ["x-r1"]
        assert store.verify() == ()


def test_a_bite_is_bounded_in_turns_and_in_words(store: SqliteStore) -> None:
    keep(store, *(said(f"r{number}", "x" * (STEP_CHARACTERS // 2), "Yes.") for number in range(5)))
    assert [store.index_turns().result(120) for _ in range(4)] == [2, 2, 1, 0]


def test_a_store_that_cannot_be_written_is_searched_as_it_is(store: SqliteStore, path: Path) -> None:
    keep(store, said("a", "heron", "Yes."))
    assert found(store, "heron") == ["x-a"]
    keep(store, said("b", "heron", "Yes."))
    store._writer.close()
    assert found(store, "heron") == ["x-a"]
    connection = connected(path)
    assert connection.execute("SELECT count(*) FROM words").get == 1
    connection.close()


@pytest.mark.parametrize("typed", ["", "  ", '"', '""', "*", "!?", "-", "(", "^", ":", "'", "\x00", "\ud800", "_"])
def test_what_holds_no_word_finds_nothing(store: SqliteStore, typed: str) -> None:
    keep(store, said("r", "near and not or", "Yes.", title="AND"))
    assert (search_terms(typed), store.search("local", typed)) == ((), [])


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(
    typed=st.text(st.sampled_from("abAND OR NOT NEAR\"*^:(){}-+\\'%_\x00\n\ud800éß灯1"), max_size=30) | st.text(max_size=30)
)
def test_nothing_that_can_be_typed_is_an_error(filled: SqliteStore, typed: str) -> None:
    """X13: every string is words to look for, and nothing else."""
    assert len(filled.search("local", typed, limit=3)) <= 3


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory):
    with SqliteStore(tmp_path_factory.mktemp("searched") / "home" / "store.sqlite") as store:
        keep(store, *(said(f"r{number}", "a b AND near 灯塔", "é 1", title="or not") for number in range(5)))
        yield store
