"""The names of JSON values, for code that handles them as plain Python objects."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["JsonArray", "JsonObject", "JsonValue"]

JsonValue: TypeAlias = "str | int | float | bool | None | list[JsonValue] | dict[str, JsonValue]"
JsonObject: TypeAlias = dict[str, JsonValue]
JsonArray: TypeAlias = list[JsonValue]
