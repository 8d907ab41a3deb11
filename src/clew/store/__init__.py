"""What clew remembers: recordings and how to find them, threads, exchanges, usage, settings. One interface, one file."""

from clew.store.housekeeping import keep_house, tidy
from clew.store.interface import Store
from clew.store.outcome import outcome
from clew.store.sqlite import SqliteStore

__all__ = ["SqliteStore", "Store", "keep_house", "outcome", "tidy"]
