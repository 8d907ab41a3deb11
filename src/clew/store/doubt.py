"""Doubt: why this machine's clock may be wrong, by what a store has seen of it."""

from __future__ import annotations

from msgspec import Struct

from clew.store.values import DAY

__all__ = ["Doubt"]


class Doubt(Struct, frozen=True):
    """The clock said `since` when it was last known to be about `before`."""

    since: float
    before: float
    is_new: bool = False

    def __str__(self) -> str:
        days = (self.since - self.before) / DAY
        return (
            f"this machine's clock is {days:.0f} days past the last time that clew saw, so it may be wrong: "
            "nothing is deleted for its age during 24 hours"
        )
