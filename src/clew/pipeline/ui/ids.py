"""Message ids as UUIDs, for stores that want nothing else.

A derived id depends on the old one (on the place, where there is none), so that a history gets the same ids each time.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from clew.model.json import JsonObject, JsonValue
from clew.pipeline.ui.parts import derived_id

__all__ = ["ensure_uuid_ids"]


def ensure_uuid_ids(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages with UUIDs as ids; every other field stays, and a message that has one is the same object."""
    return [
        message if _is_uuid(message.get("id")) else {**message, "id": derived_id(message.get("id") or index)}
        for index, message in enumerate(messages)
    ]


def _is_uuid(value: JsonValue) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
