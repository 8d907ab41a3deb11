"""Seals: what clew puts in the place of a signature, so that a thought says whose it is when it comes back.

A sealed block travels through the client like a signed one: clients hand signatures back byte for byte, whatever is in
them. There are two layouts, for two kinds of clients:

    "clew1." + base64url(layout, key id, principal, origin, exchange, index, payload, MAC)
    "clew2." + base64url(layout, block key, key id, principal, origin, exchange, index, kind, text, payload, MAC)

without padding. The first is for clients that keep the text of a thought beside it (the Messages API): it brings what the
maker wants back, and its MAC is also over the text, so it holds for one block alone. The second is for clients that drop,
join or edit the text: it brings the whole block, its MAC is over what it brings, and what the client has beside it is for
people to read. Above `INLINE_LIMIT` either may refer to the store instead.

The MAC is HMAC-SHA256, under a key that is derived from the secret for this one purpose, over all that stands before it.
The principal is in it, and the exchange and the index make no two alike. A seal authenticates and does not hide: payloads
are ciphertext of their vendor already, or reasoning that the client was shown anyway. Nothing of a token is interpreted
before its MAC holds, except which key to try; and a block key, which finds a recording of the principal or nothing
(`named_key`).

What begins like a seal, of whatever version (`clew1.`, `clew2.` …), never goes to any backend, valid or not: `is_seal` looks
at the beginning and at nothing else, so that a conversation survives a downgrade.
For `redacted_thinking` the seal sits in `data`, and the text is "".
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from typing import Literal, NoReturn, TypeAlias

import msgspec
from msgspec import Struct

from clew.errors import SealInvalid, SettingsInvalid
from clew.model.origin import Origin

BlockKind: TypeAlias = Literal["thinking", "redacted_thinking"]

PREFIX = "clew1."
"""Of a seal beside which the client keeps the text."""
WHOLE_PREFIX = "clew2."
"""Of a seal that brings the whole block."""
_ANY_VERSION = re.compile(r"clew[0-9]+\.")

INLINE_LIMIT = 16 * 1024
"""A payload above this stays in the store: every later request of the client would upload it again."""

MAX_SEALED = 1024 * 1024
"""Bytes that a seal may hold in all. Far above the largest signature seen (80 kB); a larger one is no seal of clew."""

STORELESS_LIMIT = 128 * 1024
"""The same where there is no store: what does not travel is lost."""

MIN_SECRET = 32
"""As many bytes as the MAC has: a shorter secret would be the weakest part."""

_LAYOUT = b"\x01"
_WHOLE_LAYOUT = b"\x02"
_KEY_SIZE = 32
_MAC_SIZE = 32
_MAC_PURPOSE = b"clew seal 1: mac"
_KEY_LETTERS = (1 + _KEY_SIZE) * 4 // 3
"""Of a token behind its prefix: the layout and the block key, which end where a letter ends."""

_Fields = tuple[str, str, str, str, str, str, int, bool, bytes]
_fields = msgspec.msgpack.Decoder(_Fields)
_WholeFields = tuple[str, str, str, str, str, str, int, bool, bytes, BlockKind, bytes]
_whole_fields = msgspec.msgpack.Decoder(_WholeFields)


class Seal(Struct, frozen=True):
    """The content of a seal. With `reference` the store has what the maker wants back, under a block key: the payload, or
    for a whole block `key`."""

    principal: str
    origin: Origin
    exchange: str
    index: int
    payload: bytes = b""
    reference: bool = False
    kind: BlockKind | None = None
    """The type of the block that the seal brings whole; None for one that needs the client's text."""
    text: str = ""
    key: bytes = b""
    """Under which the whole block is found in the store."""


