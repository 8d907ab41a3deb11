"""Windows: when they begin and end, the same for everybody."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as some

from clew.limits.limit import DAY, HOUR, WINDOWS, window_at, window_name


@given(now=some.floats(min_value=0, max_value=4e9), seconds=some.sampled_from(list(WINDOWS.values())))
def test_every_moment_lies_in_one_window_which_follows_another(now: float, seconds: int) -> None:
    window = window_at(now, seconds)
    assert window.start <= now < window.end
    assert window.end - window.start == seconds
    assert window_at(window.start, seconds) == window
    assert window_at(window.end, seconds).start == window.end


def test_a_day_begins_at_midnight_and_a_week_on_monday() -> None:
    noon = datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp()
    assert window_at(noon, DAY).start == datetime(2026, 11, 18, tzinfo=UTC).timestamp()
    assert window_at(noon, 7 * DAY).start == datetime(2026, 11, 16, tzinfo=UTC).timestamp()
    assert window_at(noon + 61, HOUR).end == noon + HOUR


def test_windows_are_named_as_people_type_them() -> None:
    assert [window_name(seconds) for seconds in WINDOWS.values()] == [*WINDOWS]
    assert (window_name(0), window_name(7)) == ("", "7s")
