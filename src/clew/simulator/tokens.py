"""How the simulator counts tokens: four bytes of UTF-8 are one, and whatever is not empty is at least one.

No tokenizer is as good as none here: what matters is that the count is the same on every machine, grows with the text,
and can be worked out by hand in a test.
"""

from __future__ import annotations

import msgspec

from clew.model.json import JsonValue

__all__ = ["of_json", "of_text"]

_BYTES_PER_TOKEN = 4


def of_text(text: str) -> int:
    """Tokens of a text. A lone surrogate counts as the three bytes that it would be."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


def of_json(value: JsonValue) -> int:
    """Tokens of a value in its compact JSON form."""
    return -(-len(msgspec.json.encode(value)) // _BYTES_PER_TOKEN)
