"""How numbers, times and shares are shown."""

import time

import pytest

from clew.web.filters import ago, brief, clock, count, duration, percent, stamp, ticked, until, usd


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (count(1234567), "1,234,567"),
        (brief(999), "999"),
        (brief(1234567), "1.23M"),
        (brief(15_000), "15k"),
        (brief(2e9), "2G"),
        (brief(999.7), "1k"),
        (brief(999_499), "999k"),
        (brief(999_500), "1M"),
        (brief(999_999_999), "1G"),
        (brief(1234e9), "1.23T"),
        (duration(None), "–"),
        (duration(0.0421), "42 ms"),
        (duration(0.0001), "<1 ms"),
        (duration(3.25), "3.2 s"),
        (duration(0.9997), "1.0 s"),
        (duration(59.97), "1 min 0 s"),
        (duration(95), "1 min 35 s"),
        (duration(119.6), "2 min 0 s"),
        (percent(None), "–"),
        (percent(0.876), "88%"),
        (usd(None), "–"),
        (usd(0.0), "$0.00"),
        (usd(0.00123), "$0.0012"),
        (usd(0.00001), "<$0.0001"),
        (usd(0.00001, estimated=True), "≈ <$0.0001"),
        (usd(0.99996), "$1.00"),
        (usd(1234.5, estimated=True), "≈ $1,234.50"),
        (ago(100, now=103.2), "3 s ago"),
        (ago(100, now=99), "0 s ago"),
        (ago(0, now=7300), "2 h ago"),
        (ago(0, now=200_000), "2 d ago"),
        (until(100, now=96.5), "4 s"),
        (until(100, now=103), "0 s"),
        (until(10_900, now=0), "3 h"),
        (until(3700, now=0), "61 min"),
        (clock(time.mktime((2001, 2, 3, 4, 5, 6, 0, 0, -1))), "2001-02-03 04:05"),
        (ticked("run `clew <x>` & look"), "run <code>clew &lt;x&gt;</code> &amp; look"),
        (ticked("a lone ` <b>"), "a lone ` &lt;b&gt;"),
        (stamp(0), "1970-01-01T00:00:00.000Z"),
    ],
)
def test_a_value_is_shown_as_people_read_it(made: str, shown: str) -> None:
    assert made == shown
