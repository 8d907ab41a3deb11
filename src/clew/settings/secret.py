"""Where the sealing secret is kept: `CLEW_SECRET`, or a file that only its owner can read.

Several gateways may share one home, and the first seal of each must open in all of them. So whoever comes first makes the
file, under a lock and by a rename, and everybody else uses what the file then says. Rotation takes the same lock: two at
once must not lose a key, because clients hold seals that need it. Reading takes none, since a rename is atomic.

A file that others can read is refused and not repaired: the secret in it may have been read already.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from clew.errors import SettingsInvalid
from clew.settings.private_file import locked, read_private, write_private
from clew.thinking.seal import MIN_SECRET
from clew.thinking.secret import Keyring, keyring_of, read_secret_file, read_secret_text, secret_file_of

__all__ = ["VARIABLE", "known_keyring", "load_keyring", "rotate"]

VARIABLE = "CLEW_SECRET"
"""One secret of at least 32 characters, or several separated by commas: the first mints, all open. Empty is as unset."""


def load_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """The keys from the environment, else from the file, which is made if it is not there."""
    return known_keyring(path, environ) or _create(path)


def known_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring | None:
    """The same, for those who only open seals: none is made."""
    if text := environ.get(VARIABLE, "").strip():
        return read_secret_text(text, name=VARIABLE)
    return _read(path)


def rotate(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """A new current key; the old ones go on opening what they sealed."""
    if environ.get(VARIABLE, "").strip():
        raise SettingsInvalid(
            f"the secret comes from {VARIABLE}: put a new one in front of it, with a comma between",
            key=VARIABLE,
        )
    with locked(path):
        ring = _read(path)
        return _write(path, ring.rotated(_fresh()) if ring else keyring_of(_fresh()))


def _create(path: Path) -> Keyring:
    """Looks again under the lock: somebody else may have been first."""
    with locked(path):
        return _read(path) or _write(path, keyring_of(_fresh()))


def _fresh() -> bytes:
    return secrets.token_bytes(MIN_SECRET)


def _read(path: Path) -> Keyring | None:
    """The ring in the file; None if there is no file. Raises SettingsInvalid for one that is not private."""
    raw = read_private(path)
    return None if raw is None else read_secret_file(raw, file=str(path))


def _write(path: Path, ring: Keyring) -> Keyring:
    write_private(path, secret_file_of(ring))
    return ring
