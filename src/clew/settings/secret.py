"""Where the sealing secret is kept: `CLEW_SECRET`, or a file that only its owner can read.

Several gateways may share one home, and the first seal of each must open in all of them. So the first one makes the file,
under a lock and by a rename, and all others use what the file then says. Rotation takes the same lock: two rotations at once
must not lose a key, because clients hold seals that need it. Reading takes no lock, since a rename is atomic.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from clew.errors import SettingsInvalid
from clew.settings.home import locked, read_private, write_private
from clew.thinking.seal import MIN_SECRET
from clew.thinking.secret import Keyring, keyring_of, read_secret_file, read_secret_text, secret_file_of

SECRET_VARIABLE = "CLEW_SECRET"  # noqa: S105  (the name of a variable)
"""One secret of at least 32 characters, or several separated by commas: the first mints, all open. Empty is as unset."""


def load_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """The keys from the environment, else from the file, which is made if it is not there."""
    if ring := known_keyring(path, environ):
        return ring
    with locked(path):  # read again: another process may have made the file meanwhile
        return _read(path) or _write(path, keyring_of(secrets.token_bytes(MIN_SECRET)))


def known_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring | None:
    """The keys, for commands that only open seals: none is made."""
    if text := environ.get(SECRET_VARIABLE, "").strip():
        return read_secret_text(text, name=SECRET_VARIABLE)
    return _read(path)


def rotate_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """A new current key; the old ones go on opening what they sealed."""
    if environ.get(SECRET_VARIABLE, "").strip():
        raise SettingsInvalid(
            f"the secret comes from {SECRET_VARIABLE}: put a new one in front of it, with a comma between",
            key=SECRET_VARIABLE,
        )
    fresh = secrets.token_bytes(MIN_SECRET)
    with locked(path):
        ring = _read(path)
        return _write(path, ring.rotated(fresh) if ring else keyring_of(fresh))


def _read(path: Path) -> Keyring | None:
    """The keys in the file; None if there is no file. Raises SettingsInvalid for a file that is not private."""
    raw = read_private(path)
    return None if raw is None else read_secret_file(raw, file=str(path))


def _write(path: Path, ring: Keyring) -> Keyring:
    write_private(path, secret_file_of(ring))
    return ring
