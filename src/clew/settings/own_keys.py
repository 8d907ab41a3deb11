"""The keys of clew itself: those that clients present to the gateway, and the secret behind the seals.

The gateway's own key is any string in `CLEW_KEY`, or one that is made at the first start and kept in a private file. Named
keys are minted: `clew_<kid>_<secret>`, shown once, kept as a hash. Each belongs to a principal, the owner of recordings. A
random secret of 256 bits needs no slow hash: the public `kid` finds the row, and the comparison takes the same time whether
there is such a row or not.

The sealing secret is `CLEW_SECRET`, or a private file. Several gateways may share one home, and the first seal of each must
open in all of them. So the first one makes the file, under a lock and by a rename, and all others use what the file then
says. Rotation takes the same lock: two rotations at once must not lose a key, because clients hold seals that need it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import string
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.settings.home import Home, file_digest, locked, read_private, write_private
from clew.thinking.keyring import Keyring, keyring_of, read_secret_file, read_secret_text, secret_file_of
from clew.thinking.seal import MIN_SECRET

KEY_VARIABLE: Final = "CLEW_KEY"
SECRET_VARIABLE: Final = "CLEW_SECRET"  # noqa: S105  (the name of a variable)
"""One secret of at least 32 characters, or several separated by commas: the first mints, all open. Empty is as unset."""
LOCAL: Final = "local"
"""The principal of the gateway's own key."""

_PREFIX: Final = "clew"
_BASE62: Final = string.digits + string.ascii_letters
_KID_LENGTH: Final = 8
_SECRET_LENGTH: Final = 43
"""Characters of base 62 that hold 256 bits."""
_VERSION: Final = 1
_NO_HASH: Final = "0" * 64
NAME_LENGTH: Final = 64


class NamedKey(Struct, frozen=True, kw_only=True):
    """A key as it is kept: everything but the key."""

    name: str
    kid: str
    hash: str
    """SHA-256 of the secret, in hex."""
    principal: str = LOCAL
    created: float = 0.0
    team: str = ""
    """Keys of one team share its limits."""


class KeyHolder(Struct, frozen=True):
    """Who showed a valid key: the owner of recordings, the name of the key, "" for the gateway's own, and its team."""

    principal: str
    key: str = ""
    team: str = ""


class _File(Struct, frozen=True, kw_only=True):
    version: int = _VERSION
    keys: tuple[NamedKey, ...] = ()


def load_key(home: Home, environ: Mapping[str, str]) -> str:
    """The gateway's own key, made if there is none yet."""
    if given := environ.get(KEY_VARIABLE, "").strip():
        return given
    if kept := _read_own(home.key):
        return kept
    with locked(home.key):  # read again: several gateways may start at once
        if kept := _read_own(home.key):
            return kept
        key = f"{_PREFIX}_{_base62(_KID_LENGTH)}_{_base62(_SECRET_LENGTH)}"
        write_private(home.key, f"{key}\n".encode())
        return key


def _read_own(path: Path) -> str:
    raw = read_private(path)
    return raw.decode("utf-8", "replace").strip() if raw else ""


def named_keys(home: Home) -> tuple[NamedKey, ...]:
    """The rows of the table, in the order in which they were made."""
    return _read(home.keys)


def add_key(home: Home, name: str, *, principal: str, team: str = "", now: float | None = None) -> tuple[NamedKey, str]:
    """A new key, and the text to give to its holder, which is not kept and cannot be shown again."""
    with locked(home.keys):
        rows = _read(home.keys)
        if not is_key_name(name):
            raise SettingsInvalid(f"a key's name has 1 to {NAME_LENGTH} printable characters", key="name")
        if any(row.name == name for row in rows):
            raise SettingsInvalid(
                f"there is a key {name!r} already: `clew keys rotate {name}` gives it a new secret", key="name"
            )
        row, key = _mint(name, principal, team, now)
        _write(home.keys, (*rows, row))
    return row, key


def remove_key(home: Home, name: str) -> NamedKey:
    """Revoke a key. Raises SettingsInvalid if there is none of that name."""
    with locked(home.keys):
        rows = _read(home.keys)
        gone = _named(name, rows)
        _write(home.keys, tuple(row for row in rows if row is not gone))
    return gone


