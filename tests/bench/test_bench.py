"""What the gateway's bench is made of: its stream is legal, its tables say what was measured, its clock loses nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

from clew.dialects.openai_chat.decoder import Asked
from clew.dialects.openai_chat.stream import ChatStream
from clew.model.assemble import Assembler, assemble
from clew.model.lifecycle import STRICT
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.test_manifest import ROOT

BURN = """
import sys, threading, time
def burn():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
sys.stdin.readline()
for _ in range(3):
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
print("burnt", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """Modules of bench/, which are scripts beside each other and no package."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    yield {name: import_module(name) for name in ("traffic", "figures", "machine")}
    for name in ("traffic", "figures", "machine"):
        sys.modules.pop(name)


@pytest.mark.parametrize("count", [10, 300])
def test_the_stream_is_legal_and_as_long_as_it_says(bench: dict[str, ModuleType], count: int) -> None:
    written = "".join(bench["traffic"].events(count)).encode()
    events = [decode_event(each) for each in SseReader().feed(written)]
    assembler = Assembler(STRICT)
    for event in events:
        assembler.feed(event)

    thoughts, texts = bench["traffic"].said(count)
    thinking, text = assembler.message()["content"]
    assert len(events) == count
    assert (thinking["type"], thinking["thinking"]) == ("thinking", "".join(thoughts))
    assert (text["type"], text["text"]) == ("text", "".join(texts))


def test_the_stream_of_chunks_is_as_long_and_says_words_of_the_same_kind(bench: dict[str, ModuleType]) -> None:
    written = "".join(bench["traffic"].chunks(300)).encode()
    stream = ChatStream(Asked("m"))
    thinking, text = assemble([*stream.feed(written), *stream.flush()])["content"]

    thoughts, texts = bench["traffic"].said(305)
    assert written.count(b"\n\n") == 300
    assert (thinking["type"], thinking["thinking"]) == ("thinking", "".join(thoughts))
    assert (text["type"], text["text"]) == ("text", "".join(texts))


def test_a_table_names_the_cost_and_its_ratio_to_nginx(bench: dict[str, ModuleType]) -> None:
    figures = bench["figures"]
    case = figures.Row("small JSON", ("10 µs", "25 µs"), "≤ 3×", ratios_of=(10.0, 25.0))
    extra = figures.Row("at rest", ("9 MB", "30 MB"), "< 80 MB")

    told = figures.markdown(figures.Figures(("nginx", "clew"), (case,), (extra,), "5 rounds."))

    assert told.splitlines() == [
        "| CPU for one request | nginx | clew | goal |",
        "| --- | --- | --- | --- |",
        "| small JSON | 10 µs (1.00×) | 25 µs (2.50×) | ≤ 3× |",
        "",
        "|  | nginx | clew | goal |",
        "| --- | --- | --- | --- |",
        "| at rest | 9 MB | 30 MB | < 80 MB |",
        "",
        "5 rounds.",
    ]


def test_without_nginx_there_are_no_ratios(bench: dict[str, ModuleType]) -> None:
    figures = bench["figures"]
    case = figures.Row("small JSON", ("25 µs",), "≤ 3×", ratios_of=(25.0,))

    assert "×)" not in figures.markdown(figures.Figures(("clew",), (case,), (), "."))


@pytest.mark.slow
def test_the_clock_keeps_the_time_of_threads_that_have_ended(bench: dict[str, ModuleType]) -> None:
    """A sum over the threads that are there would say nothing of 0.3 s."""
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        before = bench["machine"].cpu_of([child.pid])
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "burnt\n"
        spent = bench["machine"].cpu_of([child.pid]) - before
        child.stdin.write("\n")
    assert 0.3 <= spent < 1.0
