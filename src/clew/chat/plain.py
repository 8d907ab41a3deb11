"""Reads what came from elsewhere as plain JSON values: dictionaries as they are, an SDK's objects by their own word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias, cast, runtime_checkable

from clew.model.json import JsonObject

__all__ = ["Dumped", "Given", "object_from", "objects_from"]


@runtime_checkable
class Dumped(Protocol):
    """Any object of an Anthropic SDK: it gives itself as the JSON that it was read from."""

    def to_dict(self) -> dict[str, object]: ...


Given: TypeAlias = Mapping[str, object] | Dumped
"""A JSON object, or what an SDK made of one."""


def object_from(value: object) -> JsonObject | None:
    """The JSON object that this stands for; None if it stands for none."""
    if isinstance(value, Dumped):
        return cast("JsonObject", value.to_dict())
    return dict(cast("JsonObject", value)) if isinstance(value, Mapping) else None


def objects_from(values: object) -> list[JsonObject]:
    """Those that the list holds; none if it is no list."""
    if not isinstance(values, list | tuple):
        return []
    found = (object_from(value) for value in cast("Iterable[object]", values))
    return [value for value in found if value is not None]
