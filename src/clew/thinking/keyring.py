"""The secret behind the seals: a ring of keys, one of which mints.

A key is named by a hash of itself, so that machines which share a secret share its name without agreeing on one. A ring
comes from an environment variable (`read_secret_text`) or from a file (`read_secret_file`, `secret_file_of`), which
`clew.settings.own_keys` reads and writes.
"""

from __future__ import annotations

import hmac

import msgspec
from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.thinking.seal import MIN_SECRET, Sealer

FILE_VERSION = 1

_ID_PURPOSE = b"clew key id 1"


class Keyring(Struct, frozen=True):
    """Secrets by key id. Every one of them opens seals; only the current one mints. Its repr does not show the keys."""

    current: str
    keys: dict[str, bytes]

    def rotated(self, secret: bytes) -> Keyring:
        """The ring with a new current key. The old ones stay: clients hold seals that they made."""
        id = key_id(secret)
        return Keyring(id, {id: secret, **self.keys})

    def sealer(self) -> Sealer:
        return Sealer(self.keys, self.current)

    def __repr__(self) -> str:
        return f"<Keyring of {len(self.keys)}, current {self.current!r}>"


class _File(Struct, frozen=True):
    version: int
    current: str
    keys: dict[str, bytes]


class _Version(Struct, frozen=True):
    version: int


def key_id(secret: bytes) -> str:
    """A name that says nothing about the secret."""
    return hmac.digest(secret, _ID_PURPOSE, "sha256")[:8].hex()


def keyring_of(current: bytes, *old: bytes) -> Keyring:
    keys = {key_id(secret): secret for secret in (current, *old)}
    return Keyring(key_id(current), keys)


def read_secret_text(text: str, *, name: str) -> Keyring:
    """Secrets separated by commas, the current one first, each used as it is written.

    Hex, base64 or a long phrase are all the same to HMAC, so nothing is decoded and nothing can be decoded in two ways;
    only the length is checked. `name` is the variable that the text came from.
    """
    secrets = [part.strip().encode("utf-8", "surrogateescape") for part in text.split(",")]
    if min(map(len, secrets)) < MIN_SECRET:
        raise SettingsInvalid(
            f"{name} needs at least {MIN_SECRET} characters (of each secret, if several are separated by commas); "
            "`openssl rand -hex 32` prints a good one",
            key=name,
        )
    return keyring_of(*secrets)


def secret_file_of(ring: Keyring) -> bytes:
    return msgspec.json.format(msgspec.json.encode(_File(FILE_VERSION, ring.current, ring.keys)), indent=2) + b"\n"


def read_secret_file(raw: bytes, *, file: str) -> Keyring:
    """The ring that this file holds. Raises SettingsInvalid for a file of another version, and for a damaged one."""
    try:
        version = msgspec.json.decode(raw, type=_Version).version
        if version != FILE_VERSION:
            raise SettingsInvalid(f"{file} has version {version}; this clew reads version {FILE_VERSION}", file=file)
        read = msgspec.json.decode(raw, type=_File)
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"{file} is not a secret file of clew: {error}", file=file) from None
    if read.current not in read.keys:
        raise SettingsInvalid(f"{file} names {read.current!r} as the current key, and holds no such key", file=file)
    for id, secret in read.keys.items():
        # A key that does not fit its name was damaged: every seal made with it would silently be unknown.
        if len(secret) < MIN_SECRET or key_id(secret) != id:
            raise SettingsInvalid(f"{file} is damaged: key {id!r} is not what its name says", file=file, key=id)
    return Keyring(read.current, read.keys)
