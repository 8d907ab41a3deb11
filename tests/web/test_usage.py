"""Usage: periods, groups, what a line leads to, limits beside it; times and thinking."""

import csv
import io
import re
import time
from datetime import date

import pytest
from msgspec import structs

from clew.model.turn import TokenUsage
from clew.store.values import DayAnswers, Days, DayUsage
from clew.web.usage import slot_of, slots_of
from clew.web.usage_times import by_backend_and_model, dates, percentile, plots_of
from tests.admin.booth import Booth
from tests.browser.corpus import RUN
from tests.store.turns import recorded, turn

SONNET = "claude-sonnet-4-5"
HOSTILE = f"<img src=x onerror={RUN}>"


def answers(model: str = SONNET, day: str = "2026-11-16", **more: object) -> DayAnswers:
    plain = {"asked": 4, "whole": 4, "thought": 1, "first_byte": (1.0, 2.0, 3.0, 9.0), "seconds": ()}
    return DayAnswers(day=day, backend="claude", model=model, **{**plain, **more})


def test_shares_and_percentiles_are_of_all_days() -> None:
    usage = TokenUsage(input=10, cache_read=70, cache_written=20)
    days = Days(
        spent=(DayUsage(day="2026-11-16", backend="claude", model=SONNET, calls=2, usage=usage),),
        answers=(answers(), answers(day="2026-11-15", thought=3, first_byte=(0.5,))),
    )
    (total,) = by_backend_and_model(days)
    assert (total.cached, total.thinking, total.asked) == (0.7, 0.5, 8)
    assert [total.quantile(share) for share in (0.0, 0.5, 0.9, 0.99)] == [0.5, 2.0, 9.0, 9.0]
    assert percentile((), 0.5) is None


def test_a_plot_of_times_needs_some_days() -> None:
    shown = dates(5, date(2026, 11, 16))
    days = [answers(day=day) for day in shown]
    assert plots_of(Days(answers=(*days[:2],)), shown) == []
    assert len(plots_of(Days(answers=(*days,)), shown)) == 4


def test_the_days_end_today() -> None:
    assert dates(3, date(2026, 3, 1)) == ("2026-02-27", "2026-02-28", "2026-03-01")


@pytest.mark.parametrize(("days", "bars"), [(1, 25), (7, 8), (30, 31), (365, 53)])
def test_every_hour_or_day_of_the_period_has_its_bar(days: int, bars: int) -> None:
    """The first one is there in part."""
    now = 1_795_000_000.0
    slots = slots_of(days, now)
    assert len(slots) == bars == len({*slots})
    for at in (now - days * 86_400, now - days * 40_000, now):
        name = time.strftime("%Y-%m-%dT%H" if days == 1 else "%Y-%m-%d", time.gmtime(at))
        assert slot_of(name, days) in slots


@pytest.fixture
def used(booth: Booth) -> Booth:
    """Two calls of today, one of two days ago and one older, by two keys; a limit on one of them."""
    assert booth.store is not None
    for number, (key, ago) in enumerate((("alice", 0), (HOSTILE, 0), ("alice", 2 * 86_400), ("alice", 40 * 86_400))):
        made = turn(recorded(f"r{number}", thread=f"t{number}"), at=time.time() - ago, model=f"<b>{number}")
        exchange = structs.replace(made.exchange, key=key, team="research", usage=TokenUsage(input=100, output=number))
        booth.store.record(structs.replace(made, exchange=exchange, title=f"Talk {number}")).result()
    assert booth.ask("/api/limits", method="PUT", body={"scope": "key:alice", "amount": "9requests/1d"}).status == 200
    return booth


def text(booth: Booth, path: str) -> str:
    reply = booth.ask(path)
    assert reply.status == 200
    return reply.raw.decode()


@pytest.mark.slow
def test_a_line_leads_to_what_it_is_made_of_and_has_its_limits_beside_it(used: Booth) -> None:
    page = text(used, "/usage?since=24h&by=key")
    assert '<a href="/usage?since=24h&amp;by=model&amp;key=alice">alice</a>' in page
    assert re.search(r"9 requests per 1d: <span [^>]*>[789] left<", page)
    assert "<img src=x" not in page and "&lt;img src=x" in page and "style=" not in page
    inside = text(used, "/usage?since=30d&by=model&key=alice")
    assert (
        "&lt;b&gt;0" in inside
        and "&lt;b&gt;2" in inside
        and "&lt;b&gt;1" not in inside.partition("By ")[2].partition("Limits")[0]
    )
    assert 'href="/usage?since=30d&amp;by=model"' in inside and "key: alice ×" in inside
    threads = text(used, "/usage?by=thread")
    assert '<a href="/threads/t1">Talk 1</a>' in threads


@pytest.mark.slow
def test_usage_is_shown_by_the_program_that_asked(booth: Booth) -> None:
    assert booth.store is not None
    for name, client in (("a", "Codex"), ("b", HOSTILE), ("c", "")):
        booth.store.record(turn(recorded(name), at=time.time(), client=client)).result(120)
    page = text(booth, "/usage?since=24h&by=client")
    assert '<a href="/usage?since=24h&amp;by=model&amp;client=Codex">Codex</a>' in page
    assert "not known" in page and "<img src=x" not in page and "&lt;img src=x" in page
    assert "client: Codex ×" in text(booth, "/usage?since=24h&by=model&client=Codex")


@pytest.mark.slow
def test_plots_come_with_the_second_day_and_empty_ones_never(used: Booth) -> None:
    assert '<figure class="panel plot"' not in text(used, "/usage?since=30d&by=model&model=%3Cb%3E1")
    assert text(used, "/usage?since=30d").count('<figure class="panel plot"') == 2
    assert text(used, "/usage?since=365d").count("Tokens per week") == 1


@pytest.mark.slow
def test_the_csv_has_the_same_groups_by_day(used: Booth) -> None:
    page = text(used, "/usage?since=7d&by=key&team=research")
    link = "/api/usage?since=7d&by=key%2Cday&team=research&format=csv"
    assert link.replace("&", "&amp;") in page
    rows = [*csv.DictReader(io.StringIO(text(used, link)))]
    assert sorted((row["key"], row["calls"]) for row in rows) == [(HOSTILE, "1"), ("alice", "1"), ("alice", "1")]


@pytest.mark.slow
def test_the_empty_page_teaches(kept_booth: Booth) -> None:
    assert "No requests in the last 30 days" in text(kept_booth, "/usage")
    assert "No matching requests in the last year" in text(kept_booth, "/usage?since=365d&key=nobody")


@pytest.mark.slow
@pytest.mark.parametrize("query", ["since=0", "since=31d", "by=day", "by=x", "since=" + "9" * 5000])
def test_only_the_periods_and_groups_that_there_are_can_be_asked_for(kept_booth: Booth, query: str) -> None:
    assert kept_booth.ask(f"/usage?{query}").status == 400
