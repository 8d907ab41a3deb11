"""What a request names beside its model: other models that may answer or work for it, and what it costs more than listed.

Vendors take such fields in their own dialects, and they pass as they came. A key that may use some models alone must not
get others by them; and a limit on money cannot say what such a request costs at most. Doubled keys count with each value,
because readers disagree about which of them holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from clew.errors import RequestInvalid
from clew.model.json import JsonValue, read_json
from clew.wire.spans import members

_OTHERS: Final = frozenset({"fallbacks", "models"})
"""Lists of models that a vendor may answer with instead: of Anthropic, and of OpenRouter."""
_DEARER: Final[Mapping[str, frozenset[str]]] = {
    "inference_geo": frozenset({"us"}),
    "service_tier": frozenset({"fast", "priority", "ultrafast"}),
    "speed": frozenset({"fast"}),
}
"""Fields with the values for which vendors charge more than the list price."""


def named_models(raw: bytes) -> list[str]:
    """All models that a request names, its own among them. `raw` is a body that was read."""
    return [name for key, value in _fields(raw) for name in _named(key, value)]


def dearer_field(raw: bytes) -> str:
    """The first field because of which the request may cost more than its model does; "" if there is none."""
    for key, value in _fields(raw):
        if (key in _OTHERS and value) or (key == "tools" and any(_named(key, value))):
            return key
        if isinstance(value, str) and value in _DEARER.get(key, ()):
            return key
    return ""


def _fields(raw: bytes) -> Iterator[tuple[str, JsonValue]]:
    """The fields of the body that say something about models or prices. Raises RequestInvalid and BodyTooLarge where they
    cannot be read."""
    for each in members(raw):
        if each.key in _OTHERS or each.key in _DEARER or each.key in ("model", "tools"):
            try:
                yield each.key, read_json(raw[each.value_start : each.value_end])
            except (ValueError, RecursionError) as error:
                raise RequestInvalid(f"cannot be read: {error}", path=each.key) from None


def _named(key: str, value: JsonValue) -> Iterator[str]:
    """`tools` may name the model that works for a tool, as Anthropic's advisor does."""
    rows = value if isinstance(value, list) else [value]
    for row in rows if key in _OTHERS or key in ("model", "tools") else ():
        name = row.get("model") if isinstance(row, dict) else None if key == "tools" else row
        if isinstance(name, str):
            yield name
