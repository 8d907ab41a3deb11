"""Proofs that reasoning is the simulator's own: signatures, sealed data, and a mark in what the built-in model thinks.

All are made from the realm's secret, so simulators of one realm know each other's, and nobody else's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final

__all__ = ["is_sealed", "is_signed", "mark_of", "marked", "seal", "sign"]

_HEAD: Final = b"\x12chat"
_NONCE: Final = 8
_MAC: Final = 24
_MARK: Final = re.compile(r"(.*) \(thought ([0-9a-f]{10})\)", re.DOTALL)


def sign(secret: bytes, model: str, text: str, *, salt: str = "") -> str:
    """The signature of what a model thought. `salt` makes equal thoughts differ."""
    nonce = hashlib.sha256(salt.encode()).digest()[:_NONCE]
    return base64.b64encode(_HEAD + nonce + _mac(secret, "signature", model, nonce.hex() + text)).decode()


def is_signed(secret: bytes, model: str, text: str, signature: str) -> bool:
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    nonce, mac = raw[len(_HEAD) : len(_HEAD) + _NONCE], raw[len(_HEAD) + _NONCE :]
    return raw.startswith(_HEAD) and hmac.compare_digest(mac, _mac(secret, "signature", model, nonce.hex() + text))


def seal(secret: bytes, text: str, *, salt: str = "") -> str:
    """Reasoning that nobody else can read: here its hash, with a proof. `salt` makes equal thoughts differ."""
    body = hashlib.sha256(f"{salt}\n{text}".encode("utf-8", "surrogatepass")).digest()
    return base64.b64encode(_mac(secret, "seal", "", body.hex()) + body).decode()


def is_sealed(secret: bytes, data: str) -> bool:
    """Was this sealed here?"""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(raw[:_MAC], _mac(secret, "seal", "", raw[_MAC:].hex()))


def marked(secret: bytes, text: str) -> str:
    """A thought with a mark at its end that proves whose it is."""
    return f"{text} (thought {_mac(secret, 'mark', '', text).hex()[:10]})"


def mark_of(secret: bytes, text: str) -> bool:
    """Does a thought bear our mark?"""
    found = _MARK.fullmatch(text)
    return found is not None and marked(secret, found[1]) == text


def _mac(secret: bytes, what: str, model: str, text: str) -> bytes:
    said = f"{what}\n{model}\n{text}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, said, hashlib.sha256).digest()[:_MAC]
