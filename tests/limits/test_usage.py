"""Usage: lines of a report, their prices, and what people type."""

from decimal import Decimal

import pytest

from clew.backends.row import Backend
from clew.errors import SettingsInvalid
from clew.limits.limit import DAY
from clew.limits.usage import (
    UsageField,
    UsageGroup,
    UsageLine,
    UsageQuery,
    read_fields,
    read_since,
    total_line,
    usage_csv,
    usage_lines,
)
from clew.model.turn import TokenUsage

NOW = 1_800_000_000.0
CLAUDE = {"claude": Backend(name="claude", url="https://api.anthropic.com", realm="anthropic")}


def group(*names: str, calls: int = 1, backend: str = "claude", micro: int | None = None, **usage: int) -> UsageGroup:
    counts = TokenUsage(**usage, micro_usd=micro)
    return UsageGroup(names=names, backend=backend, model="claude-sonnet-4-5", calls=calls, usage=counts, at=NOW)


def lines(*groups: UsageGroup, by: tuple[UsageField, ...] = ("key",)) -> list[UsageLine]:
    return usage_lines(UsageQuery(by=by, since=0, until=NOW), groups, CLAUDE)


def test_prices_that_were_kept_are_added_up_and_others_are_estimated() -> None:
    found = lines(
        group("anna", micro=5, input=1),
        group("anna", micro=6, input=1),
        group("ben", calls=2, input=2000, output=2000),
        group("carl", backend="gone", input=7),
        group("ben", micro=1, input=1),
    )
    anna, ben, carl = sorted(found, key=lambda line: line.names)
    assert (anna.micro_usd, anna.is_estimated, anna.unpriced, anna.cost) == (11, False, 0, "<$0.0001")
    assert (ben.micro_usd, ben.is_estimated, ben.calls, ben.cost) == (36_001, True, 3, "≈$0.0360")
    assert (carl.micro_usd, carl.unpriced, carl.cost) == (None, 1, "?")
    total = total_line([anna, ben, carl])
    assert (total.micro_usd, total.calls, total.unpriced, total.usage.input) == (36_012, 6, 1, 2010)


def test_the_dearest_come_first_and_days_in_their_order() -> None:
    groups = (group("a", "2026-11-02", micro=1), group("b", "2026-11-01", micro=9), group("c", "2026-11-01", micro=20))
    assert [line.names[0] for line in lines(*groups, by=("key", "thread"))] == ["c", "b", "a"]
    assert [line.names[0] for line in lines(*groups, by=("key", "day"))] == ["b", "c", "a"]


def test_csv_quotes_formulas_and_has_dollars() -> None:
    text = usage_csv(("key",), lines(group("=1+1", micro=1_500_000, input=3)))
    head, row = text.splitlines()
    assert head.startswith("key,calls,input,output,")
    assert row == "'=1+1,1,3,0,0,0,,0,1.5,0,0"


@pytest.mark.parametrize(("text", "ago"), [("24h", DAY), ("7d", 7 * DAY), ("4w", 28 * DAY), ("2027-01-15", 28_800)])
def test_times_are_read(text: str, ago: float) -> None:
    assert read_since(text, NOW) == NOW - ago


@pytest.mark.parametrize("text", ["", "yesterday", "24", "9999d", "2030-01-01", "2026-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(SettingsInvalid):
        read_since(text, NOW)


def test_what_usage_cannot_be_grouped_by_is_refused_with_what_it_can() -> None:
    assert read_fields("day,key,day") == ("day", "key")
    with pytest.raises(SettingsInvalid, match="name some of key, principal, team"):
        read_fields("key,colour")


def test_money_is_exact_over_many_calls() -> None:
    (line,) = lines(*(group("anna", micro=each) for each in range(1000)))
    assert Decimal(line.micro_usd or 0) == Decimal(sum(range(1000)))
