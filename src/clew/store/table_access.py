"""Tables that both kinds of database have alike, and the connections that their statements run on.

The statements are written once: values are `$1`, tables stand in the schema `clew`. What differs between the kinds (how a
process is known to live, how others are kept out) the connection does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

from clew.store.rows import Row

T = TypeVar("T")


def new_shard() -> str:
    """A name under which one opened store adds up what is used: no two of them write the same row."""
    return os.urandom(8).hex()


class TableConnection(Protocol):
    """A connection, inside a transaction where something is written."""

    def rows(self, statement: str, *values: object) -> list[Row]: ...

    def run(self, statement: str, *values: object) -> int:
        """How many rows were affected."""
        ...

    def lock(self, name: str) -> None:
        """Until this transaction ends, nobody else has the lock of this name."""
        ...

    def process(self) -> str:
        """The name of this process (`Leases`), for rows that end with it."""
        ...

    def is_alive(self, process: str) -> bool: ...


class TableRunner(Protocol):
    """How a store runs work on such a connection."""

    @property
    def shard(self) -> str:
        """Of this store (`new_shard`)."""
        ...

    def read(self, work: Callable[[TableConnection], T]) -> T:
        """Raises StoreError."""
        ...

    def write(self, work: Callable[[TableConnection], T], *, tells: bool = False) -> Future[T]:
        """In a transaction of the writer. The future ends with the commit. `tells`: gateways that run take it over."""
        ...

    def hold_lease(self) -> None:
        """From now on this process is known to live."""
        ...
