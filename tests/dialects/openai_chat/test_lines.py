"""Lines of a read: cut once, and right wherever somebody asks."""

from unittest.mock import patch

from clew.dialects.openai_chat.unread.lines import Lines

EVENTS = [b"data: %d\n" % number for number in range(6)]
WHOLE = b"\n".join([*EVENTS, b""])
SIZE = len(EVENTS[0]) + 1


def test_events_are_given_from_any_place_on() -> None:
    read = Lines(WHOLE)

    assert [read.events_at(number * SIZE) for number in (0, 1, 1, 4)] == [EVENTS, EVENTS[1:], EVENTS[1:], EVENTS[4:]]


def test_those_that_are_done_with_are_not_looked_at_again() -> None:
    """So a run costs as much as its events, however many other runs the read holds."""
    read = Lines(WHOLE)
    read.events_at(0)
    read.passed(3, 3 * SIZE)
    with patch.object(Lines, "_cut", side_effect=AssertionError):
        assert read.events_at(4 * SIZE) == EVENTS[4:]


def test_a_place_that_is_none_of_a_line_of_its_own_is_looked_for_anew() -> None:
    """An event of two lines stands before it."""
    whole = b"data: 0\n\nevent: x\ndata: 1\n\ndata: 2\n\n"
    read = Lines(whole)

    read.events_at(0)
    assert read.events_at(whole.index(b"data: 2")) == [b"data: 2\n"]


def test_more_than_is_cut_at_once_is_cut_when_it_is_asked_for() -> None:
    with patch("clew.dialects.openai_chat.unread.lines._AT_ONCE", 2 * SIZE):
        read = Lines(WHOLE)
        assert [read.events_at(number * SIZE) for number in (0, 2, 3)] == [EVENTS[:2], EVENTS[2:4], EVENTS[3:4]]