class Sealer:
    """Makes seals with the current key, and opens seals of every key that it has. To rotate: add a key, make it current,
    keep the old one.

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

    @property
    def ids(self) -> tuple[str, ...]:
        """Of all keys, the current one first."""
        return (self._current, *(id for id in self._mac_keys if id != self._current))

    def mint(self, seal: Seal, text: str = "") -> str:
        """The seal as a signature for a block with this text; a whole one needs none. Same input, same token."""
        name, origin = self._current.encode(), seal.origin
        made = (origin.realm, origin.backend, origin.model, origin.account)
        fields: _Fields = (seal.principal, *made, seal.exchange, seal.index, seal.reference, seal.payload)
        prefix, head, more = PREFIX, _LAYOUT, fields
        if seal.kind is not None:
            assert len(seal.key) == _KEY_SIZE, "the store finds a whole block by its key"
            prefix, head, more = WHOLE_PREFIX, _WHOLE_LAYOUT + seal.key, (*fields, seal.kind, _raw(seal.text))
        sealed = head + bytes([len(name)]) + name + msgspec.msgpack.encode(more)
        assert len(sealed) + _MAC_SIZE <= MAX_SEALED, "a payload of this size goes by reference"
        mac = _mac(self._mac_keys[self._current], prefix, sealed, "" if seal.kind else text)
        return prefix + _base64url(sealed + mac)

    def open(self, token: str, text: str, *, principal: str) -> Seal:
        """The content of the seal on this text. Raises SealInvalid unless every byte of the token is as this principal got
        it, and of the text too, where the seal does not bring it."""
        sealed, mac = _split(token)
        prefix, at = (WHOLE_PREFIX, 1 + _KEY_SIZE) if sealed[:1] == _WHOLE_LAYOUT else (PREFIX, 1)
        size = sealed[at] if len(sealed) > at else 0
        key = self._mac_keys.get(sealed[at + 1 : at + 1 + size].decode("utf-8", "replace"))
        if key is None:
            _refuse("its key is not known here")
        if not hmac.compare_digest(mac, _mac(key, prefix, sealed, text if prefix == PREFIX else "")):
            _refuse("it does not fit this block, or a byte was changed")
        seal = _content(sealed[at + 1 + size :], sealed[1:at])
        if not hmac.compare_digest(_raw(seal.principal), _raw(principal)):
            _refuse("it belongs to another principal")
        return seal


def _content(fields: bytes, key: bytes) -> Seal:
    """Of a seal whose MAC holds; `key` is the block key of a whole one."""
    whole: tuple[BlockKind | None, str] = (None, "")
    if key:
        owner, realm, backend, model, account, exchange, index, reference, payload, kind, text = _whole_fields.decode(fields)
        whole = kind, text.decode("utf-8", "surrogatepass")
    else:
        owner, realm, backend, model, account, exchange, index, reference, payload = _fields.decode(fields)
    return Seal(owner, Origin(realm, backend, model, account), exchange, index, payload, reference, *whole, key)


def is_seal(signature: str) -> bool:
    """Whether this is a seal of clew, of any version, which no backend may get: by its beginning alone, since a broken seal
    must not leave either."""
    return _ANY_VERSION.match(signature) is not None


def named_key(token: str) -> bytes | None:
    """The block key that a seal of a whole block names; None for any other proof. It is not yet known whether it holds: it
    can find a recording of the principal that asks, and nothing else."""
    if not token.startswith(WHOLE_PREFIX):
        return None
    try:
        raw = base64.urlsafe_b64decode(token[len(WHOLE_PREFIX) : len(WHOLE_PREFIX) + _KEY_LETTERS])
    except ValueError:
        return None
    return raw[1:] if len(raw) == 1 + _KEY_SIZE and raw[:1] == _WHOLE_LAYOUT else None


def _split(token: str) -> tuple[bytes, bytes]:
    """The sealed bytes and their MAC."""
    layout = {PREFIX: _LAYOUT, WHOLE_PREFIX: _WHOLE_LAYOUT}.get(token[: len(PREFIX)])
    if layout is None:
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
    if raw[:1] != layout:
        _refuse("its layout version is not known here")
    return raw[:-_MAC_SIZE], raw[-_MAC_SIZE:]


def _mac(key: bytes, prefix: str, sealed: bytes, text: str) -> bytes:
    """The length in front keeps a byte from moving between what is sealed and the text."""
    return hmac.digest(key, prefix.encode() + len(sealed).to_bytes(8, "big") + sealed + _raw(text), "sha256")


def _raw(text: str) -> bytes:
    """The text as bytes. JSON can hold a lone surrogate, which must not fail here."""
    return text.encode("utf-8", "surrogatepass")


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _refuse(why: str) -> NoReturn:
    raise SealInvalid(f"this seal does not open: {why}")


# Sealed summaries: what a client holds in place of a history that was compacted. Clients of the Responses API ask for one
# and send it back as it is, so it has to bring its text, to any backend. The seal is over a text of its own, so that no seal
# of a thought can be taken for a summary.


LONGEST_SUMMARY = 700_000
"""Bytes of a summary that a seal takes."""

_OVER = "a summary of the conversation"
_HEAD = "Summary of the conversation so far (the messages before it were compacted):\n\n"


def seal_summary(sealer: Sealer, text: str, *, principal: str, origin: Origin, exchange: str) -> str:
    """The seal that brings this summary. Raises SealInvalid if it is too long for one."""
    payload = text.encode("utf-8", "surrogatepass")
    if len(payload) > LONGEST_SUMMARY:
        raise SealInvalid(f"a summary of {len(payload)} bytes is longer than the {LONGEST_SUMMARY} that a seal takes")
    return sealer.mint(Seal(principal, origin, exchange, 0, payload), _OVER)


def open_summary(sealer: Sealer, token: str, *, principal: str) -> str:
    """The summary in words for any model. Raises SealInvalid."""
    return _HEAD + sealer.open(token, _OVER, principal=principal).payload.decode("utf-8", "surrogatepass")
