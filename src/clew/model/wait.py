"""Wait: for how long, or until when, somebody asks to be left alone."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

__all__ = ["NO_WAIT", "Wait"]


class Wait(Struct, frozen=True):
    """For so many seconds; or until a moment, in seconds since 1970. Neither: nobody said."""

    seconds: float | None = None
    until: float | None = None


NO_WAIT: Final = Wait()
