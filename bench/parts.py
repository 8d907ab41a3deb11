"""`python bench/parts.py`: where the CPU of a request goes, by the parts of the gateway, with default settings.

`clew serve` runs with clocks around the functions that stand for its parts (`part_clocks`). A part has what its functions
take without the other parts inside them. What no part has is a thread's rest: the event loop itself, calls of the kernel
outside of all parts, and callbacks. Clocks make a run slower, but for what is taken off, so read the shares; what a request
costs in all is measured in a second run without clocks.

    python bench/parts.py [--only session json-many …] [--store-off] [--keep]
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES, SESSION, Case
from claude_code import ClaudeCode
from columns import STORE_OFF
from figures import keep
from gateway import OUT, raise_limits, remark
from grown import grow
from machine import Others, cpu_of, settle
from measuring import Bench
from sessions import FIRST_NUMBER, USUAL, Caller, Session, answered
from targets import Target, clew

__all__ = ["PARTS", "STATEMENTS"]

PARTS: dict[str, tuple[str, ...]] = {
    "reads the client's HTTP": ("clew.http.connection:Connection.data_received",),
    "checks host, route, key and content type": ("clew.gateway.plane:DataPlane.check",),
    "reads the request": ("clew.engine.histories:Histories.read", "clew.engine.histories:Histories.recall"),
    "finds its recordings": ("clew.engine.gathering:recall", "clew.engine.gathering:gather"),
    "chooses the route": ("clew.engine.preparing:_routes",),
    "projects": ("clew.pipeline.project:project",),
    "writes the request": ("clew.exchange.notes:ExchangeNotes.goes",),
    "begins the exchange": (
        "clew.engine.engine:Engine.answer",
        "clew.engine.preparing:Preparation._make_exchange",
        "clew.engine.driver:Driver.begin",
    ),
    "drives the exchange": ("clew.engine.driver:Driver.news",),
    "asks the backend": ("clew.exchange.heads:outgoing_head", "clew.engine.backend_call:BackendCall.ask"),
    "reads the backend's HTTP": (
        "clew.http.client.connection:ClientConnection._take_in",
        "clew.http.client.exchange:StreamedExchange.data_received",
    ),
    "relays the answer": (
        "clew.pipeline.stream.passthrough:PassedAnswer.feed",
        "clew.pipeline.stream.translation:TranslatedAnswer.feed",
        "clew.exchange.whole:_read",
    ),
    "folds the answer": ("clew.exchange.streamed:StreamedAnswer.heard",),
    "makes the recording": ("clew.exchange.turns:recording_for",),
    "makes the exchange's row": ("clew.exchange.notes:ExchangeNotes.turn",),
    "shows heads, for bodies": ("clew.exchange.heads:kept_heads",),
    "hands the turn to the store": (
        "clew.store.base:DatabaseStore._record",
        "clew.engine.driver:Driver.commit",
    ),
    "marks blocks as seen": ("clew.engine.process_memory:SeenKeys.news",),
    "tells log, metrics and feed": ("clew.engine.services:EngineServices.tell",),
    "writes to sockets": ("clew.http.transport_writer:WriteBatch.end",),
}
"""The functions of each part, which are called by the event loop or by the threads of large requests."""

STATEMENTS: dict[str, tuple[str, ...]] = {
    "the exchange's row, its thread and its usage": ("clew.store.sqlite.writes:record",),
    "the recording and its marks": ("clew.store.sqlite.writes:_add_recording",),
    "marks of seen blocks": ("clew.store.sqlite.writes:touch",),
    "bodies: their rows": ("clew.store.sqlite.statements:add_bodies",),
    "the transaction around it": ("clew.store.sqlite.writer:Writer._transact",),
    "telling who waits": ("clew.store.sqlite.writer:Writer._report",),
    "checkpoints": ("clew.store.sqlite.writer:Writer._checkpoint",),
    "bodies: comparing and compressing": ("clew.store.body_writer:BodyWriter._row",),
    "log: writing lines": ("clew.engine.log.sink:Sink._write",),
    "feed: reading what others wrote": ("clew.store.base:DatabaseStore.exchanges_since",),
}
"""The same for the store's and other threads."""

REST = "the rest"
"""Of a thread: what no part has."""
THREADS = {
    "MainThread": "the event loop",
    "clew store clew.db": "the store's writer",
    "clew store bodies": "the store's thread for bodies",
    "clew log": "the log's thread",
    "clew poll": "the thread that polls at settings and store",
    "clew look-up": "threads that ask the store for a history",
    "uvloop": "threads of the loop: large requests, the feed",
}
SHOWN = ["session", "json-many", "stream", "translated", "big-known"]
REQUESTS = 2000
ROUNDS = 3
PUT_OFF = 6.0
"""Seconds of silence around a case: bodies wait for five of them."""
LEAST = 0.5
"""Microseconds that are worth a line."""
PAGE = Path(__file__).parent.parent / "docs/performance.md"

