"""The ratios of a run as a plot: a bar for each target in each case, on a scale of powers, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from figures import Cell, Figures

__all__ = ["LINK", "PLOT", "drawn", "keep"]

PLOT = Path(__file__).parent.parent / "docs/images/speed.svg"
LINK = "![CPU for one request, in times of nginx](../images/speed.svg)"
"""From the page of the tables."""
WIDTH, LABELS, RIGHT = 980, 440, 70
BAR, GAP, HEAD, FOOT = 13, 14, 34, 30
COLOURS = ("#0f8a6d", "#7a8594", "#c77700", "#a8478f", "#3f6fd1")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c2430}.quiet{fill:#5b6675}.grid{stroke:#c9d0d9}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.quiet{fill:#a4aebb}.grid{stroke:#3a4350}}"
)


def keep(found: Figures) -> None:
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    PLOT.write_text(drawn(found), "utf-8")


def drawn(found: Figures) -> str:
    """The plot as SVG, with a bar wherever there is a ratio to nginx."""
    rows = [row for row in found.cases if any(map(_is_ratio, row.cells))]
    shown = [place for place in range(len(found.names)) if any(_is_ratio(row.cells[place]) for row in rows)]
    most = max((cell.value or 1.0 for row in rows for cell in row.cells if _is_ratio(cell)), default=1.0)
    taken = BAR * len(shown) + GAP
    height = HEAD + taken * len(rows) + FOOT
    parts = [*_legend([found.names[place] for place in shown]), *_grid(most, height)]
    for number, row in enumerate(rows):
        parts += _bars(row.name, [row.cells[place] for place in shown], HEAD + number * taken, most)
    box = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="CPU for one request, in times of nginx"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}><style>{STYLE}</style>{"".join(parts)}</svg>\n'


def _is_ratio(cell: Cell) -> bool:
    return cell.value is not None and cell.unit == "×"


def _x(ratio: float, most: float) -> float:
    share = math.log(max(ratio, 1.0)) / math.log(max(most, 2.0))
    return LABELS + 4 + share * (WIDTH - LABELS - RIGHT)


def _legend(names: list[str]) -> Iterator[str]:
    at = LABELS
    for name, colour in zip(names, COLOURS, strict=False):
        yield f'<rect x="{at}" y="8" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{at + 18}" y="19">{escape(name)}</text>'
        at += 40 + 8 * len(name)


def _grid(most: float, height: int) -> Iterator[str]:
    for ratio in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        if ratio <= most:
            x = _x(ratio, most)
            yield f'<line class="grid" x1="{x:.1f}" y1="{HEAD - 6}" x2="{x:.1f}" y2="{height - FOOT + 4}"/>'
            yield f'<text class="quiet" x="{x:.1f}" y="{height - 10}" text-anchor="middle">{ratio}×</text>'


def _bars(name: str, cells: list[Cell], top: int, most: float) -> Iterator[str]:
    middle = top + BAR * len(cells) / 2 + 4
    yield f'<text x="{LABELS - 8}" y="{middle:.0f}" text-anchor="end">{escape(name)}</text>'
    for place, cell in enumerate(cells):
        if cell.value is None:
            continue
        y, end = top + place * BAR, _x(cell.value, most)
        yield f'<rect x="{LABELS}" y="{y}" width="{end - LABELS:.1f}" height="{BAR - 2}" fill="{COLOURS[place]}"/>'
        yield f'<text class="quiet" x="{end + 5:.1f}" y="{y + 10}" font-size="11">{cell.value:.1f}</text>'
