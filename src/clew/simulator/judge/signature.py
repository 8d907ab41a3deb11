"""The simulator's signatures: `base64(header ‖ imprint ‖ MAC)`.

The *imprint* is all that the vendor must remember of a thinking block to judge it when it comes back: who made it, for
whom, after what, and what was thought. The text is there only as a hash, so a block whose text was never shown proves
itself just as well (R33); how much of it was shown is not there at all, so the signature is the same for every `display`
(R41). The secret comes from the simulator's realm, or else from its kind and seed: simulators that share it know each
other's blocks, all others refuse them. A signature with one changed byte is nobody's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

import msgspec

from clew.simulator.interfaces import Kind

__all__ = ["Imprint", "Link", "hash_text", "mint", "noise", "secret", "verify"]

_HEADER = b"\x12sim1"
_MAC_BYTES = 16


class Link(msgspec.Struct, frozen=True, array_like=True):
    """What stood before a block: the last thinking block, and how many stood in an unbroken row up to it."""

    last: bytes = b""
    length: int = 0


class Imprint(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What a signature vouches for."""

    redacted: bool
    model: str
    """The name of the model's profile."""
    account: str
    end_user: bytes = b""
    """A hash of `metadata.user_id`, if the request asked to be bound to it (C-4: aws)."""
    accounts: tuple[str, ...] = ()
    """Other accounts that may read it (C-4: aws)."""
    tokens: int
    """Of the whole text: what it costs when it is read again."""
    prefix: bytes
    base: bytes
    head: bytes
    count: int
    sent: Link
    """Its predecessor among all blocks that were sent."""
    read: Link
    """Its predecessor among those that the model could read."""
    answer: bytes
    """Which response it is from."""
    place: int
    """Its index in that response."""
    rank: int
    """How many thinking blocks stand right before it there."""
    text: bytes
    """A hash of what was thought."""


def secret(kind: Kind, seed: int, realm: str = "") -> bytes:
    """The signing key of a realm; without a name it is the realm of all simulators of one kind and seed."""
    named = f"realm {realm}" if realm else f"{kind} {seed}"
    return hashlib.sha256(f"clew simulator {named}".encode()).digest()


def hash_text(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:12]


def mint(key: bytes, imprint: Imprint) -> str:
    """The `signature` of a thinking block, or the `data` of a redacted one."""
    payload = _HEADER + msgspec.msgpack.encode(imprint)
    return base64.b64encode(payload + _mac(key, payload)).decode()


def noise(origin: bytes, length: int) -> str:
    """So many characters that look like a signature and prove nothing."""
    return base64.b64encode(hashlib.shake_256(origin).digest(length)).decode()[:length]


def verify(key: bytes, signature: str, *, redacted: bool) -> tuple[bytes, Imprint] | None:
    """The block's id and imprint; None if the signature is not ours, or not whole, or of the other type of block."""
    try:
        whole = base64.b64decode(signature.encode(), validate=True)
    except (binascii.Error, ValueError):
        return None
    payload, mac = whole[:-_MAC_BYTES], whole[-_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(key, payload)):
        return None
    imprint = msgspec.msgpack.decode(payload[len(_HEADER) :], type=Imprint)
    return (mac, imprint) if imprint.redacted == redacted else None


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, payload, "sha256")[:_MAC_BYTES]
