"""Encrypted content: reasoning that only its maker can read, bound to an organization and to the id of its item.

A blob holds the item's id, the model and the thought, scrambled and with a proof. Keys come from the realm's secret and the
account, so simulators of one realm and account open each other's blobs, and no others. The scrambling is no encryption that
would keep a secret: it makes sure that nobody reads a blob by accident.

The shapes are those that were seen: Fernet tokens (base64url, version byte 0x80, ciphertext in blocks of 16), unpadded
base64 without any envelope, a token behind a prefix, or the plain text itself, which proves nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Struct

from clew.simulator.openai_responses.vendors import BlobShape

_VERSION: Final = b"\x80"
_TIME: Final = 8
_MADE: Final = 1_790_000_000
"""Seconds: always the same time, so that the same seed gives the same bytes."""
_NONCE: Final = 16
_MAC: Final = 32
_BLOCK: Final = 16
PREFIX: Final = "rsn_"
"""What tokens of the shape `prefixed` begin with."""


class BlobContent(Struct, frozen=True, kw_only=True):
    """What the vendor encrypts in the opaque content of an item."""

    id: str
    model: str
    text: str
    part: bool = False
    """From the beginning of an item: not the whole thought, and not to be sent back."""


@dataclass(frozen=True, slots=True)
class BlobKey:
    """Makes and opens the blobs of one account."""

    secret: bytes
    account: str
    shape: BlobShape

    def make(self, content: BlobContent, *, salt: str) -> str:
        """The encrypted content. `salt` makes equal thoughts differ."""
        if self.shape == "plain":
            return content.text
        plain = msgspec.json.encode(content)
        plain += b" " * (-len(plain) % _BLOCK)
        nonce = hashlib.sha256(f"{salt}\n{content.part}".encode()).digest()[:_NONCE]
        head = _VERSION + _MADE.to_bytes(_TIME) if self.shape != "base64" else b""
        body = head + nonce + self._scrambled(plain, nonce)
        raw = body + self._mac(body)
        if self.shape == "base64":
            return base64.b64encode(raw).decode().rstrip("=")
        token = base64.urlsafe_b64encode(raw).decode()
        return PREFIX + token if self.shape == "prefixed" else token

    def open(self, blob: str) -> BlobContent | None:
        """What the blob says; None if it is not from here, or not whole."""
        if self.shape in ("plain", "none"):
            return None
        raw = self._raw(blob)
        body, mac = raw[:-_MAC], raw[-_MAC:]
        if not body or not hmac.compare_digest(mac, self._mac(body)):
            return None
        start = 0 if self.shape == "base64" else len(_VERSION) + _TIME
        nonce = body[start : start + _NONCE]
        content = msgspec.json.decode(self._scrambled(body[start + _NONCE :], nonce), type=BlobContent)
        return None if content.part else content

    def _raw(self, blob: str) -> bytes:
        text = blob.removeprefix(PREFIX) if self.shape == "prefixed" else blob
        try:
            if self.shape == "base64":
                return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
            return base64.b64decode(text, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return b""

    def _scrambled(self, data: bytes, nonce: bytes) -> bytes:
        stream = hashlib.shake_256(self._key + nonce).digest(len(data))
        return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()

    @property
    def _key(self) -> bytes:
        return hmac.new(self.secret, self.account.encode(), hashlib.sha256).digest()


def signature_of_thought(secret: bytes, model: str, text: str) -> str:
    """The signature that a vendor behind an aggregator puts on a thought that is shown."""
    content = f"{model}\n{text}".encode("utf-8", "surrogatepass")
    return base64.b64encode(hmac.new(secret, content, hashlib.sha256).digest()).decode()
