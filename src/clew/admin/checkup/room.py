"""The disk under what is kept: whether it can be written, and whether there is room."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from clew.admin.checkup.finding import Circumstances, Finding, broken, fine, warning

__all__ = ["disk"]

FULL: Final = 8 << 20
"""Bytes that a store's log may take before it is worked off: with less, answers go unrecorded."""
SCARCE: Final = 256 << 20


def disk(at: Circumstances) -> Iterator[Finding]:
    """A gateway on a full disk answers as before, and keeps nothing."""
    places = {_there(each) for each in (at.home.root, *(file.parent for file in (at.store.files() if at.store else ())))}
    for place in sorted(places):
        yield _found(place)


def _found(place: Path) -> Finding:
    if not os.access(place, os.W_OK):
        return broken(f"{place} cannot be written, so nothing new is kept", "mend its rights, or mount it for writing")
    free = shutil.disk_usage(place).free
    says = f"{free / 1e6:,.0f} MB are free at {place}"
    if free < FULL:
        return broken(f"{says}: answers come, but are not kept", "free some space")
    return warning(says, "free some space") if free < SCARCE else fine(says)


def _there(place: Path) -> Path:
    """It, or where it would be made."""
    return place if place.exists() or place == place.parent else _there(place.parent)
