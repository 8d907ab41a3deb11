"""Limits as they are typed and told, their money in whole micro-dollars, and their windows, the same for everybody."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clew.errors import SettingsInvalid
from clew.limits.limit import (
    DAY,
    HOUR,
    MICRO,
    MINUTE,
    WINDOWS,
    Limit,
    LimitScope,
    dollars,
    micro_usd,
    micro_usd_at_most,
    read_limit,
    read_scope,
    window_at,
    window_name,
)

ANNA = LimitScope("key", "anna")


@pytest.mark.parametrize(
    ("typed", "unit", "cap", "seconds", "words"),
    [
        ("5usd/1d", "usd", 5_000_000, DAY, "$5.00 per 1d"),
        ("0.000001 usd / 30d", "usd", 1, 30 * DAY, "$0.000001 per 30d"),
        ("2_000_000tokens/5h", "tokens", 2_000_000, 5 * HOUR, "2,000,000 tokens per 5h"),
        ("1REQUEST/1h", "requests", 1, HOUR, "1 requests per 1h"),
        ("60requests/1m", "requests", 60, MINUTE, "60 requests per 1m"),
        ("4parallel", "parallel", 4, 0, "4 parallel requests"),
    ],
)
def test_a_limit_is_read_as_it_is_typed(typed: str, unit: str, cap: int, seconds: int, words: str) -> None:
    limit = read_limit(ANNA, typed)
    assert (limit.unit, limit.cap, limit.seconds, limit.words) == (unit, cap, seconds, words)
    assert read_limit(ANNA, limit.amount) == limit


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("5", "is not a limit"),
        ("", "is not a limit"),
        ("5euro/1d", "is not a limit"),
        ("5usd", "a window is missing"),
        ("5usd/2d", "'2d' is not a window for usd"),
        ("5usd/1m", "'1m' is not a window for usd"),
        ("4parallel/1d", "have no window"),
        ("0parallel", "the smallest step is one"),
        ("1.5requests/1h", "the smallest step is one"),
        ("0.0000001usd/1d", "a millionth of a dollar"),
        ("1__2.3.4tokens/1d", "is not a number"),
        (f"{10**30}tokens/1d", "the most is"),
    ],
)
def test_what_is_no_limit_is_refused_in_words(typed: str, said: str) -> None:
    with pytest.raises(SettingsInvalid, match=said):
        read_limit(ANNA, typed)


@pytest.mark.parametrize("typed", ["60requests/1m", "4parallel"])
def test_what_each_gateway_keeps_for_itself_cannot_be_hard(typed: str) -> None:
    with pytest.raises(SettingsInvalid, match="cannot be hard"):
        read_limit(ANNA, typed, hard=True)


@pytest.mark.parametrize("typed", ["anna", "key:", "user:anna", "key: ", "team:\n", ""])
def test_what_names_nobody_is_refused(typed: str) -> None:
    with pytest.raises(SettingsInvalid, match="is not a scope"):
        read_scope(typed)


@given(some.sampled_from(["key", "principal", "team"]), some.text("abc :é", min_size=1).filter(str.strip))
def test_a_scope_is_read_as_it_is_written(kind: str, name: str) -> None:
    scope = read_scope(f"{kind}:{name}")
    assert str(scope) == f"{kind}:{name}"
    assert scope == LimitScope(scope.kind, name)


def test_only_what_is_added_up_over_a_window_is_a_budget() -> None:
    def is_budget(typed: str) -> bool:
        limit: Limit = read_limit(ANNA, typed)
        return limit.is_budget

    assert [is_budget(each) for each in ("5usd/1d", "5tokens/1h", "5requests/1h", "5requests/1m", "5parallel")] == [
        *(True, True, True, False, False)
    ]


@given(some.integers(min_value=0, max_value=10**15))
def test_what_is_shown_is_what_is_kept(micro: int) -> None:
    assert micro_usd(Decimal(dollars(micro)[1:].replace(",", ""))) == micro


@given(some.decimals(min_value=0, max_value=10**6, places=9))
def test_what_may_be_spent_is_never_rounded_down(usd: Decimal) -> None:
    assert micro_usd_at_most(usd) >= usd * MICRO
    assert abs(micro_usd(usd) - usd * MICRO) <= Decimal("0.5")


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
