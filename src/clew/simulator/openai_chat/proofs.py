"""Proofs that reasoning is the simulator's own: signatures, sealed data, and a mark in the thoughts of the built-in model.

All are made with the realm's secret, so simulators of one realm accept each other's proofs, and no others.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final

__all__ = ["add_mark", "is_marked", "is_sealed", "is_signed", "seal", "sign"]

_HEAD: Final = b"\x12chat"
_NONCE: Final = 8
_MAC: Final = 24
_MARK: Final = re.compile(r"(.*) \(thought ([0-9a-f]{10})\)", re.DOTALL)


def sign(secret: bytes, model: str, text: str, *, salt: str = "") -> str:
    """The signature of a thought. `salt` makes equal thoughts differ."""
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
    """Reasoning that only its maker can read: here its hash, with a proof. `salt` makes equal thoughts differ."""
    body = hashlib.sha256(f"{salt}\n{text}".encode("utf-8", "surrogatepass")).digest()
    return base64.b64encode(_mac(secret, "seal", "", body.hex()) + body).decode()


def is_sealed(secret: bytes, data: str) -> bool:
    """Whether the data was sealed with this secret."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(raw[:_MAC], _mac(secret, "seal", "", raw[_MAC:].hex()))


def add_mark(secret: bytes, text: str) -> str:
    """A thought with a mark at its end that proves its maker."""
    return f"{text} (thought {_mac(secret, 'mark', '', text).hex()[:10]})"


def is_marked(secret: bytes, text: str) -> bool:
    """Whether a thought has a valid mark."""
    found = _MARK.fullmatch(text)
    return found is not None and add_mark(secret, found[1]) == text


def _mac(secret: bytes, what: str, model: str, text: str) -> bytes:
    content = f"{what}\n{model}\n{text}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, content, hashlib.sha256).digest()[:_MAC]
