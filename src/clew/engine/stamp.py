"""What tells one version of a file from another, without reading it."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import TypeAlias

Stamp: TypeAlias = tuple[int, int, int] | None


def stamp_of(path: Path | str | None) -> Stamp:
    """None where there is no such file, or no path."""
    try:
        status = os.stat(path) if path else None
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size) if status and S_ISREG(status.st_mode) else None
