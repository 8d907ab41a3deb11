"""Where in the client's own request a place of the canonical request stands, for changes that people read."""

from __future__ import annotations

import re
from typing import Final

from clew.dialects.openai_responses.detail import detail_of
from clew.model.request import NativeRequest

_BLOCK: Final = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")
_FIELDS: Final = {"system": "instructions", "max_tokens": "max_output_tokens", "thinking": "reasoning"}


def client_path(native: NativeRequest, path: str) -> str:
    """The path of the item that the block was made of; of the first of a message, and of one that has no item of its own."""
    found = _BLOCK.match(path)
    if found is None:
        field, dot, rest = path.partition(".")
        return f"{_FIELDS.get(field, field)}{dot}{rest}"
    items = detail_of(native).items.get(int(found[1]), ())
    block = int(found[2] or 0)
    own = [item.path for item in items if item.first <= block < item.first + max(item.blocks, 1)]
    return own[0] if own else items[-1].path if items else path