def rotate_key(home: Home, name: str, *, now: float | None = None) -> tuple[NamedKey, str]:
    """A new secret for the name; the old one is revoked, and the recordings stay its principal's."""
    with locked(home.keys):
        rows = _read(home.keys)
        old = _named(name, rows)
        row, key = _mint(name, old.principal, old.team, now)
        _write(home.keys, tuple(row if each is old else each for each in rows))
    return row, key


class KeyTable:
    """Whose key is this? Asked for every request: no I/O but a check, once a second at most, whether the file changed."""

    def __init__(
        self,
        own: str,
        path: Path | None = None,
        *,
        extra: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = [(sha256(own.encode()).digest(), LOCAL)] if own else []
        self._own += [(sha256(key.encode()).digest(), principal) for key, principal in (extra or {}).items()]
        self._path = path
        self._clock = clock
        self._looked = float("-inf")
        self._seen: tuple[int, int, int] | None = None
        self._rows: dict[str, NamedKey] = {}
        self._reading = threading.Lock()
        self.digest = ""
        """Of the table as it was read last; "" where there is none."""

    def principal_of(self, presented: str) -> str | None:
        """The principal of a key that a client presents; None if it is not valid."""
        holder = self.holder_of(presented)
        return holder.principal if holder else None

    def holder_of(self, presented: str) -> KeyHolder | None:
        """Who holds a key that a client presents; None if it is not valid."""
        shown = sha256(presented.encode("utf-8", "surrogatepass")).digest()
        found: str | None = None
        for digest, principal in self._own:
            found = principal if hmac.compare_digest(shown, digest) else found
        if found:
            return KeyHolder(found)
        if self._path is not None and self._clock() - self._looked >= 1.0:
            self.look()
        prefix, _, rest = presented.partition("_")
        kid, _, secret = rest.partition("_") if prefix == _PREFIX else ("", "", "")
        row = self._rows.get(kid)
        same = hmac.compare_digest(_hash(secret), row.hash if row else _NO_HASH)
        return KeyHolder(row.principal, row.name, row.team) if row and same else None

    def look(self) -> None:
        """Read the table if it changed. Any thread may call this."""
        if self._path is None:
            return
        with self._reading:
            self._looked = self._clock()
            try:
                status = self._path.stat()
                mark = status.st_mtime_ns, status.st_size, status.st_ino
            except OSError:
                mark = None
            if mark != self._seen:
                with suppress(SettingsInvalid):  # a table that cannot be read now changes nothing; `clew keys` says why
                    digest = file_digest(self._path)
                    self._rows = {row.kid: row for row in _read(self._path)}
                    self._seen = mark  # only now: a table that cannot be read yet is tried again
                    self.digest = digest


def _mint(name: str, principal: str, team: str, now: float | None) -> tuple[NamedKey, str]:
    kid, secret = _base62(_KID_LENGTH), _base62(_SECRET_LENGTH)
    created = time.time() if now is None else now
    row = NamedKey(name=name, kid=kid, hash=_hash(secret), principal=principal, created=created, team=team)
    return row, f"{_PREFIX}_{kid}_{secret}"


def _base62(length: int) -> str:
    return "".join(secrets.choice(_BASE62) for _ in range(length))


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_key_name(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name) <= NAME_LENGTH


def _named(name: str, rows: tuple[NamedKey, ...]) -> NamedKey:
    for row in rows:
        if row.name == name:
            return row
    known = ", ".join(row.name for row in rows) or "none"
    raise SettingsInvalid(f"there is no key {name!r} (there are: {known})", key="name")


def _read(path: Path) -> tuple[NamedKey, ...]:
    raw = read_private(path)
    if raw is None:
        return ()
    try:
        file = msgspec.json.decode(raw, type=_File)
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"{path} is not a table of keys: {error}", file=str(path)) from None
    if file.version != _VERSION:
        raise SettingsInvalid(f"{path} has version {file.version}; this clew reads {_VERSION}", file=str(path))
    return file.keys


def _write(path: Path, rows: tuple[NamedKey, ...]) -> None:
    write_private(path, msgspec.json.format(msgspec.json.encode(_File(keys=rows)), indent=2) + b"\n")


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
