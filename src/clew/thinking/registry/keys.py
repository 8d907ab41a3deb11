"""How the thinking registry names a block: as its document says, or as the product does.

The document hashes the first and the last 256 bytes of the content and its length. That is kept as it is written, as a
compatibility function, with a stable hash in place of one that changes from build to build. Its known limit (equal ends and
equal length are equal) is why the product's key exists: SHA-256 over what the maker signed.

One thing is mended in both: since models leave the text of their thinking out, an empty text says nothing, and the
signature names the block. A block with neither has no key at all.
"""

from __future__ import annotations

from hashlib import blake2b

from clew.model.json import JsonObject, JsonValue
from clew.thinking.keys import block_key

__all__ = [
    "WINDOW",
    "claims_thinking",
    "content_of",
    "documented_key",
    "fast_hash",
    "prefix_of",
    "product_key",
    "suffix_of",
]

WINDOW = 256
"""Bytes from each end that the document's hash looks at."""

_FIELDS = {"thinking": "thinking", "redacted_thinking": "data"}


def claims_thinking(block: JsonObject) -> bool:
    """Whether this says that it is a thinking block, well-formed or not."""
    return _type_of(block) in _FIELDS


def content_of(block: JsonObject) -> str | None:
    """The text of a thinking block, the data of a redacted one; None for a malformed one and for anything else."""
    field = _FIELDS.get(_type_of(block))
    content = block.get(field) if field else None
    return content if isinstance(content, str) else None


def documented_key(block: JsonObject) -> bytes | None:
    content = content_of(block)
    if content is None:
        return None
    named = content or _signature_of(block)
    return fast_hash(named).to_bytes(8, "big") if named else None


def product_key(block: JsonObject) -> bytes | None:
    """The block key where the maker signed; a name of its own kind for unsigned text, which proves nothing."""
    content = content_of(block)
    if content is None:
        return None
    if proof := content if _type_of(block) == "redacted_thinking" else _signature_of(block):
        return block_key(_type_of(block), proof)
    return block_key("unsigned thinking", content) if content else None


def fast_hash(content: str) -> int:
    """64 bits over prefix, suffix and byte length. 0xff occurs in no UTF-8, so the parts cannot run together."""
    raw = content.encode("utf-8", "surrogatepass")
    parts = (prefix_of(raw), suffix_of(raw), len(raw).to_bytes(8, "big"))
    return int.from_bytes(blake2b(b"\xff".join(parts), digest_size=8).digest(), "big")


def prefix_of(raw: bytes) -> bytes:
    """The first 256 bytes at most, cut before a character that would be torn."""
    end = min(WINDOW, len(raw))
    while end < len(raw) and _inside_character(raw[end]):
        end -= 1
    return raw[:end]


def suffix_of(raw: bytes) -> bytes:
    """The last 256 bytes at most, begun after a character that would be torn."""
    start = max(0, len(raw) - WINDOW)
    while start < len(raw) and _inside_character(raw[start]):
        start += 1
    return raw[start:]


def _inside_character(byte: int) -> bool:
    return byte & 0b1100_0000 == 0b1000_0000


def _type_of(block: JsonObject) -> str:
    return _string(block.get("type"))


def _signature_of(block: JsonObject) -> str:
    return _string(block.get("signature"))


def _string(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
