"""Characters that came in two halves.

JSON can write a character outside the basic plane as two escapes, and some vendors cut between them: each delta then holds a
half, which is no text by itself. Put together they are.
"""

from __future__ import annotations

import msgspec

from clew.model.json import JsonValue

__all__ = ["encoded", "whole_text", "whole_value"]


def whole_text(text: str) -> str:
    """The text with halves put together; half a character that never became whole is the replacement mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_value(value: JsonValue) -> JsonValue:
    """The value with every text in it made whole, so that it can be written again."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [whole_value(each) for each in value]
    if isinstance(value, dict):
        return {whole_text(name): whole_value(each) for name, each in value.items()}
    return value


def encoded(value: JsonValue) -> bytes:
    """A value as JSON. Half a character has no bytes, so its replacement mark is written."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(whole_value(value))
