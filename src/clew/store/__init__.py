"""What clew remembers: recordings and how to find them, threads, exchanges, usage, settings.

`protocols` is what callers see, `kinds` opens a store, and `sqlite/` is one kind. The names are imported when first used: a
command that only reads a few values need not load the code that writes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from clew.store.housekeeping import run_housekeeping, tidy
    from clew.store.kinds import StoreLocation, location_of, open_store
    from clew.store.protocols import Store

__all__ = ["Store", "StoreLocation", "location_of", "open_store", "run_housekeeping", "tidy"]

_MODULES: Final = {
    "Store": "protocols",
    "StoreLocation": "kinds",
    "location_of": "kinds",
    "open_store": "kinds",
    "run_housekeeping": "housekeeping",
    "tidy": "housekeeping",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
