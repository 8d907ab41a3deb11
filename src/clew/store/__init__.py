"""What clew remembers: recordings and how to find them, threads, exchanges, usage, settings.

`protocols` is what callers see, `kinds` opens a store, and `sqlite/` is one. The names are imported when first used: a
command that only needs a quick look need not load all that writes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from clew.store.housekeeping import keep_house, tidy
    from clew.store.kinds import location_of, open_store
    from clew.store.location import StoreLocation
    from clew.store.protocols import Store

__all__ = ["Store", "StoreLocation", "keep_house", "location_of", "open_store", "tidy"]

_MODULES: Final = {
    "Store": "protocols",
    "StoreLocation": "location",
    "keep_house": "housekeeping",
    "location_of": "kinds",
    "open_store": "kinds",
    "tidy": "housekeeping",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
