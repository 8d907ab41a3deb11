"""What a commit costs in PostgreSQL, beside SQLite, in one run: `make bench-postgres`.

Turns are recorded one by one in both stores in turn, so that a busy machine is busy for both. The CPU time is that of this
process, with all its threads: what a gateway pays for a turn. A look-up is that of a thread that another gateway recorded.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from tests.postgres import private_server
from tests.store.turns import recorded, turn

from clew.model.recording import Recording
from clew.model.turn import TokenUsage, TurnRecord
from clew.store import Store
from clew.store.postgres.store import PostgresStore
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Lookup


def a_turn(number: int, before: Recording | None) -> TurnRecord:
    """With numbers of real sizes, some of them missing: all of them have to be one prepared statement."""
    chance = Random(number)
    counts = {name: chance.choice([3, 40_000]) for name in ("input", "output", "cache_read", "cache_written")}
    usage = TokenUsage(**counts, thinking=chance.choice([None, 10, 40_000]))
    answer = recorded(f"r{number}", thread=f"t{number % 20}", before=(before,) if before else ())
    return turn(answer, usage=usage, first_byte=chance.choice([None, 0.5]))


def commit_seconds(store: Store, record: TurnRecord) -> tuple[float, float]:
    """Seconds on the wall, and of this process's CPU, for one turn."""
    wall, cpu = time.perf_counter(), time.process_time()
    store.record(record).result(60)
    return time.perf_counter() - wall, time.process_time() - cpu


def batch_rate(store: Store, name: str, count: int) -> float:
    """Turns per second when they wait for the writer together."""
    records = [turn(recorded(f"{name}{number}", thread=f"{name}{number}")) for number in range(count)]
    began = time.perf_counter()
    for done in [store.record(each) for each in records]:
        done.result(60)
    return count / (time.perf_counter() - began)


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, private_server() as server:
        url = server.create()
        with SqliteStore(Path(folder) / "store.sqlite") as file, PostgresStore(url) as shared, PostgresStore(url) as other:
            stores = {"SQLite": file, "PostgreSQL": shared}
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
            before: Recording | None = None
            for number in range(count):
                record = a_turn(number, before if number % 3 else None)
                before = record.recording
                for name, store in stores.items():
                    times[name].append(commit_seconds(store, record))
            for name, found in times.items():
                wall, cpu = [each[0] for each in found], [each[1] for each in found]
                print(f"{name}: commit p50 {median(wall) * 1e3:.2f} ms, CPU {sum(cpu) / count * 1e6:.0f} µs a turn")
            ratio = median(each[0] for each in times["PostgreSQL"]) / median(each[0] for each in times["SQLite"])
            print(f"PostgreSQL's p50 is {ratio:.2f} of SQLite's")
            for name, store in stores.items():
                print(f"{name}: {batch_rate(store, 'b', min(count, 800)):.0f} turns/s when many wait")
            looks: list[float] = []
            for number in range(min(count, 200)):
                keys = recorded(f"r{number}").keys
                began = time.perf_counter()
                found = other.gather(Lookup(principal="local", keys=keys, links=50))
                looks.append(time.perf_counter() - began)
                assert found.recordings
            print(f"a known thread on another gateway: p50 {median(looks) * 1e3:.2f} ms, two round trips")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
