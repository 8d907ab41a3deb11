"""The table of speeds in comparison.md: clew's numbers from the README, the others' from numbers/speed.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from navigation import HERE, ROOT, with_list

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]
ROWS: Final = {
    "small JSON": "small JSON, 8 connections",
    "stream of 300 events, in one burst": "stream of 300 events, in one burst",
    "stream of 300 chunks, translated, in one burst": "stream of 300 chunks, translated, in one burst",
}
"""What both measure: its name among the others' numbers, and in the README."""
OWN: Final = ("default settings", "store off")
PEERS: Final = "## Beside other gateways"
OTHERS: Final = ("LiteLLM", "claude-code-router")


def comparison_page(table: Table) -> str:
    own = rows_below("| CPU in times of nginx's |", (ROOT / "README.md").read_text("utf-8"))
    peers = rows_below("| CPU for one request |", (HERE / "numbers/speed.md").read_text("utf-8").partition(PEERS)[2])
    rows = [
        [name, *(own[ours].get(column, "?") for column in OWN), *(times(peers[name].get(each, "")) for each in OTHERS)]
        for name, ours in ROWS.items()
        if name in peers and ours in own
    ]
    made = table(("", *(f"clew, {column}" for column in OWN), *OTHERS), rows)
    return with_list((HERE / "comparison.md").read_text("utf-8"), made)


def rows_below(head: str, text: str) -> dict[str, dict[str, str]]:
    """The first table whose head begins so: each row by its first cell, as a mapping by column. {} without such a table."""
    lines = text[text.index(head) :].splitlines() if head in text else []
    end = next((place for place, line in enumerate(lines) if not line.startswith("|")), len(lines))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]
    return {row[0]: dict(zip(cells[0], row, strict=True)) for row in cells[2:]}


def times(cell: str) -> str:
    """How many times nginx's, the last number of the cell."""
    found = re.findall(r"([0-9.]+)×", cell)
    return f"{float(found[-1]):,.1f}×" if found else "?"
