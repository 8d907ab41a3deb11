"""Which program a client is, by its `user-agent`: rows of `clients.toml`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from clew.model.facts.tables import read_table, to_row

_FILE: Final = "clients.toml"
_MOST: Final = 200
"""Characters of a user-agent that are looked at."""
_PRODUCT: Final = re.compile(r"[!-.0-~]{1,40}")
"""The first product without its version: printable ASCII up to a space or a slash, as much as fits in a column."""


class KnownClient(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program by the beginning of its user-agent."""

    title: str
    agents: tuple[str, ...]
    has: str = ""
    source: str
    date: str


@cache
def known_clients() -> tuple[KnownClient, ...]:
    """In the order in which they are tried."""
    return tuple(to_row(KnownClient, row, file=_FILE, key=key) for key, row in read_table(_FILE).items())


def client_name(agent: str) -> str:
    """What people call the program with this user-agent; "" if it does not begin with a name."""
    return _name_of(agent[:_MOST])


@lru_cache(maxsize=256)
def _name_of(agent: str) -> str:
    for row in known_clients():
        if agent.startswith(row.agents) and row.has in agent:
            return row.title
    product = _PRODUCT.match(agent)
    return product[0] if product else ""
