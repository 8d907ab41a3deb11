"""What a process costs, by the kernel's own books, and how busy the machine was meanwhile.

CPU is the process-wide clock of a process tree. A sum over its threads would lose the time of those that have ended, and
with it just the work that a gateway does on the side. Memory is the proportional share (PSS), so that pages which a parent
and its workers have in common count once.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["Others", "cpu_of", "free_port", "pin", "pss_of", "rss_of", "settle", "the_core", "tree_of", "until_open"]

_SETTLED = 0.004
_TICKS = os.sysconf("SC_CLK_TCK")


def tree_of(pid: int) -> list[int]:
    """The process and all that it started."""
    found, todo = [pid], [pid]
    while todo:
        children = [child for task in Path(f"/proc/{todo.pop()}/task").glob("*/children") for child in _numbers(task)]
        found += children
        todo += children
    return found


def _numbers(file: Path) -> list[int]:
    try:
        return [int(word) for word in file.read_text().split()]
    except OSError:  # it has ended meanwhile
        return []


def cpu_of(pids: Iterable[int]) -> float:
    """Seconds of CPU since each began. The clock of a process is its number, turned as clock_getcpuclockid(3) does."""
    total = 0.0
    for pid in pids:
        try:
            total += time.clock_gettime((~pid << 3) | 2)
        except OSError:
            continue
    return total


def pss_of(pids: Iterable[int]) -> float:
    """Kilobytes."""
    lines = (line for pid in pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines())
    return sum(float(line.split()[1]) for line in lines if line.startswith("Pss:"))


def rss_of(pids: Iterable[int]) -> float:
    """Kilobytes that are resident."""
    lines = (line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return sum(float(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def settle(pids: list[int], quiet: float = 0.1, most: float = 60.0) -> None:
    """Wait until nothing was done for so many seconds, so that what was put off is charged to the case that caused it."""
    end, since, before = time.monotonic() + most, time.monotonic(), cpu_of(pids)
    while (now := time.monotonic()) < end and now - since < quiet:
        time.sleep(0.1)
        spent = cpu_of(pids)
        if spent - before >= _SETTLED:
            since = time.monotonic()
        before = spent


def pin(core: int) -> list[str]:
    """The words in front of a command that keep it on one core; the last one, if there are not so many."""
    return ["taskset", "-c", str(the_core(core))]


def the_core(number: int) -> int:
    """The system's own number of it; of the last one, if there are not so many."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[min(number, len(cores) - 1)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until_open(port: int, seconds: float, process: subprocess.Popen[bytes]) -> bool:
    """Whether something listens there before the time is over, or the process is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.002)
    return False


class Others:
    """How much of the machine somebody else used since this was made: all busy time, less our own children's."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._busy, self._own = _busy(), _own()

    def share(self) -> float:
        """0 is a machine to ourselves, 1 is none of it."""
        seconds = (time.monotonic() - self._start) * len(os.sched_getaffinity(0))
        return max(0.0, (_busy() - self._busy) - (_own() - self._own)) / seconds


def _busy() -> float:
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return (user + nice + system + irq + soft) / _TICKS


def _own() -> float:
    """Ourselves, what ended, and what still runs of what we started."""
    ended = os.times()
    return ended.children_user + ended.children_system + cpu_of(tree_of(os.getpid()))
