"""What is no CPU of one request: time to the first content, memory, bytes on disk, and what a session costs as it grows."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Iterator

from cases import BESIDE, FIRST, SESSION
from claude_code import ClaudeCode
from columns import CLEW, OFF, names_of, row_of
from figures import Row
from loads import Load
from machine import rss_of, settle
from measuring import Bench, Sample
from progress import say
from sessions import FIRST_NUMBER, LONG, Caller, Session, Sessions, answered
from targets import Target, running

__all__ = ["beside_rows", "first_rows", "idle_rows", "lasting_rows", "long_rows"]

IDLE_STREAMS = 400
"""Fewer than a gateway takes by default."""
BESIDE_SECONDS = 4.0
MANY, EACH, RESULT = 50, 200, 1000
"""Sessions and turns of each, 10,000 in all, and the letters that a tool brings in each of them."""
FIRST_LONG, FIRST_LASTING = FIRST_NUMBER + 1_000_000, FIRST_NUMBER + 2_000_000


def first_rows(bench: Bench) -> Iterator[Row]:
    """The time to the first content, over that of asking the backend itself."""
    for share, goal in ((50, 0.5), (99, 2.0)):
        name = f"added time to first content, p{share}"
        yield _first_row(bench, FIRST.key, f"first-{share}", name, share, goal)


def beside_rows(bench: Bench) -> Iterator[Row]:
    """The same while others are answered. It is measured here, once: no CPU can be told apart."""
    for target in (*bench.targets, bench.direct):
        others = threading.Thread(target=_others, args=(bench, target))
        others.start()
        time.sleep(BESIDE_SECONDS / 4)
        found = bench.loads.run(FIRST, target, FIRST.requests)
        others.join()
        if found.bad:
            sys.exit(f"{target.name}, beside others: {found}")
        bench.samples[BESIDE.key, target.name] = [Sample(0.0, found)]
        say(f"time to first content beside others: {target.name}")
    for share, goal in ((50, 0.5), (99, 2.0)):
        name = f"the same while {BESIDE.connections} sessions are answered, p{share}"
        yield _first_row(bench, BESIDE.key, f"beside-{share}", name, share, goal)


def _others(bench: Bench, target: Target) -> None:
    bench.loads.run(BESIDE, target, 10_000, seconds=BESIDE_SECONDS)


def _first_row(bench: Bench, case: str, key: str, name: str, share: int, goal: float) -> Row:
    def taken(target: str) -> float:
        found: list[Load] = [sample.found for sample in bench.samples[case, target]]
        return statistics.median(getattr(each, f"content_p{share}") for each in found)

    added = {each: (taken(each) - taken("direct")) / 1000 for each in names_of(bench)}
    return row_of(key, name, added, names_of(bench), " ms", ".2f", goal, goal)


def long_rows(bench: Bench) -> Iterator[Row]:
    """A session ten times as long as the usual one; and what a turn of it leaves on the disk."""
    sessions, before = Sessions(bench, LONG, FIRST_LONG), {each.name: each.disk_bytes() for each in bench.targets}
    sessions.measure(0)
    names, turns = names_of(bench), LONG.many * LONG.turns
    growth = {each: sessions.growth(each, 1) for each in names}
    yield row_of("long", f"session of {LONG.turns} turns: its last 40, × its first 40", growth, names, "×", ".2f")
    left = {each.name: (each.disk_bytes() - before[each.name]) / turns / 1024 for each in bench.targets}
    kept = {each: size for each, size in left.items() if each == CLEW}
    yield row_of("disk", "on disk for a turn of it", kept, names, " KB", ".1f")


def lasting_rows(bench: Bench) -> Iterator[Row]:
    """What a process holds after many turns of many sessions, and how much of that came in the second half."""
    held: dict[str, float] = {}
    grown: dict[str, float] = {}
    with bench.serving():
        for target in bench.targets:
            if target.name in (CLEW, OFF):
                with running(target):
                    half, whole = _held_after(target)
                held[target.name], grown[target.name] = whole / 1024, (whole - half) / 1024
    names, words = names_of(bench), f"{MANY * EACH:,} turns of {MANY} sessions"
    yield row_of("lasting", f"resident after {words}", held, names, " MB", ".0f", 160, 160)
    yield row_of("lasting-growth", "of which since the first half of them", grown, names, " MB", "+.0f")


def _held_after(target: Target) -> tuple[float, float]:
    """Kilobytes after half of the turns, and after all."""
    client, found = ClaudeCode(SESSION.answer), list[float]()
    callers = [Caller(target, Session(client, FIRST_LASTING + each, RESULT)) for each in range(MANY)]
    for turn in range(1, EACH + 1):
        answered(callers)
        if turn in (EACH // 2, EACH):
            settle(target.pids, 1.0, most=10.0)
            found.append(rss_of(target.pids))
        if turn % (EACH // 8) == 0:
            say(f"{turn * MANY:,} of {EACH * MANY:,} turns of {MANY} sessions with {target.name}")
    for caller in callers:
        caller.close()
    half, whole = found
    return half, whole


def idle_rows(bench: Bench) -> Iterator[Row]:
    """At rest, for each stream that says nothing, and how long it takes to start."""
    names, memory, starts = names_of(bench), bench.memory(IDLE_STREAMS), bench.starts()
    yield row_of("at rest", "at rest", {each: memory[each][0] / 1024 for each in names}, names, " MB", ".0f", 48, 48)
    held = {each: memory[each][1] for each in names}
    yield row_of("idle", f"for each of {IDLE_STREAMS} idle streams", held, names, " KB", ".1f", 13, 8)
    listening = {each: statistics.median(starts[each]) for each in names}
    yield row_of("start", "listening after", listening, names, " s", ".2f", 0.6, 0.6)
