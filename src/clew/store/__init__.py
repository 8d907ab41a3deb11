"""What clew remembers: recordings and how to find them, threads, exchanges, usage, settings. One interface, one file.

The names are imported when first used: whoever only glances at the store need not load all that writes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from clew.store.housekeeping import keep_house, tidy
    from clew.store.interface import Store
    from clew.store.sqlite import SqliteStore

__all__ = ["SqliteStore", "Store", "keep_house", "tidy"]

_MODULES: Final = {
    "SqliteStore": "sqlite",
    "Store": "interface",
    "keep_house": "housekeeping",
    "tidy": "housekeeping",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
