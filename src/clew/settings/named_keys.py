"""Named keys of an installation: where they are kept, and how they are made, changed and moved.

A key is minted: `clew_<kid>_<secret>`, shown once, kept as a hash. They are in the store, so that all gateways of a store
have the same ones; where the settings switch the store off, they are in a private file of the home. Keys in that file are
moved once, when there is a store: the file gets another name, and stays as a backup.

What a store said last is remembered in a private file of the home. With that, a gateway that starts while its database is
away lets the same callers in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.errors import SettingsInvalid
from clew.limits.keys import (
    KeyChange,
    KeyRights,
    MintedSecret,
    NamedKey,
    add_key,
    edit_key,
    key_named,
    key_words,
    remove_key,
    rotate_key,
)
from clew.settings.home import Home, locked, read_private, write_private
from clew.settings.own_keys import new_key_text
from clew.store import Store

WRITE_SECONDS: Final = 10.0
_VERSION: Final = 1
_USUAL: Final = KeyRights()

_log = logging.getLogger("clew")


class _File(Struct, frozen=True, kw_only=True):
    version: int = _VERSION
    where: str = ""
    """The store that they are from, where that is not this file."""
    keys: tuple[NamedKey, ...] = ()


class NamedKeys:
    """The keys in a store; without one, those in the file of the home. All of it may wait for a disk or a database, and
    raises SettingsInvalid and StoreError."""

    def __init__(self, home: Home, store: Store | None = None) -> None:
        self._home = home
        self._store = store

    @property
    def store(self) -> Store | None:
        return self._store

    def all(self) -> tuple[NamedKey, ...]:
        """All keys, also those that a rotation has replaced."""
        if self._store is None:
            return _read(self._home.keys).keys
        self._move_file(self._store)
        return self._store.keys.all()

    def add(
        self,
        name: str,
        *,
        principal: str,
        team: str = "",
        rights: KeyRights = _USUAL,
        parent: str = "",
        by: str = "",
        now: float | None = None,
    ) -> tuple[NamedKey, str]:
        """A new key, and the text to give to its holder, which is not kept and cannot be shown again."""
        text, kid, secret = new_key_text()
        wanted = NamedKey(
            name=name,
            kid=kid,
            hash=hash_of(secret),
            principal=principal,
            created=time.time() if now is None else now,
            team=team,
            rights=rights,
            parent=parent,
            made_by=by,
        )
        return self._change(lambda rows: add_key(rows, wanted), by).row, text

    def rotate(self, name: str, *, overlap: float = 0.0, by: str = "") -> tuple[NamedKey, str]:
        """A new secret for the name; the old one opens for `overlap` seconds more. Recordings stay its principal's."""
        text, kid, secret = new_key_text()
        minted, now = MintedSecret(kid, hash_of(secret)), time.time()
        return self._change(lambda rows: rotate_key(rows, name, minted, now=now, overlap=overlap), by).row, text

    def edit(self, name: str, change: Callable[[NamedKey], tuple[KeyRights, str]], *, by: str = "") -> NamedKey:
        """Other rights, and another team: `change` says which, from the key as it is."""
        return self._change(lambda rows: edit_key(rows, name, *change(key_named(rows, name))), by).row

    def remove(self, name: str, *, by: str = "") -> NamedKey:
        """Revoke a key, and its children."""
        return self._change(lambda rows: remove_key(rows, name), by).row

    def note_used(self, used: dict[str, float]) -> None:
        """Record when keys were last used, by their ids, without waiting for the write. Nothing is kept without a store."""
        if self._store is not None and used:
            self._store.keys.note_used(used)

    def remember(self, rows: Sequence[NamedKey]) -> None:
        """Keep a copy of the store's keys on this machine, for a start without the store. A copy that cannot be written is
        left out: requests go on."""
        if self._store is not None and (rows or self._home.known_keys.exists()):
            with suppress(SettingsInvalid):
                _write(self._home.known_keys, _File(where=self._store.describe(), keys=tuple(rows)))

    def _change(self, work: Callable[[Sequence[NamedKey]], KeyChange], by: str) -> KeyChange:
        if self._store is None:
            with locked(self._home.keys):
                change = work(_read(self._home.keys).keys)
                _write(self._home.keys, _File(keys=change.rows))
            return change
        self._move_file(self._store)
        change = self._store.keys.change(work, at=time.time(), by=by).result(WRITE_SECONDS)
        self.remember(change.rows)
        return change

    def _move_file(self, store: Store) -> None:
        """Take the keys of the file over into the store, once. The file stays, under another name."""
        path = self._home.keys
        if not path.exists():
            return
        with locked(path):  # several processes may start together
            found = _read(path).keys
            if found:
                store.keys.change(lambda rows: _merged(rows, found), at=time.time(), by="clew").result(WRITE_SECONDS)
            with suppress(FileNotFoundError):
                backup = _free_name(path.with_name(f"{path.name}.moved"))
                path.rename(backup)
                where = store.describe()
                _log.warning("the keys in %s were moved to the store (%s); the file is kept as %s", path, where, backup)


def known_keys(home: Home, where: str | None = None) -> tuple[NamedKey, ...]:
    """The keys that this machine knows without asking a database: the copy of the store's keys (of the store at `where`, if
    it is given), and those in the file. Raises SettingsInvalid for a file that cannot be used."""
    remembered = _File()
    with suppress(SettingsInvalid):  # it is only a copy
        remembered = _read(home.known_keys)
    rows = remembered.keys if where in (None, remembered.where) else ()
    kids = {row.kid for row in rows}
    return (*rows, *(row for row in _read(home.keys).keys if row.kid not in kids))


def hash_of(secret: str) -> str:
    """A random secret of 256 bits needs no slow hash."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _merged(rows: Sequence[NamedKey], found: Sequence[NamedKey]) -> KeyChange:
    """The keys of the file beside those of the store, where another machine may have moved its own."""
    kids, names = {row.kid for row in rows}, {row.name for row in rows}
    new = [
        structs.replace(row, name=f"{row.name} {row.kid}") if row.name in names else row
        for row in found
        if row.kid not in kids
    ]
    words = ", ".join(f"{row.name} ({key_words(row)})" for row in new) or "all of them were there"
    return KeyChange((*rows, *new), found[0], "keys moved into the store", "", words)


def _free_name(path: Path) -> Path:
    return path if not path.exists() else path.with_name(f"{path.name}-{time.time_ns()}")


def _read(path: Path) -> _File:
    raw = read_private(path)
    if raw is None:
        return _File()
    try:
        file = msgspec.json.decode(raw, type=_File)
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"{path} is not a table of keys: {error}", file=str(path)) from None
    if file.version != _VERSION:
        raise SettingsInvalid(f"{path} has version {file.version}; this clew reads {_VERSION}", file=str(path))
    return file


def _write(path: Path, file: _File) -> None:
    write_private(path, msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n")
