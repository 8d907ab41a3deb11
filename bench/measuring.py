"""Measuring: every case on every target, round by round, in one run.

The order is reversed every other round, and medians are compared, so that a slow moment of the machine hits all alike. What
a target put off is waited for, and charged to the case that caused it.
"""

from __future__ import annotations

import statistics
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from backend import mock, new_backend, terminator
from cases import Case
from history import Talk
from loads import Load, Loads, compiled
from machine import cpu_of, pss_of, settle
from progress import say
from targets import Target, running
from traffic import write_answers

__all__ = ["Bench", "Sample"]

SLICE = 0.6
"""Seconds that a case takes on a target, about."""
PUT_OFF = 0.4
"""Seconds of silence after which nothing is put off any more: a store delays what nobody waits for by 0.25."""
STARTS = 5
SLOW_PACE = 2000
WARM = Case("warm", "warming up", "short", connections=2)


@dataclass(frozen=True)
class Sample:
    """One case on one target in one round."""

    cpu: float
    found: Load

    @property
    def each(self) -> float:
        """Microseconds of CPU for one request."""
        return self.cpu / self.found.done * 1e6


class Bench:
    """The files, the backend and the targets of one run. Targets are put in by anyone who runs it."""

    def __init__(self, folder: Path, nginx: Path | None, histories: Iterable[int] = (), *, tls: bool = True) -> None:
        self.folder = folder
        self.nginx = nginx
        self.backend = new_backend(folder, tls=tls and nginx is not None)
        self.histories = {size: Talk(size, foreign_every=0) for size in histories}
        self.targets: list[Target] = []
        self.direct = Target(name="direct", port=self.backend.port)
        self.samples: dict[tuple[str, str], list[Sample]] = {}
        self.loads = Loads(folder, self.histories)
        self._mock = compiled(folder, "mock")
        self._answers = write_answers(folder)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """The backend."""
        with mock(self._mock, self.backend, self._answers), terminator(self.nginx, self.folder, self.backend):
            yield

    @contextmanager
    def all_running(self) -> Iterator[None]:
        with self.serving(), ExitStack() as stack:
            for target in self.targets:
                stack.enter_context(running(target))
            yield

    def interleaved(self, cases: Sequence[Case], rounds: int, between: Callable[[], None] = lambda: None) -> None:
        """Every case on every target, while all run. `between` is done once a round."""
        sizes = {(case, name.name): self._size(case, name) for case in cases for name in self._able(case)}
        say("the size of each case is known")
        for number in range(rounds):
            for case in cases:
                for target in self._able(case)[:: -1 if number % 2 else 1]:
                    self.sample(case, target, lambda c=case, t=target: self.loads.run(c, t, sizes[c, t.name]))
                say(f"round {number + 1} of {rounds}: {case.name}")
            between()

    def _able(self, case: Case) -> list[Target]:
        return [target for target in self.targets if case.key not in target.skips]

    def _size(self, case: Case, target: Target) -> int:
        """How many requests fill a slice; warms the target up on the way."""
        if case.requests:
            self.loads.run(WARM, target, 20)
            return case.requests
        self.loads.run(case, target, 40)
        found = self.loads.run(case, target, 2000, seconds=1.0)
        return max(8, int(found.done / found.seconds * SLICE))

    def sample(self, case: Case, target: Target, work: Callable[[], Load]) -> Sample:
        """What the target spends while the work is done."""
        pids = target.pids
        settle(pids)
        before = cpu_of(pids)
        found = work()
        settle(pids, PUT_OFF)
        spent = cpu_of(pids) - before
        if found.bad or not found.done:
            sys.exit(f"{target.name}, {case.name}: {found}")
        if sorted(target.pids) != sorted(pids):
            sys.exit(f"{target.name}: its processes changed while it was measured")
        taken = Sample(spent, found)
        self.samples.setdefault((case.key, target.name), []).append(taken)
        return taken

    def starts(self) -> dict[str, list[float]]:
        """Seconds from the start of each target until it listens."""
        taken: dict[str, list[float]] = {}
        with self.serving():
            for _ in range(STARTS):
                for target in self.targets:
                    with running(target) as seconds:
                        taken.setdefault(target.name, []).append(seconds)
        return taken

    def memory(self, streams: int) -> dict[str, tuple[float, float]]:
        """Kilobytes at rest, and for each of so many streams that hardly ever say something."""
        found: dict[str, tuple[float, float]] = {}
        with self.serving():
            for target in self.targets:
                with running(target):
                    found[target.name] = self._memory(target, streams)
                say(f"memory of {target.name}")
        return found

    def _memory(self, target: Target, streams: int) -> tuple[float, float]:
        self.loads.run(WARM, target, 40)
        settle(target.pids, 1.0)
        rest = pss_of(target.pids)
        peak = _while(lambda: pss_of(target.pids), lambda: self._hold(target, streams))
        return rest, (peak - rest) / streams

    def _hold(self, target: Target, count: int) -> None:
        case = Case("idle", f"{count} idle streams", pace=SLOW_PACE, connections=count)
        found = self.loads.run(case, target, count, seconds=8.0)
        if found.streaming != count:
            sys.exit(f"{target.name} holds only {found.streaming} of {count} streams: {found}")

    def spent(self, case: Case, target: str) -> list[float]:
        """Microseconds of CPU for one request, in each round; nothing for a target that has no part in this case."""
        return [sample.each for sample in self.samples.get((case.key, target), [])]

    def median(self, case: Case, target: str, of: Callable[[Sample], float]) -> float:
        return statistics.median(of(sample) for sample in self.samples[case.key, target])


def _while(measure: Callable[[], float], act: Callable[[], None]) -> float:
    """The most that was measured while this was done in a thread."""
    thread = threading.Thread(target=act)
    thread.start()
    most = 0.0
    while thread.is_alive():
        most = max(most, measure())
        thread.join(0.5)
    return most
