"""What went alike is told as a row: the same lines, the same sums and the same events as if each were told alone."""

import asyncio
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.admin.feed import Feed
from clew.admin.metrics import Metrics
from clew.engine.hub import Hub
from clew.engine.log import sink as log_sink
from clew.engine.log.lines import Form, as_json, as_pairs, line_of
from clew.engine.log.request_log import RequestLog
from clew.engine.log.sink import Sink
from clew.engine.log.summary import Counts, Summaries
from clew.engine.over import Alike, Over, alike
from clew.engine.redact import Redactor
from clew.engine.turns import counts_of
from clew.model.change import Change
from clew.settings.home import Home
from clew.store.values import Exchange
from tests.admin.booth import present
from tests.counts import examples
from tests.engine.logs import Stuck, Wanted

SECRET = "canary-0123456789"
LIKE = Exchange(
    id="like", principal="local", thread="like", started=0, ended=0, asked_model="swift", backend="b", model="swift-1"
)
CHANGED = (Change("thinking", "messages.1.content.0", "left out", "made by glm"),) * 2

likes = st.builds(
    partial(replace, LIKE),
    asked_model=st.sampled_from(["swift", "a%sb", f"x{SECRET}", "zero\u200bwidth\x7f"]),
    backend=st.sampled_from(["b", "unknown"]),
    kept=st.integers(0, 3),
    changes=st.sampled_from([(), CHANGED]),
)
moments = st.integers(0, 10_000).map(lambda number: number / 64)
"""Sums of such are exact, in any order, and so are they themselves with six digits."""
counts = st.none() | st.booleans() | st.integers(-1, 10**6) | st.just("7")
names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "more")
usages = st.none() | st.lists(counts, max_size=2) | st.dictionaries(st.sampled_from(names), counts)
overs = st.builds(
    partial(Over, LIKE),
    id=st.text("0123456789abcdef", min_size=22, max_size=22),
    started=moments,
    ended=moments,
    first_byte=moments,
    usage=usages,
    stop_reason=st.none() | st.just("end_turn"),
    request_id=st.sampled_from(["", "req_1"]),
)


@given(
    st.dictionaries(st.sampled_from(names), counts)
    | st.fixed_dictionaries(dict.fromkeys(names[:4], st.sampled_from([7, 0, -1, True])))
)
@settings(max_examples=examples(200))
def test_a_count_that_is_none_counts_as_nothing(usage: dict[str, Any]) -> None:
    """Whatever is told beside it, and whatever is not."""
    told = [usage.get(name) for name in names[:4]]
    assert list(counts_of(usage)) == [value if type(value) is int and value > 0 else 0 for value in told]


@st.composite
def rows(draw: st.DrawFn) -> Alike:
    like = draw(likes)
    return row(like, *draw(st.lists(overs, min_size=1, max_size=6)))


def row(like: Exchange, *each: Over) -> Alike:
    return alike(like, [replace(over, like=like) for over in each])


def over(id: str) -> Over:
    return Over(LIKE, id, 1.0, 3.0, 0.5, {"input_tokens": 3, "output_tokens": 4}, "end_turn", "req")


def logged(form: Form, told: Alike, *, as_row: bool) -> list[str]:
    """The lines without their moment."""
    out = io.StringIO()
    sink = Sink(out, partial(line_of, redact=Redactor([SECRET]), form=form))
    log = RequestLog(Wanted(), sink=sink, known=5)
    if as_row:
        log.finished_alike(told)
    else:
        for exchange in told.exchanges():
            log.finished(exchange, None)
    sink.close()
    return [line[line.index("info" if form is as_json else "INFO") :] for line in out.getvalue().splitlines()]


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(rows(), st.sampled_from([as_json, as_pairs]))
def test_the_lines_of_a_row_are_those_of_each(told: Alike, form: Form) -> None:
    assert logged(form, told, as_row=True) == logged(form, told, as_row=False)


@pytest.mark.parametrize("form", [as_json, as_pairs])
@pytest.mark.parametrize("model", ["swift", f"x{SECRET}"])
def test_the_lines_of_a_row_say_when_it_was_told_and_not_when_they_are_written(form: Form, model: str) -> None:
    """A log that is slow must not move what happened, in whichever form, and with a secret to hide or without."""
    told = Summaries("clew", row(replace(LIKE, asked_model=model), over("a"), over("b")), Counts(0), 5)
    told.created = 3601.0
    lines = line_of(told, Redactor([SECRET]), form).splitlines()
    assert ["01:00:01" in line for line in lines] == [True, True]


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.lists(rows(), max_size=3))
def test_the_sums_of_a_row_are_those_of_each(told: list[Alike]) -> None:
    together, alone = Metrics(), Metrics()
    for metrics in (together, alone):
        metrics.know(["b"])
    for each in told:
        together.count(each)
        for exchange in each.exchanges():
            alone.count(exchange)
    assert sorted(together.text(None, 0, "1").splitlines()) == sorted(alone.text(None, 0, "1").splitlines())


def test_whoever_listens_gets_each_of_a_row_in_order(tmp_path: Path) -> None:
    async def run() -> list[tuple[str, Any]]:
        source, told = Hub(), row(LIKE, over("a"), over("b"))
        feed = Feed(source, None, tuple, present(Home(tmp_path)))
        following = asyncio.ensure_future(feed.run())
        await asyncio.sleep(0)
        async with source.subscribe() as here, feed.hub.subscribe() as there:
            source.publish("exchange", told)
            heard = [await anext(each) for each in (here, here, there, there)]
        following.cancel()
        await asyncio.wait([following])
        return [(event.id, event.value) for event in heard]

    both = [(1, over("a").exchange()), (2, over("b").exchange())]
    assert asyncio.run(run()) == [*both, *both]


def test_no_more_lines_of_rows_wait_than_may_and_all_that_are_lost_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """reliability 3.7: everything is bounded."""
    monkeypatch.setattr(log_sink, "WAITING", 3)
    out = Stuck()
    sink = Sink(out, partial(line_of, redact=Redactor(), form=as_json))
    log = RequestLog(Wanted(), sink=sink)
    log.finished_alike(row(LIKE, over("a")))
    assert out.reached.wait(120)
    log.finished_alike(row(LIKE, over("b"), over("c")))
    log.finished_alike(row(LIKE, over("d"), over("e")))
    log.finished_alike(row(LIKE, over("f")))
    out.open.set()
    sink.close()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line.get("exchange") for line in lines] == ["a", "b", "c", "f", None]
    assert lines[-1]["lost"] == 2
