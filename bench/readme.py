"""The few rows that README.md quotes: clew as it comes, and with its store off, in times of nginx's CPU."""

from __future__ import annotations

from pathlib import Path

import figures
from figures import Cell, Figures, Row

__all__ = ["README", "keep", "quoted"]

README = Path(__file__).parent.parent / "README.md"
ROWS = ("session", "json-many", "stream", "translated", "big-known", "paced", "first-50")


def keep(found: Figures) -> None:
    figures.keep(quoted(found), "gateway.py --keep", README)


def quoted(found: Figures) -> str:
    """The first column and the last: those of clew."""
    rows = {row.key: row for row in (*found.cases, *found.extras)}
    lines = [(rows[key].name, *(_told(rows[key], place) for place in (0, -1))) for key in ROWS]
    head = ("CPU in times of nginx's", "default settings", "store off")
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ("---",) * 3, *lines)) + f"\n{found.remark}\n"


def _told(row: Row, place: int) -> str:
    cell: Cell = row.cells[place]
    return cell.text if cell.value is None or cell.unit != "×" else f"{cell.value:.1f}×"
