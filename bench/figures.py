"""The gateway's figures as tables and as JSON, and where they are kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["PAGE", "Figures", "Row", "keep", "markdown", "written"]

PAGE = Path(__file__).parent.parent / "docs/numbers/speed.md"
BEGIN, END = "<!-- tables: written by bench/{} --keep -->\n", "<!-- end of tables -->\n"


@dataclass(frozen=True)
class Row:
    """A cell for each target. With `ratios_of`, each cell also says how many times the first it is."""

    name: str
    cells: tuple[str, ...]
    goal: str
    ratios_of: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Figures:
    names: tuple[str, ...]
    """Of the targets; the first is what the others are compared with."""
    cases: tuple[Row, ...]
    extras: tuple[Row, ...]
    remark: str
    compared: bool = True


def markdown(found: Figures) -> str:
    tables = [_table("CPU for one request", found, found.cases)]
    if found.extras:
        tables.append(_table("", found, found.extras))
    return "\n".join([*tables, found.remark + "\n"])


def written(found: Figures) -> str:
    """The same for machines."""
    return json.dumps(asdict(found), indent=1, ensure_ascii=False) + "\n"


def keep(found: Figures, script: str) -> None:
    """Write the tables into the page, between the marks of this script."""
    begin = BEGIN.format(script)
    before, mark, rest = PAGE.read_text("utf-8").partition(begin)
    assert mark, f"{PAGE} has no place for the tables of {script}"
    PAGE.write_text(before + begin + "\n" + markdown(found) + "\n" + END + rest.partition(END)[2], "utf-8")


def _table(title: str, found: Figures, rows: tuple[Row, ...]) -> str:
    lines = [(title, *found.names, "goal"), ("---",) * (len(found.names) + 2)]
    lines += [(row.name, *_cells(row, compared=found.compared), row.goal) for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row: Row, *, compared: bool) -> list[str]:
    base = row.ratios_of[0] if row.ratios_of else None
    if not compared or base is None:
        return list(row.cells)
    pairs = zip(row.cells, row.ratios_of, strict=True)
    return [cell if spent is None else f"{cell} ({spent / base:.2f}×)" for cell, spent in pairs]
