"""The columns of a table: which targets there are, and rows with a goal for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from figures import Cell, Row
from measuring import Bench

__all__ = ["CLEW", "NGINX", "OFF", "STORE_OFF", "names_of", "row_of"]

CLEW, NGINX, OFF = "clew", "nginx", "clew, store off"
STORE_OFF = '\n[store]\nurl = "off"\n'


def names_of(bench: Bench) -> tuple[str, ...]:
    return tuple(target.name for target in bench.targets)


def row_of(
    key: str, name: str, values: Mapping[str, float], names: Sequence[str], unit: str, digits: str, *goals: float
) -> Row:
    """A value for each column that has one. `goals` are for clew as it comes, and with its store off."""
    wanted: dict[str, float] = dict(zip((CLEW, OFF), goals, strict=False))
    cells = [
        Cell(f"{values[each]:{digits}}{unit}", values[each], wanted.get(each, 0.0), unit) if each in values else Cell()
        for each in names
    ]
    return Row(key, name, tuple(cells))
