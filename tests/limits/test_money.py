"""Money: whole micro-dollars."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as some

from clew.limits.limit import MICRO, dollars, micro_usd, micro_usd_at_most


@given(some.integers(min_value=0, max_value=10**15))
def test_what_is_shown_is_what_is_kept(micro: int) -> None:
    assert micro_usd(Decimal(dollars(micro)[1:].replace(",", ""))) == micro


@given(some.decimals(min_value=0, max_value=10**6, places=9))
def test_what_may_be_spent_is_never_rounded_down(usd: Decimal) -> None:
    assert micro_usd_at_most(usd) >= usd * MICRO
    assert abs(micro_usd(usd) - usd * MICRO) <= Decimal("0.5")
