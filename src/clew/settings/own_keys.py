"""The keys of clew itself: those that clients present to the gateway, and the secret behind the seals.

The gateway's own key is any string in `CLEW_KEY`, or one that is made at the first start and kept in a private file. Keys
for others have names, and are in `clew.settings.named_keys`.

The sealing secret is `CLEW_SECRET`, or a private file. Several gateways may share one home, and the first seal of each must
open in all of them. So the first one makes the file, under a lock and by a rename, and all others use what the file then
says. Rotation takes the same lock: two rotations at once must not lose a key, because clients hold seals that need it.
"""

from __future__ import annotations

import os
import secrets
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from clew.errors import SettingsInvalid
from clew.settings.home import Home, locked, read_private, write_private
from clew.thinking.keyring import Keyring, keyring_of, read_secret_file, read_secret_text, secret_file_of
from clew.thinking.seal import MIN_SECRET

KEY_VARIABLE: Final = "CLEW_KEY"
SECRET_VARIABLE: Final = "CLEW_SECRET"  # noqa: S105  (the name of a variable)
"""One secret of at least 32 characters, or several separated by commas: the first mints, all open. Empty is as unset."""
KEY_PREFIX: Final = "clew"
_BASE62: Final = string.digits + string.ascii_letters
_KID_LENGTH: Final = 8
_SECRET_LENGTH: Final = 43
"""Characters of base 62 that hold 256 bits."""


def load_key(home: Home, environ: Mapping[str, str]) -> str:
    """The gateway's own key, made if there is none yet."""
    if given := environ.get(KEY_VARIABLE, "").strip():
        return given
    if kept := _read_own(home.key):
        return kept
    with locked(home.key):  # read again: several gateways may start at once
        if kept := _read_own(home.key):
            return kept
        key = new_key_text()[0]
        write_private(home.key, f"{key}\n".encode())
        return key


def new_key_text() -> tuple[str, str, str]:
    """A new key, its public part and its secret part."""
    kid, secret = _base62(_KID_LENGTH), _base62(_SECRET_LENGTH)
    return f"{KEY_PREFIX}_{kid}_{secret}", kid, secret


def _base62(length: int) -> str:
    return "".join(secrets.choice(_BASE62) for _ in range(length))


def _read_own(path: Path) -> str:
    raw = read_private(path)
    return raw.decode("utf-8", "replace").strip() if raw else ""


def load_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """The keys from the environment, else from the file, which is made if it is not there."""
    if ring := known_keyring(path, environ):
        return ring
    with locked(path):  # read again: another process may have made the file meanwhile
        return _read_keyring(path) or _write_keyring(path, keyring_of(secrets.token_bytes(MIN_SECRET)))


def known_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring | None:
    """The keys, for commands that only open seals: none is made."""
    if text := environ.get(SECRET_VARIABLE, "").strip():
        return read_secret_text(text, name=SECRET_VARIABLE)
    return _read_keyring(path)


def rotate_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """A new current key; the old ones go on opening what they sealed."""
    if environ.get(SECRET_VARIABLE, "").strip():
        raise SettingsInvalid(
            f"the secret comes from {SECRET_VARIABLE}: put a new one in front of it, with a comma between",
            key=SECRET_VARIABLE,
        )
    fresh = secrets.token_bytes(MIN_SECRET)
    with locked(path):
        ring = _read_keyring(path)
        return _write_keyring(path, ring.rotated(fresh) if ring else keyring_of(fresh))


def _read_keyring(path: Path) -> Keyring | None:
    """The keys in the file; None if there is no file. Raises SettingsInvalid for a file that is not private."""
    raw = read_private(path)
    return None if raw is None else read_secret_file(raw, file=str(path))


def _write_keyring(path: Path, ring: Keyring) -> Keyring:
    write_private(path, secret_file_of(ring))
    return ring
