"""How many tokens an answer can have been said to cost."""

from __future__ import annotations

from typing import Final

__all__ = ["MOST_TOKENS"]

MOST_TOKENS: Final = 1 << 40
"""No answer has a trillion tokens: a larger count is a fault of the backend (an unsigned number below zero is near 2^64) and
counts as not told. So sums of counts stay within what SQLite can hold."""
