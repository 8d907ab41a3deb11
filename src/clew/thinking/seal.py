"""Seals: the signature that clew puts on reasoning from outside the realm `anthropic`.

A sealed block travels through the client like a signed one (clients hand signatures back byte for byte, whatever is in
them), and when it comes back the seal says who made it and carries what the maker wants back. It is

    "clew1." + base64url(layout version, key id, principal, origin, exchange, index, payload, MAC)

without padding. The MAC is HMAC-SHA256, under a key that is derived from the secret for this one purpose, over all that
stands before it and over the block's text, so a seal holds for one block of one principal and for nothing else; the
exchange and the index make no two alike. It authenticates and does not hide: payloads are ciphertext of their vendor
already, or reasoning that the client was shown anyway. Nothing of a token is interpreted before its MAC holds, except
which key to try.

What begins with `clew1.` never goes to any backend, valid or not: `is_seal` looks at the prefix and at nothing else.
For `redacted_thinking` the seal sits in `data`, and the text is "".
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from typing import NoReturn

import msgspec
from msgspec import Struct

from clew.errors import SealInvalid, SettingsInvalid
from clew.model.origin import Origin

PREFIX = "clew1."

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
        key_id = self._current.encode()
        sealed = _LAYOUT + bytes([len(key_id)]) + key_id + _packed(seal)
        assert len(sealed) + _MAC_SIZE <= MAX_SEALED, "a payload of this size goes by reference"
        return PREFIX + _base64url(sealed + _mac(self._mac_keys[self._current], sealed, text))

    def open(self, token: str, text: str, *, principal: str) -> Seal:
        """The content of the seal on this text. Raises SealInvalid unless every byte of both is as this principal got it."""
        sealed, mac = _split(token)
        key_id = sealed[2 : 2 + sealed[1]] if len(sealed) > 1 else b""
        key = self._mac_keys.get(key_id.decode("utf-8", "replace"))
        if key is None:
            _refuse("its key is not known here")
        if not hmac.compare_digest(mac, _mac(key, sealed, text)):
            _refuse("it does not fit this block, or a byte was changed")
        seal = _unpacked(sealed)
        if not hmac.compare_digest(_raw(seal.principal), _raw(principal)):
            _refuse("it belongs to another principal")
        return seal


def is_seal(signature: str) -> bool:
    """Whether this is a seal of clew, which no backend may get: by prefix alone, since a broken seal must not leave
    either."""
    return signature.startswith(PREFIX)


def needs_reference(payload: bytes) -> bool:
    """Whether this payload is too large to travel inside the seal."""
    return len(payload) > INLINE_LIMIT


def _packed(seal: Seal) -> bytes:
    origin = seal.origin
    fields: _Fields = (
        seal.principal,
        origin.realm,
        origin.backend,
        origin.model,
        origin.account,
        seal.exchange,
        seal.index,
        seal.reference,
        seal.payload,
    )
    return msgspec.msgpack.encode(fields)


def _unpacked(sealed: bytes) -> Seal:
    """The seal in bytes whose MAC holds: they are as `_packed` made them."""
    fields = _fields.decode(sealed[2 + sealed[1] :])
    principal, realm, backend, model, account, exchange, index, reference, payload = fields
    return Seal(principal, Origin(realm, backend, model, account), exchange, index, payload, reference)


def _split(token: str) -> tuple[bytes, bytes]:
    """The sealed bytes and their MAC."""
    if not is_seal(token):
        _refuse(f"it does not begin with {PREFIX!r}")
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
