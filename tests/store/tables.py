"""The rows of a SQLite store's tables, counted."""

from clew.store.sqlite.store import SqliteStore

__all__ = ["rows"]


def rows(store: SqliteStore) -> dict[str, int]:
    tables = ("recordings", "marks", "threads", "turns", "exchanges", "usage", "strangers")
    with store._readers.use() as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").get for table in tables}
