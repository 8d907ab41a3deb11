"""Figures as tables and as JSON, and the places in pages where they are kept."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["PAGE", "Cell", "Figures", "Row", "cost", "keep", "markdown", "quotient", "written"]

PAGE = Path(__file__).parent.parent / "docs/numbers/speed.md"
BEGIN, END = "<!-- tables: written by bench/{} -->\n", "<!-- end of tables -->\n"


@dataclass(frozen=True)
class Cell:
    """What is said; as a number, with its goal and their unit, where there is one; and what each round found."""

    text: str = ""
    value: float | None = None
    goal: float = 0.0
    unit: str = ""
    rounds: tuple[float, ...] = ()

    @property
    def verdict(self) -> str:
        if not self.goal or self.value is None:
            return ""
        return f"≤ {self.goal:g}{self.unit}: {'met' if self.value <= self.goal else 'missed'}"


@dataclass(frozen=True)
class Row:
    """A cell for each column."""

    key: str
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Figures:
    names: tuple[str, ...]
    """Of the columns."""
    cases: tuple[Row, ...]
    extras: tuple[Row, ...]
    remark: str


def cost(spent: Sequence[float], nginx: Sequence[float] | None, goal: float = 0.0) -> Cell:
    """Microseconds of CPU in each round, as a ratio to what nginx took in the same round, with its spread."""
    if nginx is None:
        return Cell(_time(statistics.median(spent)), rounds=tuple(spent))
    ratio, told = _spread([own / base for own, base in zip(spent, nginx, strict=True)])
    return Cell(f"{told}, {_time(statistics.median(spent))}", ratio, goal, "×", tuple(spent))


def quotient(first: Sequence[float], second: Sequence[float]) -> Cell:
    """The second as a ratio to the first, round by round."""
    ratios = [b / a for a, b in zip(first, second, strict=True)]
    ratio, told = _spread(ratios)
    return Cell(told, ratio, unit="×", rounds=tuple(ratios))


def _spread(ratios: list[float]) -> tuple[float, str]:
    """The median, and it with the least and the most of all rounds."""
    middle = statistics.median(ratios)
    return middle, f"{middle:.2f}× ({min(ratios):.2f}–{max(ratios):.2f})"


def _time(microseconds: float) -> str:
    return f"{microseconds:,.0f} µs" if microseconds < 10_000 else f"{microseconds / 1000:,.1f} ms"


def markdown(found: Figures) -> str:
    tables = [_table("CPU for one request", found.names, found.cases)]
    if found.extras:
        tables.append(_table("", found.names, found.extras))
    return "\n".join([*tables, found.remark + "\n"])


def written(found: Figures) -> str:
    """The same for machines."""
    return json.dumps(asdict(found), indent=1, ensure_ascii=False) + "\n"


def keep(text: str, script: str, page: Path = PAGE) -> None:
    """Write this into the page, between the marks of this script."""
    begin = BEGIN.format(script)
    before, mark, rest = page.read_text("utf-8").partition(begin)
    assert mark, f"{page} has no place for the tables of {script}"
    page.write_text(before + begin + "\n" + text + "\n" + END + rest.partition(END)[2], "utf-8")


def _table(title: str, names: Sequence[str], rows: Sequence[Row]) -> str:
    """With a column of goals behind each column that has some."""
    judged = [any(row.cells[place].verdict for row in rows) for place in range(len(names))]
    head = [title]
    for name, with_goals in zip(names, judged, strict=True):
        head += [name, "goal"] if with_goals else [name]
    lines = [head, ["---"] * len(head), *([row.name, *_cells(row, judged)] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row: Row, judged: Sequence[bool]) -> list[str]:
    told: list[str] = []
    for cell, with_goals in zip(row.cells, judged, strict=True):
        told += [cell.text, cell.verdict] if with_goals else [cell.text]
    return told
