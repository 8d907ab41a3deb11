"""Wait: for how long, or until when, a backend asks clients to wait."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Wait(Struct, frozen=True):
    """For so many seconds, or until a moment in seconds since 1970; neither if the backend did not say."""

    seconds: float | None = None
    until: float | None = None


NO_WAIT: Final = Wait()
