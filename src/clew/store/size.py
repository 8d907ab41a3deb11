"""How large a store is, the same for all who say it: its file, and its log beside it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["log_bytes", "size_in_words", "store_bytes"]


def store_bytes(path: Path) -> int:
    return path.stat().st_size + log_bytes(path)


def log_bytes(path: Path) -> int:
    """What is committed, and not yet in the file itself."""
    log = path.with_name(f"{path.name}-wal")
    return log.stat().st_size if log.exists() else 0


def size_in_words(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.0f} kB"
