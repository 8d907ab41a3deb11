"""The names of JSON values, for code that handles them as plain Python objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["JsonArray", "JsonObject", "JsonValue"]

if TYPE_CHECKING:
    JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
else:
    JsonValue = Any  # the decoder cannot follow a name that refers to itself; at run time any value is one

JsonObject: TypeAlias = dict[str, JsonValue]
JsonArray: TypeAlias = list[JsonValue]
