"""What the gateway's bench is made of: its stream is legal, its tables say what was measured, its clock loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.stream import ChatStream
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

BESIDE = """
import sys, threading, time
def burn(seconds, then):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    then.wait()
over = threading.Barrier(3)
for seconds in (0.1, 0.0):
    threading.Thread(target=burn, args=(seconds, over), daemon=True).start()
while over.n_waiting < 2:
    pass
print("burnt", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """Modules of bench/, which are scripts beside each other and no package."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    before = set(sys.modules)
    names = ("traffic", "figures", "machine", "cases", "plot", "history", "sessions", "commits", "measuring", "gateway")
    yield {name: import_module(name) for name in names}
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(ROOT / "bench") in str(sys.modules[name].__file__):
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

    assert "×)" not in figures.markdown(figures.Figures(("clew",), (case,), (), ".", compared=False))


def test_a_target_that_has_no_part_in_a_case_has_an_empty_cell(bench: dict[str, ModuleType]) -> None:
    figures = bench["figures"]
    case = figures.Row("small JSON", ("10 µs", ""), "", ratios_of=(10.0, None))

    assert "| small JSON | 10 µs (1.00×) |  |  |" in figures.markdown(figures.Figures(("nginx", "peer"), (case,), (), "."))


def test_the_plot_has_a_bar_for_each_target_and_its_ratio(bench: dict[str, ModuleType]) -> None:
    figures = bench["figures"]
    case = figures.Row("a <stream>", ("10 µs", "25 µs", ""), "", ratios_of=(10.0, 25.0, None))
    drawn = bench["plot"].drawn(figures.Figures(("nginx", "clew", "peer"), (case,), (), "."))

    texts = [element.text for element in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["nginx", "clew", "peer", "1×", "2×", "a <stream>", "1.0", "2.5"]


def test_a_call_is_legal_in_both_dialects_and_says_the_same(bench: dict[str, ModuleType]) -> None:
    told = "".join(bench["traffic"].tool_events(300)).encode()
    assembler = Assembler(STRICT)
    for event in map(decode_event, SseReader().feed(told)):
        assembler.feed(event)
    chunks = "".join(bench["traffic"].tool_chunks(300)).encode()
    stream = ChatStream(Asked("m"))

    [own] = assembler.message()["content"]
    [translated] = assemble([*stream.feed(chunks), *stream.flush()])["content"]
    assert (told.count(b"\n\n"), chunks.count(b"\n\n")) == (300, 300)
    assert own["name"] == translated["name"] == "Write"
    assert len(own["input"]["content"]) > 2000 < len(translated["input"]["content"])


def test_a_history_that_was_never_seen_begins_anew_each_time_and_the_next_turn_does_not(
    bench: dict[str, ModuleType],
) -> None:
    """The load puts a number where ten zeros are: at the beginning nothing before it is known, at the end all is."""
    talk, stamp = bench["history"].Talk(20_000, foreign_every=0), b"0000000000"
    cases = {case.key: case for case in bench["cases"].CASES}
    fresh, known = (bench["traffic"].body_of(cases[key], "m", talk) for key in ("big", "big-known"))

    assert (fresh.count(stamp), known.count(stamp)) == (2, 1)
    assert fresh.index(stamp) < len(fresh) / 2
    assert known.index(stamp) > len(known) - 200
    assert b"answer:stream pace:0" in known[-200:]


def test_a_session_tells_again_what_it_heard(bench: dict[str, ModuleType]) -> None:
    """The answer goes back as its stream said it, with the result of its call behind it, and nothing before it changes."""
    session = bench["sessions"].Session(bench["history"].Talk(20_000, foreign_every=0), 7)
    first = json.loads(session.body())
    stream = "".join(bench["traffic"].agent_events(300)).encode()
    session.hear(stream)
    second = json.loads(session.body())

    assembler = Assembler(STRICT)
    for event in map(decode_event, SseReader().feed(stream)):
        assembler.feed(event)
    *before, answer, results = second["messages"]
    assert before == first["messages"]
    assert answer == {"role": "assistant", "content": assembler.message()["content"]}
    assert [block["type"] for block in answer["content"]] == ["thinking", "tool_use"]
    assert results["content"][0]["tool_use_id"] == answer["content"][1]["id"]
    assert {**second, "messages": []} == {**first, "messages": []}


@pytest.mark.slow
def test_the_commit_has_a_row_of_its_own(
    bench: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times and ratios, at once and after a pause; the column is that of the gateway with a store."""
    commits, gateway = bench["commits"], bench["gateway"]
    monkeypatch.setattr(commits, "BATCH", 3)
    measured = commits.Commits(tmp_path)
    measured.batch()

    row = gateway._commit_row(SimpleNamespace(commits=measured, names=["nginx", gateway.OFF, gateway.ON]))
    once, paused = measured.at_once, measured.paused
    assert all(taken > 0 for [taken] in (once.bare, once.store, paused.bare, paused.store))
    told = [f"{each.store[0]:,.0f} µs ({each.store[0] / each.bare[0]:.2f}×)" for each in (once, paused)]
    assert row.cells == ("", "", "; ".join(told))


def test_what_a_store_costs_is_said_beside_bare_commits(bench: dict[str, ModuleType]) -> None:
    """Its thread under load beside commits in a row, and one after the other beside those with a pause; then all of it."""
    gateway, measuring = bench["gateway"], bench["measuring"]
    spent = {("stream", gateway.ON): (0.9, 0.3), ("alone", gateway.ON): (1.2, 0.4)}
    spent |= {("stream", gateway.OFF): (0.3, 0.01), ("alone", gateway.OFF): (0.4, 0.01)}
    measured = measuring.Bench.__new__(measuring.Bench)
    measured.samples = {key: [measuring.Sample(cpu, SimpleNamespace(done=1000), own)] for key, (cpu, own) in spent.items()}
    commits = SimpleNamespace(at_once=SimpleNamespace(bare=[200.0]), paused=SimpleNamespace(bare=[400.0]))
    given = SimpleNamespace(bench=measured, commits=commits, names=["nginx", gateway.OFF, gateway.ON])

    assert gateway._writer_row(given).cells == ("", "", "300 µs (1.50× of 200); 400 µs (1.00× of 400)")
    assert gateway._added_row(given).cells == ("", "", "600 µs (3.00×); 800 µs (4.00×)")
    assert gateway._added_row(given).goal == "≤ 1.5×; aim 1.2×"


@pytest.mark.slow
def test_the_time_of_a_thread_is_that_of_no_other(bench: dict[str, ModuleType]) -> None:
    """Two threads at the same time, one of them busy; and what a process began with is not told at all."""
    with subprocess.Popen([sys.executable, "-c", BESIDE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "burnt\n"
        spent = bench["machine"].aside_of([child.pid])
        child.communicate("\n")
    idle, busy = sorted(spent.values())
    assert child.pid not in spent
    assert idle < 0.05
    assert 0.1 <= busy < 0.15


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "given", "told"),
    [
        ("core.py", ("--rounds", "1"), "stream of 300 events"),
        ("store.py", ("--rounds", "1", "--blocks", "10"), "one look-up"),
        *((script, ("--help",), "usage: ") for script in ("gateway.py", "compare.py", "peers.py", "policies.py")),
    ],
)
def test_a_script_still_runs(script: str, given: tuple[str, ...], told: str) -> None:
    """Nobody else calls what they call. Those that need a compiler, a peer or minutes are only loaded, with all they use."""
    ran = subprocess.run(
        [sys.executable, str(ROOT / "bench" / script), *given], capture_output=True, text=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert told in ran.stdout
