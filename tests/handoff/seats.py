"""Who sits at the table: every row of the presets in every dialect that it speaks, with the simulator that stands for it."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import structs

from clew.backends.presets import presets
from clew.backends.row import Backend
from clew.model.origin import ANTHROPIC
from clew.settings.backend_rows import backend_of, named_options
from clew.settings.document import BackendTable
from clew.simulator.openai_chat.vendors import ChatVendor, chat_vendors
from clew.simulator.openai_responses.vendors import ResponsesVendor, responses_vendors
from clew.testing import Simulator

__all__ = ["KINDS", "ROWS", "Seat", "seated"]


class Seat(NamedTuple):
    """A row, in one dialect."""

    preset: str
    dialect: str
    kind: str

    @property
    def name(self) -> str:
        return self.preset if self.dialect == presets()[self.preset].dialect else f"{self.preset}.{self.dialect}"


def _rows() -> Iterator[Seat]:
    for name, preset in presets().items():
        for row in (preset, *preset.others.values()):
            yield Seat(name, row.dialect, row.simulator)


ROWS = tuple(_rows())
_FIRST = {seat.kind: seat for seat in reversed(ROWS)}
_NAMED = {seat.kind: seat for seat in ROWS if seat.kind in (seat.preset, f"{seat.preset}-chat")}
KINDS = {**_FIRST, **_NAMED, **{seat.kind: seat for seat in ROWS if seat.preset == "openai"}}
"""One row for each kind of simulator: the one of its own name, else the first that names it."""


def seated(seat: Seat, simulator: Simulator, model: str = "") -> Backend:
    """The row as a user would configure it, at the simulator's address."""
    table = BackendTable(
        preset=seat.preset,
        dialect=seat.dialect,
        url=simulator.url if seat.dialect == "anthropic" else f"{simulator.url}/v1",
        key=simulator.key,
        model=model,
    )
    made = backend_of(seat.name, table, named_options({}, seat.name), {})
    assert made.backend is not None, made.problems
    row = structs.replace(made.backend, realm=_realm(seat))
    return (
        row if seat.dialect == "anthropic" or _serves(seat.kind, row.model) else structs.replace(row, **_listed(seat.kind))
    )


def _realm(seat: Seat) -> str:
    """Each simulator has a secret of its own, also where the vendor's two endpoints would share one."""
    return ANTHROPIC if seat.kind == "anthropic" else seat.kind


def _serves(kind: str, model: str) -> bool:
    models = _vendor(kind).models
    return bool(model) and (not models or any(fnmatchcase(model, name) for row in models for name in row.names))


def _listed(kind: str) -> dict[str, object]:
    return {"model": _vendor(kind).listed[0], "models": {}}


def _vendor(kind: str) -> ChatVendor | ResponsesVendor:
    return responses_vendors()[kind] if kind in responses_vendors() else chat_vendors()[kind]
