"""The turns of a thread as a tree."""

from __future__ import annotations

from clew.chat.turns import StoredTurn, Tree
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.store.values import Passage


def spot(id: str, follows: str = "", asked: bytes = b"{}", *, answered: bool = True) -> StoredTurn:
    recording = Recording(
        id=id,
        principal="local",
        origin=Origin("anthropic", "claude", "m", ""),
        blocks=(b"{}",) if answered else (),
        keys=(),
        said=AnswerContent(),
        place=b"",
        strand=Strand(),
        followed=follows or None,
        whole=answered,
    )
    return StoredTurn(Passage(exchange=id, at=0.0, asked=(asked,), recording=recording))


def ids(spots: list[StoredTurn]) -> list[str]:
    return [each.id for each in spots]


def test_a_line_leads_from_its_beginning_to_its_tip() -> None:
    tree = Tree([spot("a"), spot("b", "a"), spot("c", "a"), spot("d", "b")])
    assert [ids(tree.line(tip)) for tip in ("d", "c", "")] == [["a", "b", "d"], ["a", "c"], []]
    assert (tree.newest, tree.tips()) == ("d", ["c", "d"])


def test_a_question_that_was_asked_again_is_one_turn_of_several_attempts() -> None:
    tree = Tree([spot("a", answered=False), spot("b", answered=False), spot("c"), spot("d", "c", b"x", answered=False)])
    assert tree.tips() == ["d"]
    assert tree.attempts() == {"a": 1, "b": 2, "c": 3, "d": 1}


def test_an_answer_that_was_asked_for_again_is_a_branch() -> None:
    tree = Tree([spot("a"), spot("b")])
    assert tree.tips() == ["a", "b"]
    assert tree.attempts() == {"a": 1, "b": 1}


def test_a_line_whose_beginning_was_forgotten_begins_later_and_one_in_a_ring_ends() -> None:
    tree = Tree([spot("b", "a"), spot("x", "y"), spot("y", "x")])
    assert ids(tree.line("b")) == ["b"]
    assert ids(tree.line("y")) == ["x", "y"]


def test_what_nobody_noted_the_place_of_is_in_no_line() -> None:
    tree = Tree([StoredTurn(Passage(exchange="a", at=0.0, asked=(), recording=None))])
    assert (tree.newest, "a" in tree, tree.get("a")) == ("", False, None)
