"""Which blocks the store is told of: once a minute, and new ones at once."""

from clew.engine.process_memory import MOST_SEEN, SEEN_AGAIN, SeenKeys


def test_a_history_is_news_once_and_then_what_is_new_in_it() -> None:
    seen = SeenKeys()
    told = [seen.news("local", [b"a", b"b"], 0.0), seen.news("local", [b"a", b"b", b"c"], 1.0), seen.news("local", [], 1.0)]
    assert told == [(b"a", b"b"), (b"c",), ()]


def test_after_a_minute_all_of_it_is_news_again() -> None:
    """But for what was told meanwhile."""
    seen = SeenKeys()
    seen.news("local", [b"a", b"b"], 0.0)
    seen.news("local", [b"a", b"b", b"c"], 30.0)
    assert seen.news("local", [b"a", b"b", b"c"], SEEN_AGAIN) == (b"a", b"b")


def test_what_is_told_of_one_principal_is_news_of_another() -> None:
    seen = SeenKeys()
    seen.news("local", [b"a"], 0.0)
    assert seen.news("other", [b"a"], 0.0) == (b"a",)


def test_a_fork_that_goes_another_way_is_news_from_there() -> None:
    seen = SeenKeys()
    seen.news("local", [b"a", b"b", b"c"], 0.0)
    assert seen.news("local", [b"a", b"x", b"y"], 1.0) == (b"x", b"y")


def test_what_is_remembered_is_bounded() -> None:
    seen = SeenKeys()
    seen.news("local", [b"%d" % number for number in range(MOST_SEEN + 10)], 0.0)
    assert len(seen._at) == MOST_SEEN
