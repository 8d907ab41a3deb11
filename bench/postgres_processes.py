"""How many turns a second several gateways record in one PostgreSQL: `make bench-postgres-processes`.

One, two and four gateways, each a process of its own with its own load of eight clients, in front of a mock that costs next
to nothing. A turn is a small answer in one piece, which is in the database before its client has it. The CPU time of the
gateways and of the server says what the limit is: turns of several gateways wait for the disk together, and so the limit is
reached when the cores are busy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from tests.postgres import PostgresServer, private_server

from backend import Backend, mock
from cases import CASES
from loads import Loads, compiled
from machine import free_port, tree_of, until_open
from targets import Target, clew
from traffic import write_answers

REQUESTS = 2000
"""For each gateway."""
SECRET = "0123456789abcdef" * 4


def cpu_seconds(pids: Sequence[int]) -> float:
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(each) for each in fields[11:15])  # with the children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(target: Target) -> Iterator[None]:
    """On any core, unlike other targets: several of them are measured together."""
    env = {**target.env, "CLEW_SECRET": SECRET}
    with subprocess.Popen(target.command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        target.process = process
        try:
            assert until_open(target.port, 60, process), f"{target.name} does not listen"
            yield
        finally:
            process.terminate()
            process.wait(60)


def measure(count: int, server: PostgresServer, loads: Loads, folder: Path, backend: Backend) -> None:
    url = server.create()
    settings = f'\n[store]\nurl = "{url}"\n'
    targets = [clew(f"{count}-{number}", folder, backend, settings=settings) for number in range(count)]
    case = next(each for each in CASES if each.key == "json-many")
    postmaster = int((server.data / "postmaster.pid").read_text().split()[0])
    with ExitStack() as stack, ThreadPoolExecutor(count) as pool:
        for target in targets:
            stack.enter_context(serving(target))
        for target in targets:
            loads.run(case, target, 100)  # connections, statements and partitions are made
        gateways = [pid for target in targets for pid in target.pids]
        before = cpu_seconds(gateways), cpu_seconds(tree_of(postmaster))
        began = time.perf_counter()
        done = list(pool.map(lambda target: loads.run(case, target, REQUESTS, seconds=120), targets))
        seconds = time.perf_counter() - began
        after = cpu_seconds(gateways), cpu_seconds(tree_of(postmaster))
    turns = sum(each.done for each in done)
    with psycopg.connect(url) as connection:
        [(kept,)] = connection.execute("SELECT count(*) FROM clew.exchanges WHERE outcome = 'whole'").fetchall()
    used = [(later - earlier) / turns * 1e6 for earlier, later in zip(before, after, strict=True)]
    print(
        f"{count} gateways: {turns / seconds:6.0f} turns/s, p50 {max(each.time_p50 for each in done) / 1e3:.1f} ms, "
        f"p99 {max(each.time_p99 for each in done) / 1e3:.1f} ms; CPU a turn: gateways {used[0]:.0f} µs, "
        f"server {used[1]:.0f} µs; bad {sum(each.bad for each in done)}, in the database {kept}",
        flush=True,
    )


def main(counts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as name, private_server(max_connections="60") as server:
        folder = Path(name)
        backend = Backend(free_port())
        loads = Loads(folder, {})
        with mock(compiled(folder, "mock"), backend, write_answers(folder)):
            for count in counts:
                measure(count, server, loads, folder, backend)


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [1, 2, 4])
