"""The store in one SQLite file: a kind of store, with the value that the registry asks for."""

from __future__ import annotations

from clew.store.sqlite.location import SqliteKind

__all__ = ["KIND"]

KIND = SqliteKind()
