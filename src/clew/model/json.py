"""The names of JSON values, for code that handles them as plain Python objects."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["JsonArray", "JsonObject", "JsonValue"]

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]
JsonArray: TypeAlias = list[JsonValue]
