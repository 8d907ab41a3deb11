"""A mark at the end of the built-in model's thoughts, by which the simulator knows them again in any place.

It is made with the realm's secret, so simulators of one realm accept each other's marks, and no others.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

_MARK: Final = re.compile(r"(.*) \(thought ([0-9a-f]{10})\)", re.DOTALL)


def add_mark(secret: bytes, text: str) -> str:
    """A thought with a mark at its end that proves its maker."""
    content = f"mark\n\n{text}".encode("utf-8", "surrogatepass")
    return f"{text} (thought {hmac.new(secret, content, hashlib.sha256).hexdigest()[:10]})"


def is_marked(secret: bytes, text: str) -> bool:
    """Whether a thought has a valid mark."""
    found = _MARK.fullmatch(text)
    return found is not None and add_mark(secret, found[1]) == text
