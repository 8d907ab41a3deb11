"""Strands: a row as a link or a list, and its longest tail that can be put in place."""

from __future__ import annotations

from clew.model.recording import AnswerContent, Recording, Shelf, Strand
from clew.thinking.strands import longest_tail, strand_for, strand_keys
from tests.build import OPUS


def recording(id: str, *keys: bytes, strand: Strand) -> Recording:
    return Recording(
        id=id, principal="p", origin=OPUS, blocks=(), keys=keys, said=AnswerContent(), place=id.encode(), strand=strand
    )


FIRST = recording("a", b"1", b"2", strand=Strand(listed=()))
SECOND = recording("b", b"3", strand=Strand(after="a"))
SILENT = recording("c", strand=Strand(after="b"))
LISTED = recording("d", b"5", strand=Strand(listed=(b"3", b"x")))


def test_a_link_resolves_through_all_that_it_follows() -> None:
    shelf = Shelf([FIRST, SECOND, SILENT])

    assert strand_keys(FIRST, shelf) == ()
    assert strand_keys(SECOND, shelf) == (b"1", b"2")
    assert strand_keys(SILENT, shelf) == (b"1", b"2", b"3")


def test_a_list_is_what_it_says() -> None:
    after = recording("e", strand=Strand(after="d"))

    assert strand_keys(LISTED, Shelf([FIRST, SECOND])) == (b"3", b"x")
    assert strand_keys(after, Shelf([LISTED])) == (b"3", b"x", b"5")


def test_beyond_a_lost_recording_the_row_is_unknown_and_begins_later() -> None:
    assert strand_keys(SILENT, Shelf([SECOND, SILENT])) == (b"3",)
    assert strand_keys(SECOND, Shelf()) == ()


def test_a_link_in_a_circle_ends() -> None:
    one, two = recording("1", b"1", strand=Strand(after="2")), recording("2", b"2", strand=Strand(after="1"))

    assert strand_keys(one, Shelf([one, two])) == (b"1", b"2")


def test_a_row_is_linked_where_the_newest_answer_says_the_same_and_else_listed() -> None:
    shelf = Shelf([FIRST, SECOND])

    assert strand_for((b"1", b"2", b"3"), SECOND, shelf) == Strand(after="b")
    assert strand_for((b"2", b"3"), SECOND, shelf) == Strand(listed=(b"2", b"3"))
    assert strand_for((b"9",), None, shelf) == Strand(listed=(b"9",))
    assert strand_for((), SECOND, shelf) == Strand(listed=())


def test_the_longest_tail_stops_at_the_first_answer_that_cannot_take_its_blocks() -> None:
    groups = [(0, (b"1",)), (1, (b"2", b"3")), (3, (b"4",))]

    assert longest_tail(groups, lambda index, keys: True) == {b"1", b"2", b"3", b"4"}
    assert longest_tail(groups, lambda index, keys: index != 1) == {b"4"}
    assert longest_tail([*groups, (None, (b"5",))], lambda index, keys: True) == frozenset()
    assert longest_tail([(2, (b"1",)), (1, (b"2",))], lambda index, keys: True) == {b"2"}, "in the order of the history"
