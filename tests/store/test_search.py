"""Searching: by words of what was asked and answered, within a principal, whatever is typed."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store import SqliteStore
from clew.store.search import wanted
from clew.store.values import Hit, Turn
from clew.store.words import BITE_CHARACTERS
from tests.counts import examples
from tests.database import connected
from tests.store.make_old import OLD
from tests.store.turns import NOON, recorded, turn


def said(
    name: str, question: object, answer: str, *, thread: str = "t", principal: str = "local", title: str = "", at: float = 0
) -> Turn:
    made = turn(recorded(name, words=answer, thread=thread, principal=principal), at=NOON + at)
    asked = (json.dumps({"role": "user", "content": question}).encode(),)
    return Turn(exchange=made.exchange, recording=made.recording, asked=asked, title=title)


def keep(store: SqliteStore, *turns: Turn) -> None:
    for each in turns:
        assert store.record(each).result(120)


def found(store: SqliteStore, typed: str, principal: str = "local") -> list[str]:
    return [hit.exchange or hit.thread for hit in store.search(principal, typed)]


def test_a_turn_is_found_by_words_of_the_question_and_of_the_answer(store: SqliteStore) -> None:
    keep(store, said("r", "How do lighthouses work?", "A lamp turns behind a Fresnel lens.", title="How do"))
    snippet = "A lamp turns behind a Fresnel lens."
    hit = Hit(thread="t", title="How do", at=NOON, exchange="x-r", snippet=snippet, marks=((2, 6), (22, 29)))
    assert store.search("local", "fresnel LAMP") == [hit]
    assert [found(store, each) for each in ("lighthouse lens", "lighthouses nothing", "house")] == [["x-r"], [], []]


def test_the_newest_come_first_and_no_more_than_wanted(store: SqliteStore) -> None:
    keep(store, *(said(f"r{number}", "The tide", "Yes.", at=number) for number in range(5)))
    assert found(store, "tide") == [f"x-r{number}" for number in (4, 3, 2, 1, 0)]
    assert [hit.exchange for hit in store.search("local", "tide", limit=2)] == ["x-r4", "x-r3"]


def test_nobody_finds_what_another_said(store: SqliteStore) -> None:
    """Nothing is found across principals: neither words nor titles."""
    keep(
        store,
        said("a", "the heron", "Yes.", title="heron"),
        said("b", "the heron", "Yes.", principal="other", title="heron"),
    )
    assert [found(store, "heron", each) for each in ("local", "other", "third", "")] == [["x-a"], ["x-b"], [], []]


def test_quoted_words_stand_together_and_end_where_they_end(store: SqliteStore) -> None:
    keep(store, said("a", "red sails in the sunset", "Yes."), said("b", "the sunset in red", "Yes."))
    assert [found(store, each) for each in ('"in the sunset"', '"in the sun"', "in the sun", '"red')] == [
        ["x-a"],
        [],
        ["x-b", "x-a"],
        ["x-b", "x-a"],
    ]


def test_case_and_accents_do_not_count(store: SqliteStore) -> None:
    keep(store, said("r", "Où est la Bibliothèque?", "Straße"))
    assert [found(store, each) for each in ("bibliotheque", "BIBLIOTHÈQUE", "ou", "straße", "Straß")] == [["x-r"]] * 5


def test_words_without_spaces_are_found_inside(store: SqliteStore) -> None:
    keep(store, said("r", "请告诉我灯塔的历史", "灯塔很古老。"))
    assert [(hit.snippet, hit.marks) for hit in store.search("local", "灯塔")] == [("请告诉我灯塔的历史", ((4, 6),))]
    assert [found(store, each) for each in ("历史", "塔灯", "古老 告诉")] == [["x-r"], [], ["x-r"]]


def test_a_title_is_found_where_no_turn_has_it(store: SqliteStore) -> None:
    keep(
        store,
        said("a", "Hello", "Yes.", thread="u", title="Crème brûlée"),
        said("b", "brulee", "Yes.", title="brulee", at=1),
    )
    assert store.search("local", "BRULEE") == [
        Hit(thread="t", title="brulee", at=NOON + 1, exchange="x-b", snippet="brulee", marks=((0, 6),)),
        Hit(thread="u", title="Crème brûlée", at=NOON),
    ]
    assert [found(store, each) for each in ("creme", '"creme br"', "rème")] == [["u"], [], []]


def test_tools_thinking_and_reminders_are_not_what_was_said(store: SqliteStore) -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "toolu_r", "content": "resulted"},
        {"type": "text", "text": "<system-reminder>reminded</system-reminder>"},
        {"type": "text", "text": "questioned"},
    ]
    keep(store, said("r", blocks, "answered"))
    words = ("resulted", "reminded", "thought", "secret", "toolu", "questioned", "answered")
    assert [word for word in words if found(store, word)] == ["questioned", "answered"]


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


def test_a_turn_that_goes_on_is_found_by_its_last_state(store: SqliteStore) -> None:
    keep(store, turn(recorded("r", words="begun"), exchange="r", outcome="open"))
    assert found(store, "begun") == ["r"]
    keep(store, turn(recorded("r", words="ended"), exchange="r"))
    assert (found(store, "begun"), found(store, "ended"), store.verify()) == ([], ["r"], ())


def test_what_is_forgotten_is_not_found(store: SqliteStore) -> None:
    keep(store, said("a", "heron", "Yes.", thread="t"), said("b", "heron", "Yes.", thread="u"))
    assert found(store, "heron") == ["x-b", "x-a"]
    store.forget("local", "u", at=NOON - 60).result(120)
    assert found(store, "heron") == ["x-a"]
    keep(store, said("c", "heron", "Yes.", thread="u"))  # where the last one was
    assert (found(store, "heron"), store.verify()) == (["x-c", "x-a"], ())


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
    keep(store, *(said(f"r{number}", "x" * (BITE_CHARACTERS // 2), "Yes.") for number in range(5)))
    assert [store.catch_up().result(120) for _ in range(4)] == [2, 2, 1, 0]


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
    assert (wanted(typed), store.search("local", typed)) == ((), [])


@settings(max_examples=examples(100), deadline=None)
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
