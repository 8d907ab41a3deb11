"""How large a store is, in the same words everywhere."""

from __future__ import annotations

__all__ = ["size_in_words"]


def size_in_words(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.0f} kB"
