"""Models of pydantic, known by what they can do: clew needs no pydantic, and whoever has it may use its models.

A model says its own schema, checks and makes its own values, and says them again as JSON. Its schema brings the parts that
it refers to along; in a larger one they belong at the top, where all references look for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, Protocol, TypeGuard, cast, runtime_checkable

from clew.model.json import JsonObject, JsonValue

__all__ = ["Dumpable", "Model", "hoisted", "is_model", "model_value"]

_PARTS: Final = "$defs"


@runtime_checkable
class Model(Protocol):
    """A class of pydantic's kind."""

    def model_json_schema(self) -> JsonObject: ...
    def model_validate(self, given: object) -> object: ...


@runtime_checkable
class Dumpable(Protocol):
    """A value of such a class."""

    def model_dump(self, *, mode: Literal["json"]) -> JsonObject: ...


def is_model(kind: object) -> TypeGuard[Model]:
    """Does this type say its own schema, and make its own values?"""
    return isinstance(kind, type) and isinstance(kind, Model)


def model_value(kind: Model, given: object) -> object:
    """The value that this is. Raises ValueError in words of one line: the model that wrote it is to read them."""
    try:
        return kind.model_validate(given)
    except ValueError as error:
        raise ValueError(_words(error)) from None


def _words(error: ValueError) -> str:
    """pydantic lists what is wrong, and where."""
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return str(error)
    faults = cast(list[JsonObject], listed())
    return "; ".join(f"{fault.get('msg')} - at `{_path(fault.get('loc'))}`" for fault in faults)


def _path(where: object) -> str:
    steps = cast(tuple[object, ...], where) if isinstance(where, tuple) else ()
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def hoisted(top: JsonObject, parts: dict[str, JsonValue]) -> tuple[JsonObject, dict[str, JsonValue]]:
    """The same schema, and every part of it that stood further inside among the others."""
    all_parts = dict(parts)
    for inner in (*_inside(top), *_inside(parts)):
        all_parts.update(inner)
    return cast(JsonObject, _without(top)), {name: _without(part) for name, part in all_parts.items()}


def _inside(value: JsonValue) -> Iterator[JsonObject]:
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _inside(each)
    if isinstance(value, dict) and isinstance(inner := value.get(_PARTS), dict):
        yield inner


def _without(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _without(each) for name, each in value.items() if name != _PARTS}
    return [_without(each) for each in value] if isinstance(value, list) else value
