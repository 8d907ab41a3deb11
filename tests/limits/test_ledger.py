"""The ledger: whether there is room, and what is counted."""

from clew.limits.ledger import CountedWindow, LimitLedger, Overrun, WindowTotal
from clew.limits.limit import DAY, HOUR, Amounts, Limit, LimitScope, amounts_of, read_limit
from clew.model.turn import Charge, TokenUsage

ANNA, TEAM = LimitScope("key", "anna"), LimitScope("team", "web")
NOON = 1_800_014_400.0
"""The beginning of an hour."""


def ledger_with(*limits: Limit) -> LimitLedger:
    ledger = LimitLedger()
    ledger.set_limits(limits)
    return ledger


def test_a_soft_limit_refuses_once_its_cap_is_reached_and_says_when_its_window_ends() -> None:
    limit = read_limit(ANNA, "1usd/1h")
    ledger = ledger_with(limit)
    assert ledger.overrun([limit], now=0, wall=NOON) is None
    ledger.charge([limit], Amounts(999_999, 10, 1), NOON + 1)
    assert ledger.overrun([limit], now=0, wall=NOON + 1) is None
    ledger.charge([limit], Amounts(1, 10, 1), NOON + 2)
    found = ledger.overrun([limit], now=0, wall=NOON + 600)
    assert found is not None
    assert (found.used, found.wait) == (1_000_000, HOUR - 600)
    assert found.words == (
        "The limit of the key 'anna' is reached: $1.00 per 1h (used: $1.00). Its 1h window ends in 50 min."
    )
    assert ledger.overrun([limit], now=0, wall=NOON + HOUR) is None


def test_a_hard_limit_says_what_the_request_may_use() -> None:
    found = Overrun(limit=read_limit(TEAM, "3000tokens/1d", hard=True), used=1234, wait=7200, wanted=2000)
    assert found.words == (
        "The limit of the team 'web' leaves no room for this request, which may use 2,000: 3,000 tokens per 1d (used: 1,234). "
        "Its 1d window ends in 2 h."
    )


def test_what_others_used_counts_as_the_store_said_last() -> None:
    limit = read_limit(TEAM, "100tokens/1d")
    ledger = ledger_with(limit)
    ledger.charge([limit], Amounts(0, 30, 1), NOON)
    counted = CountedWindow("team:web", DAY, int(NOON // DAY * DAY))
    ledger.learn({counted: WindowTotal(own=Amounts(0, 30, 1), others=Amounts(0, 69, 2))})
    assert ledger.used(limit, NOON) == 99
    ledger.charge([limit], Amounts(0, 1, 1), NOON)
    assert ledger.used(limit, NOON) == 100
    assert ledger.overrun([limit], now=0, wall=NOON) is not None


def test_what_the_store_has_under_this_process_counts_though_an_earlier_one_used_it() -> None:
    limit = read_limit(ANNA, "100tokens/1d")
    ledger = ledger_with(limit)
    counted = CountedWindow("key:anna", DAY, int(NOON // DAY * DAY))
    ledger.learn({counted: WindowTotal(own=Amounts(0, 40, 1))})
    assert ledger.used(limit, NOON) == 40


def test_one_charge_is_made_for_each_window_of_each_scope() -> None:
    limits = [read_limit(ANNA, "1usd/1d"), read_limit(ANNA, "5tokens/1d"), read_limit(ANNA, "1usd/1h")]
    limits += [read_limit(TEAM, "9usd/1d"), read_limit(ANNA, "60requests/1m"), read_limit(ANNA, "2parallel")]
    day = int(NOON // DAY * DAY)
    assert ledger_with(*limits).charge(limits, Amounts(7, 8, 1), NOON) == (
        Charge("key:anna", DAY, day, 7, 8, 1),
        Charge("key:anna", HOUR, int(NOON), 7, 8, 1),
        Charge("team:web", DAY, day, 7, 8, 1),
    )


def test_requests_count_while_they_are_under_way() -> None:
    limit = read_limit(ANNA, "2requests/1h")
    ledger = ledger_with(limit)
    for _ in range(2):
        assert ledger.overrun([limit], now=0, wall=NOON) is None
        ledger.begin([limit], now=0)
    assert ledger.overrun([limit], now=0, wall=NOON) is not None
    ledger.end([limit])  # it was refused by its backend, and used nothing
    assert ledger.overrun([limit], now=0, wall=NOON) is None


def test_a_rate_is_spread_over_the_minute_and_shared_by_gateways() -> None:
    limit = read_limit(ANNA, "60requests/1m")

    def admitted(gateways: int) -> int:
        ledger, count = ledger_with(limit), 0
        for tick in range(600):  # a minute, ten requests a second
            if ledger.overrun([limit], now=tick / 10, wall=NOON, gateways=gateways) is None:
                ledger.begin([limit], now=tick / 10, gateways=gateways)
                count += 1
        return count

    assert 60 <= admitted(1) <= 70
    assert 30 <= admitted(2) <= 35


def test_of_several_limits_the_one_that_lasts_longest_is_told() -> None:
    limits = [read_limit(ANNA, "1tokens/1h"), read_limit(TEAM, "1tokens/7d"), read_limit(ANNA, "1tokens/1d")]
    ledger = ledger_with(*limits)
    ledger.charge(limits, Amounts(0, 1, 1), NOON)
    found = ledger.overrun(limits, now=0, wall=NOON)
    assert found is not None
    assert found.limit == limits[1]


def test_hard_limits_are_left_to_the_store() -> None:
    limit = read_limit(ANNA, "0tokens/1h", hard=True)
    assert ledger_with(limit).overrun([limit], now=0, wall=NOON) is None


def test_windows_that_are_over_are_forgotten() -> None:
    limit = read_limit(ANNA, "5tokens/1h")
    ledger = ledger_with(limit)
    ledger.charge([limit], Amounts(0, 5, 1), NOON)
    assert ledger.used(limit, NOON) == 5
    for hour in range(1, 9):
        ledger.charge([limit], Amounts(0, 5, 1), NOON + hour * HOUR)
    assert ledger.used(limit, NOON) == 0
    assert ledger.used(limit, NOON + 8 * HOUR) == 5


def test_a_call_uses_all_tokens_of_its_prompt_and_its_answer() -> None:
    usage = TokenUsage(input=1, output=20, cache_read=300, cache_written=4000)
    assert amounts_of(usage, 55) == Amounts(55, 4321, 1)
    assert amounts_of(usage, None) == Amounts(0, 4321, 1)
    assert amounts_of(None, None) == Amounts()
