"""Usage: sums, prices, percentiles; as a page and as CSV."""

import csv
import io
import time
from datetime import date
from decimal import Decimal

import pytest

from clew.backends.row import Backend
from clew.chat.prices import Cost
from clew.model.turn import TokenUsage
from clew.store.values import DayAnswers, Days, DayUsage
from clew.web.usage import COLUMNS, _csv, by_backend_and_model, dates, percentile
from tests.admin.booth import Booth
from tests.store.turns import recorded, turn

CLAUDE = Backend(name="claude", url="https://api.anthropic.com", realm="anthropic")
SONNET = "claude-sonnet-4-5"


def spent(model: str = SONNET, backend: str = "claude", calls: int = 2, **usage: int) -> DayUsage:
    return DayUsage(day="2026-11-16", backend=backend, model=model, calls=calls, usage=TokenUsage(**usage))


def answers(model: str = SONNET, day: str = "2026-11-16", **more: object) -> DayAnswers:
    plain = {"asked": 4, "whole": 4, "thought": 1, "first_byte": (1.0, 2.0, 3.0, 9.0), "seconds": ()}
    return DayAnswers(day=day, backend="claude", model=model, **{**plain, **more})


def test_the_calls_of_a_group_are_priced_like_its_average_one() -> None:
    """A prompt above 200,000 tokens costs more: two short ones together do not."""
    short = spent(input=300_000, output=2000)
    (total,) = by_backend_and_model(Days(spent=(short,)), {"claude": CLAUDE})
    assert total.cost == Cost(Decimal("0.93"), estimated=False)


def test_a_price_that_nobody_knows_is_none_and_makes_a_sum_an_estimate() -> None:
    days = Days(spent=(spent("nobody-knows", "other", input=10), spent(input=1_000_000, calls=10)))
    known, unknown = by_backend_and_model(days, {"claude": CLAUDE})
    assert (known.cost is not None, unknown.cost) == (True, None)


def test_shares_and_percentiles_are_of_all_days() -> None:
    days = Days(
        spent=(spent(input=10, cache_read=70, cache_written=20),),
        answers=(answers(), answers(day="2026-11-15", thought=3, first_byte=(0.5,))),
    )
    (total,) = by_backend_and_model(days, {})
    assert (total.cached, total.thinking, total.asked) == (0.7, 0.5, 8)
    assert [total.quantile(share) for share in (0.0, 0.5, 0.9, 0.99)] == [0.5, 2.0, 9.0, 9.0]
    assert percentile((), 0.5) is None


def test_the_days_end_today() -> None:
    assert dates(3, date(2026, 3, 1)) == ("2026-02-27", "2026-02-28", "2026-03-01")


def test_the_csv_has_a_line_for_each_day_and_model_and_no_formula() -> None:
    """A model's name is a client's or a backend's word."""
    days = Days(spent=(spent("=cmd|' /C calc'!A0", input=1), spent(input=20, output=4)), answers=(answers(),))
    first, *rows = csv.reader(io.StringIO(_csv(days, {})))
    assert tuple(first) == COLUMNS
    assert [row[2] for row in rows] == ["'=cmd|' /C calc'!A0", SONNET]
    assert dict(zip(COLUMNS, rows[1], strict=True)) == {
        "day": "2026-11-16",
        "backend": "claude",
        "model": SONNET,
        "calls": "2",
        "input": "20",
        "output": "4",
        "cache_read": "0",
        "cache_written": "0",
        "counts_estimated": "False",
        "usd": "0.00012",
        "usd_estimated": "False",
        "asked": "4",
        "whole": "4",
        "thought": "1",
        "first_byte_p50": "3.0",
        "first_byte_p90": "9.0",
        "first_byte_p99": "9.0",
    }


@pytest.mark.slow
def test_the_page_shows_sums_plots_and_the_table(booth: Booth) -> None:
    assert booth.store is not None
    booth.store.record(turn(recorded("r"), at=time.time(), model="<b>model</b>")).result()
    page = booth.ask("/usage?days=7").raw.decode()
    assert page.count('<figure class="panel plot"') >= 5
    assert "&lt;b&gt;model" in page and "<b>model" not in page and "style=" not in page
    assert '<option value="7" selected>' in page and 'href="/usage.csv?days=7&amp;principal=local"' in page
    reply = booth.ask("/usage.csv?days=7")
    assert reply.headers["content-type"].startswith("text/csv")
    assert reply.headers["content-disposition"].startswith('attachment; filename="clew-usage-')
    assert len(reply.raw.splitlines()) == 2


@pytest.mark.slow
def test_the_empty_page_teaches(kept_booth: Booth) -> None:
    assert "Nothing was used in the last 30 days" in kept_booth.ask("/usage").raw.decode()


@pytest.mark.slow
@pytest.mark.parametrize("days", ["0", "31", "-7", "x", "9" * 5000, "0007999999999"])
def test_only_the_periods_that_there_are_can_be_asked_for(kept_booth: Booth, days: str) -> None:
    assert kept_booth.ask(f"/usage?days={days}").status == 400
