"""An agent's session of forty turns, sent turn by turn as a client does: each time all that was said, and a little more.

Many sessions go side by side, and what one turn of all of them costs is measured, so that it shows how the cost of a turn
grows with what came before it.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import traffic
from cases import Case
from figures import Row
from history import Talk
from measuring import Bench
from targets import Target

__all__ = ["TURNS", "Sessions"]

TURNS = 40
TENTH = 10
MANY = 50
_CASE = Case("session", f"session of {TURNS} turns, all of it")
_BYTES = 340_000


class Sessions:
    """`measure` one round; `rows` has the medians."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.talk = Talk(_BYTES, foreign_every=0)
        self._bodies = [self._body(turn) for turn in range(1, TURNS + 1)]
        self._taken: dict[str, list[list[float]]] = {}

    def _body(self, turn: int) -> Path:
        """All up to this turn; the first words tell the sessions apart."""
        body, file = self.talk.body, self._bench.folder / f"turn-{turn}.json"
        said = self.talk.messages[: 2 * turn - 1]
        assert len(said) == 2 * turn - 1, "the history is too short"
        first = {"role": "user", "content": f"{traffic.STAMP}: go on. answer:stream pace:0"}
        messages = [first, *said[1:]]
        file.write_text(json.dumps({**body, "messages": messages}, separators=(",", ":"), ensure_ascii=False), "utf-8")
        return file

    def measure(self, first: int) -> None:
        """Sessions numbered from `first` on, which nobody has seen."""
        for target in self._bench.targets:
            self._taken.setdefault(target.name, []).append([self._turn(target, body, first) for body in self._bodies])

    def _turn(self, target: Target, body: Path, first: int) -> float:
        sample = self._bench.sample(_CASE, target, lambda: self._bench.loads.send(body, _CASE, target, MANY, first=first))
        return sample.each

    def rows(self) -> list[Row]:
        names = [target.name for target in self._bench.targets]
        whole = tuple(statistics.median(map(sum, self._taken[name])) for name in names)
        cells = tuple(f"{each / 1000:,.1f} ms" for each in whole)
        growth = [statistics.median(turns[-1] / turns[TENTH - 1] for turns in self._taken[name]) for name in names]
        return [
            Row(_CASE.name, cells, "", ratios_of=whole),
            Row("its last turn, × its tenth", tuple(f"{each:.2f}×" for each in growth), "aim 1.5×"),
        ]
