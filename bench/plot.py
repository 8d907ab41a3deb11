"""The ratios of a run as a plot: a bar for each target in each case, on a scale of powers, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from figures import Figures, Row

__all__ = ["PLOT", "drawn", "keep"]

PLOT = Path(__file__).parent.parent / "docs/images/speed.svg"
WIDTH, LABELS, RIGHT = 980, 440, 70
BAR, GAP, HEAD, FOOT = 13, 14, 34, 30
COLOURS = ("#7a8594", "#0f8a6d", "#c77700", "#a8478f", "#3f6fd1")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c2430}.quiet{fill:#5b6675}.grid{stroke:#c9d0d9}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.quiet{fill:#a4aebb}.grid{stroke:#3a4350}}"
)


def keep(found: Figures) -> None:
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    PLOT.write_text(drawn(found), "utf-8")


def drawn(found: Figures) -> str:
    """The plot as SVG."""
    rows = [row for row in found.cases if row.ratios_of and row.ratios_of[0]]
    most = max(
        (spent / row.ratios_of[0] for row in rows for spent in row.ratios_of if spent and row.ratios_of[0]), default=1
    )
    heights = [BAR * len(found.names) + GAP for _ in rows]
    height = HEAD + sum(heights) + FOOT
    parts = [*_legend(found.names), *_grid(most, height)]
    top = HEAD
    for row, taken in zip(rows, heights, strict=True):
        parts += _bars(row, top, most)
        top += taken
    box = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="CPU for one request, in times of nginx"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}><style>{STYLE}</style>{"".join(parts)}</svg>\n'


def _x(ratio: float, most: float) -> float:
    share = math.log(max(ratio, 1.0)) / math.log(max(most, 2.0))
    return LABELS + 4 + share * (WIDTH - LABELS - RIGHT)


def _legend(names: tuple[str, ...]) -> Iterator[str]:
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


def _bars(row: Row, top: int, most: float) -> Iterator[str]:
    base = row.ratios_of[0]
    assert base
    middle = top + BAR * len(row.ratios_of) / 2 + 4
    yield f'<text x="{LABELS - 8}" y="{middle:.0f}" text-anchor="end">{escape(row.name)}</text>'
    for place, spent in enumerate(row.ratios_of):
        if spent is None:
            continue
        y, end = top + place * BAR, _x(spent / base, most)
        yield f'<rect x="{LABELS}" y="{y}" width="{end - LABELS:.1f}" height="{BAR - 2}" fill="{COLOURS[place]}"/>'
        yield f'<text class="quiet" x="{end + 5:.1f}" y="{y + 10}" font-size="11">{spent / base:.1f}</text>'
