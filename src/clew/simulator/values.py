"""Reads JSON values without trusting their kind.

The schema is checked first, but a stance can switch rules off, and then a value of any kind gets past it. No later check may
fail on such a value: a value of the wrong kind reads as an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.json import JsonObject, JsonValue


def as_dict(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def as_str(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def as_number(value: JsonValue) -> int | float | None:
    """The number, or None. A boolean is not a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def text_blocks(content: JsonValue) -> list[JsonValue]:
    """Content as a list: a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def is_blank(text: str) -> bool:
    """Whether a text is not empty and has nothing but white space."""
    return text != "" and text.strip() == ""


def objects_in(value: JsonValue) -> Iterator[JsonObject]:
    """Every object inside a value, the value included. Deep nesting needs no call stack."""
    pending: list[JsonValue] = [value]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            yield here
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)
