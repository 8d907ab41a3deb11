"""Seals: the signature that clew puts on reasoning from outside the realm `anthropic`.

A sealed block travels through the client like a signed one (clients hand signatures back byte for byte, whatever is in
them), and when it comes back the seal says who made it and carries what the maker wants back. It is

    "clew1." + base64url(layout version, key id, principal, origin, exchange, index, payload, MAC)

without padding. The MAC is HMAC-SHA256, under a key that is derived from the secret for this one purpose, over all that
stands before it and over the block's text, so a seal holds for one block of one principal and for nothing else; the
exchange and the index make no two alike. It authenticates and does not hide: payloads are ciphertext of their vendor
already, or reasoning that the client was shown anyway. Nothing of a token is interpreted before its MAC holds, except
which key to try.

What begins like a seal, of whatever version (`clew1.`, `clew2.` …), never goes to any backend, valid or not: `is_seal` looks
at the beginning and at nothing else, so that a conversation survives a downgrade.
For `redacted_thinking` the seal sits in `data`, and the text is "".

The secret behind the seals is a ring of keys, one of which mints. A key is named by a hash of itself, so that machines which
share a secret share its name without agreeing on one. A ring comes from an environment variable (`read_secret_text`) or from
a file (`read_secret_file`, `secret_file_of`), which `clew.settings.own_keys` reads and writes.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from typing import NoReturn

import msgspec
from msgspec import Struct

from clew.errors import SealInvalid, SettingsInvalid
from clew.model.origin import Origin

PREFIX = "clew1."
"""Of the seals that are made here."""
_ANY_VERSION = re.compile(r"clew[0-9]+\.")

INLINE_LIMIT = 16 * 1024
"""A payload above this stays in the store: every later request of the client would upload it again."""

MAX_SEALED = 1024 * 1024
"""Bytes that a seal may hold in all. Far above the largest signature seen (80 kB); a larger one is no seal of clew."""

MIN_SECRET = 32
"""As many bytes as the MAC has: a shorter secret would be the weakest part."""

_LAYOUT = b"\x01"
_MAC_SIZE = 32
_MAC_PURPOSE = b"clew seal 1: mac"

_Fields = tuple[str, str, str, str, str, str, int, bool, bytes]
_fields = msgspec.msgpack.Decoder(_Fields)


class Seal(Struct, frozen=True):
    """The content of a seal. With `reference` the payload is a block key, and the store has what the maker wants back."""

    principal: str
    origin: Origin
    exchange: str
    index: int
    payload: bytes = b""
    reference: bool = False


class Sealer:
    """Mints with the current key, opens with every key it has: to rotate, add a key, make it current, keep the old.

    >>> sealer = Sealer({"k1": b"a secret of thirty-two bytes, or more"}, current="k1")
    >>> token = sealer.mint(Seal("local", Origin("glm", "glm", "glm-5"), exchange="1a", index=0), "Hm.")
    >>> token.startswith("clew1."), sealer.open(token, "Hm.", principal="local").origin.model
    (True, 'glm-5')
    """

    def __init__(self, keys: Mapping[str, bytes], current: str) -> None:
        if current not in keys:
            raise SettingsInvalid(f"the current sealing key {current!r} is not among the keys", key=current)
        for id, secret in keys.items():
            if not 0 < len(id.encode()) < 256:
                raise SettingsInvalid(f"a sealing key's id has 1 to 255 bytes, not {id!r}", key=id)
            if len(secret) < MIN_SECRET:
                raise SettingsInvalid(f"sealing key {id!r} has {len(secret)} bytes; it needs at least {MIN_SECRET}", key=id)
        self._current = current
        self._mac_keys = {id: hmac.digest(secret, _MAC_PURPOSE, "sha256") for id, secret in keys.items()}

    @property
    def current(self) -> str:
        """The id of the key that mints."""
        return self._current

    def mint(self, seal: Seal, text: str) -> str:
        """The seal as a signature for a block with this text. Same input, same token."""
        name, origin = self._current.encode(), seal.origin
        made = (origin.realm, origin.backend, origin.model, origin.account)
        fields: _Fields = (seal.principal, *made, seal.exchange, seal.index, seal.reference, seal.payload)
        sealed = _LAYOUT + bytes([len(name)]) + name + msgspec.msgpack.encode(fields)
        assert len(sealed) + _MAC_SIZE <= MAX_SEALED, "a payload of this size goes by reference"
        return PREFIX + _base64url(sealed + _mac(self._mac_keys[self._current], sealed, text))

    def open(self, token: str, text: str, *, principal: str) -> Seal:
        """The content of the seal on this text. Raises SealInvalid unless every byte of both is as this principal got it."""
        sealed, mac = _split(token)
        name = sealed[2 : 2 + sealed[1]] if len(sealed) > 1 else b""
        key = self._mac_keys.get(name.decode("utf-8", "replace"))
        if key is None:
            _refuse("its key is not known here")
        if not hmac.compare_digest(mac, _mac(key, sealed, text)):
            _refuse("it does not fit this block, or a byte was changed")
        owner, realm, backend, model, account, exchange, index, reference, payload = _fields.decode(sealed[2 + sealed[1] :])
        if not hmac.compare_digest(_raw(owner), _raw(principal)):
            _refuse("it belongs to another principal")
        return Seal(owner, Origin(realm, backend, model, account), exchange, index, payload, reference)


def is_seal(signature: str) -> bool:
    """Whether this is a seal of clew, of any version, which no backend may get: by its beginning alone, since a broken seal
    must not leave either."""
    return _ANY_VERSION.match(signature) is not None


def _split(token: str) -> tuple[bytes, bytes]:
    """The sealed bytes and their MAC."""
    if not token.startswith(PREFIX):
        _refuse("its version is not known here" if is_seal(token) else f"it does not begin with {PREFIX!r}")
    if len(token) > len(PREFIX) + MAX_SEALED * 4 // 3 + 1:
        _refuse("it is longer than any seal")
    text = token[len(PREFIX) :]
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        _refuse("it is not base64url")
    if _base64url(raw) != text:  # the last character has bits that decoding ignores
        _refuse("it is not base64url in its one canonical form")
    if raw[:1] != _LAYOUT:
        _refuse("its layout version is not known here")
    return raw[:-_MAC_SIZE], raw[-_MAC_SIZE:]


def _mac(key: bytes, sealed: bytes, text: str) -> bytes:
    """The length in front keeps a byte from moving between what is sealed and the text."""
    return hmac.digest(key, PREFIX.encode() + len(sealed).to_bytes(8, "big") + sealed + _raw(text), "sha256")


def _raw(text: str) -> bytes:
    """The text as bytes. JSON can hold a lone surrogate, which must not fail here."""
    return text.encode("utf-8", "surrogatepass")


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _refuse(why: str) -> NoReturn:
    raise SealInvalid(f"this seal does not open: {why}")


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
