"""Searching: by words of what was asked and answered, within a principal."""

import json

from clew.model.turn import TurnRecord
from clew.store import Store
from clew.store.values import Hit
from tests.store.turns import NOON, recorded, turn


def said(
    name: str, question: object, answer: str, *, thread: str = "t", principal: str = "local", title: str = "", at: float = 0
) -> TurnRecord:
    made = turn(recorded(name, words=answer, thread=thread, principal=principal), at=NOON + at)
    asked = (json.dumps({"role": "user", "content": question}).encode(),)
    return TurnRecord(exchange=made.exchange, recording=made.recording, asked=asked, title=title)


def keep(store: Store, *turns: TurnRecord) -> None:
    for each in turns:
        assert store.record(each).result(120)


def found(store: Store, typed: str, principal: str = "local") -> list[str]:
    return [hit.exchange or hit.thread for hit in store.search(principal, typed)]


def test_a_turn_is_found_by_words_of_the_question_and_of_the_answer(store: Store) -> None:
    keep(store, said("r", "How do lighthouses work?", "A lamp turns behind a Fresnel lens.", title="How do"))
    snippet = "A lamp turns behind a Fresnel lens."
    hit = Hit(thread="t", title="How do", at=NOON, exchange="x-r", snippet=snippet, marks=((2, 6), (22, 29)))
    assert store.search("local", "fresnel LAMP") == [hit]
    assert [found(store, each) for each in ("lighthouse lens", "lighthouses nothing", "house")] == [["x-r"], [], []]


def test_the_newest_come_first_and_no_more_than_wanted(store: Store) -> None:
    keep(store, *(said(f"r{number}", "The tide", "Yes.", at=number) for number in range(5)))
    assert found(store, "tide") == [f"x-r{number}" for number in (4, 3, 2, 1, 0)]
    assert [hit.exchange for hit in store.search("local", "tide", limit=2)] == ["x-r4", "x-r3"]


def test_nobody_finds_what_another_said(store: Store) -> None:
    """Nothing is found across principals: neither words nor titles."""
    keep(
        store,
        said("a", "the heron", "Yes.", title="heron"),
        said("b", "the heron", "Yes.", principal="other", title="heron"),
    )
    assert [found(store, "heron", each) for each in ("local", "other", "third", "")] == [["x-a"], ["x-b"], [], []]


def test_quoted_words_stand_together_and_end_where_they_end(store: Store) -> None:
    keep(store, said("a", "red sails in the sunset", "Yes."), said("b", "the sunset in red", "Yes."))
    assert [found(store, each) for each in ('"in the sunset"', '"in the sun"', "in the sun", '"red')] == [
        ["x-a"],
        [],
        ["x-b", "x-a"],
        ["x-b", "x-a"],
    ]


def test_case_and_accents_do_not_count(store: Store) -> None:
    keep(store, said("r", "Où est la Bibliothèque?", "Straße"))
    assert [found(store, each) for each in ("bibliotheque", "BIBLIOTHÈQUE", "ou", "straße", "Straß")] == [["x-r"]] * 5


def test_words_without_spaces_are_found_inside(store: Store) -> None:
    keep(store, said("r", "请告诉我灯塔的历史", "灯塔很古老。"))
    assert [(hit.snippet, hit.marks) for hit in store.search("local", "灯塔")] == [("请告诉我灯塔的历史", ((4, 6),))]
    assert [found(store, each) for each in ("历史", "塔灯", "古老 告诉")] == [["x-r"], [], ["x-r"]]


def test_a_title_is_found_where_no_turn_has_it(store: Store) -> None:
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


def test_tools_thinking_and_reminders_are_not_what_was_said(store: Store) -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "toolu_r", "content": "resulted"},
        {"type": "text", "text": "<system-reminder>reminded</system-reminder>"},
        {"type": "text", "text": "questioned"},
    ]
    keep(store, said("r", blocks, "answered"))
    words = ("resulted", "reminded", "thought", "secret", "toolu", "questioned", "answered")
    assert [word for word in words if found(store, word)] == ["questioned", "answered"]


def test_a_turn_that_goes_on_is_found_by_its_last_state(store: Store) -> None:
    keep(store, turn(recorded("r", words="begun"), exchange="r", outcome="open"))
    assert found(store, "begun") == ["r"]
    keep(store, turn(recorded("r", words="ended"), exchange="r"))
    assert (found(store, "begun"), found(store, "ended"), store.verify()) == ([], ["r"], ())


def test_what_is_forgotten_is_not_found(store: Store) -> None:
    keep(store, said("a", "heron", "Yes.", thread="t"), said("b", "heron", "Yes.", thread="u"))
    assert found(store, "heron") == ["x-b", "x-a"]
    store.forget("local", "u", at=NOON - 60).result(120)
    assert found(store, "heron") == ["x-a"]
    keep(store, said("c", "heron", "Yes.", thread="u"))  # where the last one was
    assert (found(store, "heron"), store.verify()) == (["x-c", "x-a"], ())
