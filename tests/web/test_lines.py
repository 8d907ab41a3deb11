"""Which line of a thread is shown, and what leads away from it."""

import pytest

from clew.store.values import Branch, Passage
from clew.web.thread_page import branch_rows, first_words, line_through
from tests.store.turns import NOON, recorded


def passage(id: str, after: str = "", *, answered: bool = True, at: float = NOON) -> Passage:
    recording = recorded(id, followed=after or None, blocks=recorded(id).blocks if answered else ())
    return Passage(
        exchange=f"x-{id}", at=at, asked=(f'{{"role":"user","content":"Ask {id}"}}'.encode(),), recording=recording
    )


FORKED = [passage("a"), passage("b", "a"), passage("c", "b"), passage("d", "a"), passage("e", "d")]


@pytest.mark.parametrize(
    ("at", "line"),
    [
        ("", ["a", "d", "e"]),
        ("x-e", ["a", "d", "e"]),
        ("x-b", ["a", "b", "c"]),
        ("x-a", ["a", "d", "e"]),
        ("x-unknown", ["a", "d", "e"]),
    ],
)
def test_the_line_is_the_newest_through_the_turn_that_is_asked_for(at: str, line: list[str]) -> None:
    assert [each.exchange for each in line_through(FORKED, at)] == [f"x-{id}" for id in line]


def test_a_question_that_nobody_answered_is_shown_where_it_was_asked() -> None:
    vain, elsewhere = passage("v", "a", answered=False), passage("w", "c", answered=False)
    lost = Passage(exchange="x-lost", at=NOON, asked=(), recording=None)
    line = line_through([*FORKED[:2], vain, *FORKED[2:], elsewhere, lost], "x-e")
    assert [each.exchange for each in line] == ["x-a", "x-v", "x-d", "x-e", "x-lost"]


def test_a_thread_without_answers_is_its_questions() -> None:
    vain = [passage("v", answered=False), passage("w", answered=False)]
    assert line_through(vain) == vain
    assert line_through([]) == []


def test_branches_know_what_they_go_on_from_and_whether_they_are_shown() -> None:
    def branch(after: str, *ids: str, thread: str = "t", agent: str = "") -> Branch:
        exchanges = tuple(f"x-{id}" for id in ids)
        return Branch(thread=thread, agent=agent, after=after, exchanges=exchanges, began=NOON, ended=NOON)

    tree = [
        branch("", "a"),
        branch("x-a", "b", "c"),
        branch("x-a", "d", "e"),
        branch("x-e", "z", thread="other", agent="scout"),
    ]
    made = branch_rows(tree, {"x-b": "Ask b", "x-z": "Scouting"}, "t", line_through(FORKED))
    seen = [(each.number, each.after, each.depth, each.turns, each.shown, each.begins, each.thread) for each in made]
    assert seen == [
        (1, 0, 0, 1, True, "", ""),
        (2, 1, 1, 2, False, "Ask b", ""),
        (3, 1, 1, 2, True, "", ""),
        (4, 3, 2, 1, False, "Scouting", "other"),
    ]
    assert branch_rows(tree[:1], {}, "t", []) == []


def test_the_first_words_are_on_one_line_and_not_many() -> None:
    long = Passage(exchange="x", at=NOON, asked=(b'{"role":"user","content":"' + b"word\\n" * 50 + b'"}',), recording=None)
    assert first_words(long) == ("word " * 16).strip()


def test_a_line_that_goes_on_from_a_summary_begins_with_the_question() -> None:
    content = b'[{"type":"text","text":"<conversation-summary of=\\"1a\\">Old.</conversation-summary>"},{"type":"text","text":"New?"}]'
    asked = (b'{"role":"user","content":' + content + b"}",)
    assert first_words(Passage(exchange="x", at=NOON, asked=asked, recording=None)) == "New?"
