"""By what a client's request for a title is known. The columns are explained in `title_requests.toml`."""

from __future__ import annotations

from functools import cache
from typing import Final

from msgspec import Struct

from clew.model.facts.tables import read_table, to_row

_FILE: Final = "title_requests.toml"


class TitleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client's way to ask for a title."""

    agent: str
    fields: frozenset[str] = frozenset()
    begins: str = ""
    source: str
    date: str


@cache
def title_requests() -> tuple[TitleRequest, ...]:
    return tuple(to_row(TitleRequest, row, file=_FILE, key=key) for key, row in read_table(_FILE).items())
