"""Every kind of store, each with an address of its own for a test. The kinds are those of the registry."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from clew.store import Store, StoreLocation, location_of
from clew.store.kinds import BODIES
from tests.postgres import prepared_url, shared_server

__all__ = ["ADDRESSES", "NEW_ADDRESSES", "located", "opened"]

ADDRESSES: Final[Mapping[str, Callable[[Path], str]]] = {
    "sqlite": lambda folder: str(folder / "home" / "store.sqlite"),
    "postgresql": lambda folder: prepared_url().removeprefix("postgresql:"),
}
"""By a kind's name: an address of a store that is empty. A PostgreSQL has its tables already, which saves their making."""
NEW_ADDRESSES: Final = {**ADDRESSES, "postgresql": lambda _: shared_server().create().removeprefix("postgresql:")}
"""By a kind's name: an address that nothing is kept at yet, not even tables."""


def located(kind: str, folder: Path, addresses: Mapping[str, Callable[[Path], str]] = ADDRESSES) -> StoreLocation:
    location = location_of(f"{kind}:{addresses[kind](folder)}", folder)
    assert location is not None
    return location


def opened(location: StoreLocation, *, content: bool = True, bodies: int | None = BODIES) -> Store:
    return location.open(content=content, bodies=bodies)
