"""Reads JSON values without trusting their kind.

The schema comes first, but whoever switches a grade off lets values of any kind pass it, and the judge must not stumble over
them later. A value of a wrong kind reads as an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.json import JsonObject, JsonValue

__all__ = ["array", "inner", "is_blank", "number", "string", "text_blocks", "walk"]


def inner(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def array(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def string(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def text_blocks(content: JsonValue) -> list[JsonValue]:
    """Content as a list: a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else array(content)


def number(value: JsonValue) -> int | float | None:
    """The number, or None; true and false are none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_blank(text: str) -> bool:
    """Not empty, and nothing but white space."""
    return text != "" and text.strip() == ""


def walk(value: JsonValue) -> Iterator[JsonObject]:
    """Every object inside a value, itself included. Depth costs no stack."""
    pending: list[JsonValue] = [value]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            yield here
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)
