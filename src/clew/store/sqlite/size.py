"""How large a SQLite store is: its file, and its log beside it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["log_bytes", "store_bytes"]


def store_bytes(path: Path) -> int:
    return path.stat().st_size + log_bytes(path)


def log_bytes(path: Path) -> int:
    """What is committed, and not yet in the file itself."""
    log = path.with_name(f"{path.name}-wal")
    return log.stat().st_size if log.exists() else 0