Taken: TypeAlias = dict[str, dict[str, float]]
"""By thread and part."""


class Clocked:
    """A gateway with clocks: `taken` since the last time."""

    def __init__(self, folder: Path, bench: Bench, settings: str) -> None:
        self.target = clew("clew with clocks", folder, bench.backend, settings=settings)
        self._place = str(folder / "clocks")
        self.target.command[1:3] = [str(Path(__file__).parent / "part_clocks.py"), self._place]
        self._all: dict[str, float] = {}

    def taken(self) -> Taken:
        """Nanoseconds, by thread and part; what a thread did besides is its part "the rest"."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._place)
            found: Taken = json.loads(connection.makefile().read())
        for thread, told in found.items():
            now = told.pop("all", 0.0)
            told[REST] = now - self._all.get(thread, 0.0) - sum(told.values())
            self._all[thread] = now
        return found


def load(bench: Bench, case: Case, target: Target, number: int) -> int:
    """Do it once; how many requests that were. `number` tells the sessions of one time from those of another."""
    if case is not SESSION:
        return bench.loads.run(case, target, case.requests or REQUESTS).done
    client, first = ClaudeCode(SESSION.answer), FIRST_NUMBER + number * USUAL.many
    callers = [Caller(target, Session(client, first + each)) for each in range(USUAL.many)]
    done = sum(answered(callers).done for _ in range(USUAL.turns))
    for caller in callers:
        caller.close()
    return done


def measured(bench: Bench, case: Case, clocked: Clocked) -> tuple[Taken, float]:
    """Microseconds for one request: with clocks by thread and part, and without clocks in all."""
    [plain] = [target for target in bench.targets if target is not clocked.target]
    if case.history:
        grow(bench, [case])
    for target in bench.targets:
        load(bench, case, target, 0)
    pids = [pid for target in bench.targets for pid in target.pids]
    settle(pids, PUT_OFF)
    clocked.taken()
    before, done = cpu_of(plain.pids), 0
    for number in range(1, ROUNDS + 1):
        done += load(bench, case, clocked.target, number)
        load(bench, case, plain, number)
    settle(pids, PUT_OFF)
    taken = {thread: {part: spent / done / 1e3 for part, spent in told.items()} for thread, told in clocked.taken().items()}
    return taken, (cpu_of(plain.pids) - before) / done * 1e6


def rows_of(found: dict[str, tuple[Taken, float]]) -> list[tuple[str, ...]]:
    """A line for each part, with a column for each case."""
    rows: list[tuple[str, ...]] = []
    seen = {thread: None for taken, _ in found.values() for thread in taken}
    for thread in sorted(seen, key=lambda name: -sum(sum(taken.get(name, {}).values()) for taken, _ in found.values())):
        of_thread = [taken.get(thread, {}) for taken, _ in found.values()]
        if max(sum(told.values()) for told in of_thread) < LEAST:
            continue
        rows.append((f"**{THREADS.get(thread, thread)}**", *(f"**{sum(told.values()):,.0f}**" for told in of_thread)))
        for part in (*PARTS, *STATEMENTS, REST):
            if max(told.get(part, 0.0) for told in of_thread) >= LEAST:
                rows.append((part, *(f"{told.get(part, 0.0):,.0f}" for told in of_thread)))
    rows.append(
        ("all threads", *(f"{sum(sum(told.values()) for told in taken.values()):,.0f}" for taken, _ in found.values()))
    )
    rows.append(("the same without clocks", *(f"{plain:,.0f}" for _, plain in found.values())))
    return rows


def table(found: dict[str, tuple[Taken, float]], names: Mapping[str, str]) -> str:
    head = ("µs of CPU for one request", *(names[key] for key in found))
    lines = (head, ("---",) * len(head), *rows_of(found))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    cases = {SESSION.key: SESSION, **{case.key: case for case in CASES}}
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="*", choices=list(cases), default=SHOWN, help="these cases, and no more")
    options.add_argument("--store-off", action="store_true", help="with the store off")
    options.add_argument("--keep", action="store_true", help="keep the table in docs/performance.md")
    given = options.parse_args()
    raise_limits()
    OUT.mkdir(exist_ok=True)
    others, settings = Others(), STORE_OFF if given.store_off else ""
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        folder = Path(name)
        bench = Bench(folder, None, tls=False)
        clocked = Clocked(folder, bench, settings)
        bench.targets = [clocked.target, clew("clew", folder, bench.backend, settings=settings)]
        with bench.all_running():
            found = {key: measured(bench, cases[key], clocked) for key in given.only}
    text = table(found, {key: case.name for key, case in cases.items()}) + f"\n{remark(ROUNDS, others.share())}\n"
    print(text)
    if given.keep:
        keep(text, "parts.py --keep", PAGE)


if __name__ == "__main__":
    main()
