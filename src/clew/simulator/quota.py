"""Rate-limit headers (R77): what an account has left of its minute.

The simulator limits nobody by itself (a fault says 429 when a test wants one); it only shows the numbers, as the vendor
does, with what remains of the tokens rounded to thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

__all__ = ["Quota"]

_WINDOW: Final = 60
_LIMITS: Final = {"requests": 4000, "input-tokens": 2_000_000, "output-tokens": 400_000}


@dataclass(slots=True)
class _Spent:
    window: int
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Quota:
    """Counts what each account spends in the current minute. `now` is seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._spent: dict[str, _Spent] = {}

    def headers(self, account: str, *, input_tokens: int = 0, output_tokens: int = 0) -> list[tuple[str, str]]:
        """Count one request, and say what is left."""
        window = int(self._now()) // _WINDOW
        spent = self._spent.get(account)
        if spent is None or spent.window != window:
            spent = self._spent[account] = _Spent(window)
        spent.requests += 1
        spent.input_tokens += input_tokens
        spent.output_tokens += output_tokens
        reset = datetime.fromtimestamp((window + 1) * _WINDOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return [header for name, left in _left(spent).items() for header in _header(name, left, reset)]

    def reset(self) -> None:
        self._spent.clear()


def _left(spent: _Spent) -> dict[str, int]:
    return {
        "requests": max(0, _LIMITS["requests"] - spent.requests),
        "input-tokens": _thousands(_LIMITS["input-tokens"] - spent.input_tokens),
        "output-tokens": _thousands(_LIMITS["output-tokens"] - spent.output_tokens),
    }


def _header(name: str, left: int, reset: str) -> list[tuple[str, str]]:
    start = f"anthropic-ratelimit-{name}"
    return [(f"{start}-limit", str(_LIMITS[name])), (f"{start}-remaining", str(left)), (f"{start}-reset", reset)]


def _thousands(count: int) -> int:
    return max(0, round(count, -3))
