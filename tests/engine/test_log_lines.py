"""The thread that writes: bounded, counted, and not ended by one bad line."""

import io
import json
import logging
import sys
from functools import partial

import pytest

from clew.engine.log import sink as log_sink
from clew.engine.log.lines import LONGEST, as_json, line_of
from clew.engine.log.sink import Sink
from clew.exchange.redact import Redactor
from tests.engine.logs import Stuck
from tests.manifest import proves

LINE = partial(line_of, redact=Redactor(), form=as_json)


def record(message: str, **more: object) -> logging.LogRecord:
    made = logging.LogRecord("clew", logging.INFO, "", 0, message, None, None)
    made.__dict__.update({"fields": {}, **more})
    return made


@pytest.mark.slow
@proves("fault:X18")
def test_a_blocked_output_costs_nobody_time_and_the_loss_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """reliability 3.7: everything is bounded."""
    monkeypatch.setattr(log_sink, "WAITING", 3)
    out = Stuck()
    sink = Sink(out, LINE)
    sink.emit(record("first"))
    assert out.reached.wait(120)
    for number in range(5):
        sink.emit(record(f"waiting {number}"))
    out.open.set()
    sink.close()
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["event"] for line in events[:4]] == ["first", "waiting 0", "waiting 1", "waiting 2"]
    assert events[4]["lost"] == 2


def test_bodies_that_wait_are_bounded_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_sink, "WAITING_BYTES", 10)
    out = io.StringIO()
    sink = Sink(out, LINE)
    sink.emit(record("large", raw=b"x" * 11))
    sink.emit(record("small", raw=b"{}"))
    sink.close()
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["event"] for line in events if "lost" not in line] == ["small"]
    assert sum(line.get("lost", 0) for line in events) == 1


def test_a_record_that_cannot_be_written_does_not_end_the_log() -> None:
    out = io.StringIO()
    sink = Sink(out, LINE)
    sink.emit(record("%d", args=("no number",)))
    sink.emit(record("next"))
    sink.close()
    assert [json.loads(line)["event"] for line in out.getvalue().splitlines()] == ["log", "next"]


def test_an_output_that_is_gone_raises_nothing() -> None:
    out = io.StringIO()
    out.close()
    sink = Sink(out, LINE)
    sink.emit(record("lost"))
    sink.close()


def test_a_flush_waits_until_all_is_written() -> None:
    out = io.StringIO()
    sink = Sink(out, LINE)
    for number in range(100):
        sink.emit(record(str(number)))
    sink.flush()
    assert out.getvalue().count("\n") == 100
    sink.close()


def test_a_secret_at_the_cut_of_a_long_field_is_not_half_shown() -> None:
    """The text is cleaned before it is cut."""
    line = partial(line_of, redact=Redactor(["canary-0123456789"]), form=as_json)
    long = "x" * (LONGEST - 8) + "canary-0123456789"
    assert "canary" not in line(record("long", fields={"why": long}))
    try:
        raise ValueError("canary-0123456789" + "x" * (LONGEST - 8))
    except ValueError:
        told = logging.LogRecord("asyncio", logging.ERROR, "", 0, "oops", None, sys.exc_info())
    assert "0123456789" not in line(told)
