"""A short hash of what a file says, by which processes can tell whether they have read the same."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

__all__ = ["digest_of", "file_digest"]

_LENGTH: Final = 16
_MARK: Final = b"\xef\xbb\xbf"
"""What some editors put at the beginning of UTF-8."""


def digest_of(raw: bytes) -> str:
    return sha256(raw.removeprefix(_MARK)).hexdigest()[:_LENGTH]


def file_digest(path: Path) -> str:
    """ "" where there is no file, or where it cannot be read."""
    try:
        return digest_of(path.read_bytes())
    except OSError:
        return ""
