"""From a signature to a JSON Schema, and from a model's JSON to arguments.

A function's parameters are the fields of a struct that is made for it: msgspec then writes the schema, checks what a model
gave, and says what is wrong and where. Whatever msgspec knows can be a parameter: plain values, `Literal`, enums, unions,
lists, dictionaries, `TypedDict`, dataclasses, structs, dates, and `Annotated` with `msgspec.Meta` or with words; paths too.
So can models of pydantic, which is not needed for that: they are known by their methods (`clew.chat.agent.models`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final, cast, get_type_hints

import msgspec
from msgspec import Struct

from clew.chat.agent.docstrings import doc_of
from clew.chat.agent.models import Dumpable, hoisted, is_model, model_value
from clew.errors import SettingsInvalid
from clew.model.json import JsonObject, JsonValue

__all__ = ["Arguments", "arguments_of", "converted", "plain", "schema_of", "spoken"]

_REF: Final = "#/$defs/{name}"
_FORMS: Final = "take plain values, lists, dictionaries, dataclasses, TypedDicts, structs of msgspec or models of pydantic"
_SIMPLE = (str, int, float, bool, Enum, type(None))
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Arguments(Struct, frozen=True, eq=False):
    """What a function takes."""

    type: type[Struct]
    schema: JsonObject
    summary: str = ""
    """What the docstring says that the function does."""

    def read(self, given: JsonValue) -> dict[str, object]:
        """What a model gave, as values to call the function with. Raises msgspec.ValidationError."""
        read = converted(given, self.type)
        return {name: getattr(read, name) for name in self.type.__struct_fields__}


def arguments_of(function: Callable[..., object], name: str) -> Arguments:
    """What a function takes, by its signature and its docstring. Raises SettingsInvalid if no model could say that."""
    hints = _hints(function, name)
    fields = [_field(each, hints, name) for each in inspect.signature(function).parameters.values()]
    taken = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    doc = doc_of(inspect.getdoc(spoken(function)))
    schema = schema_of(taken, name)
    schema.pop("title", None)
    return Arguments(taken, _described(schema, {**_noted(hints), **doc.parameters}), doc.summary)


def spoken(function: Callable[..., object]) -> Callable[..., object]:
    """The function whose name, words and types count: what a partial stands for, how an object is called."""
    while isinstance(function, partial):
        function = cast("partial[object]", function).func
    return function if inspect.isroutine(function) else type(function).__call__


def schema_of(kind: Any, name: str) -> JsonObject:
    """The JSON Schema of a type, itself at the top. Raises SettingsInvalid."""
    try:
        (top,), parts = msgspec.json.schema_components((kind,), schema_hook=_schema_hook, ref_template=_REF)
    except (NameError, TypeError) as error:
        what = str(error).rpartition("\n")[2]  # before it stands how to teach it to msgspec, which cannot be done from here
        raise SettingsInvalid(f"{name}: JSON has no form for this: {what}; {_FORMS}", key=name) from None
    return _at_the_top(*hoisted(cast(JsonObject, top), cast(dict[str, JsonValue], parts)))


def converted(given: JsonValue, kind: Any) -> Any:
    """A value of this type. A number in a string is one: models write that. Raises msgspec.ValidationError."""
    return msgspec.convert(given, kind, strict=False, dec_hook=_read_hook)


def plain(value: object) -> JsonValue:
    """Whatever a tool gave, as JSON can say it; what JSON has no form for is said as text."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_say_hook)


def _hints(function: Callable[..., object], name: str) -> dict[str, Any]:
    """Types may be named in quotes, and be local to where the function is."""
    function = spoken(function)
    whole = inspect.unwrap(function)
    local: Mapping[str, Any] = inspect.getclosurevars(whole).nonlocals if inspect.isfunction(whole) else {}
    try:
        return get_type_hints(function, localns=dict(local), include_extras=True)
    except NameError as error:
        raise SettingsInvalid(f"{name}: a type of its signature is not known where it stands: {error}", key=name) from None


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any], name: str) -> Any:
    if parameter.kind not in _NAMED:
        raise SettingsInvalid(f"{name}: {parameter} cannot be given by name, and models give everything by name", key=name)
    kind = hints.get(parameter.name, Any)
    default = parameter.default
    if default is inspect.Parameter.empty:
        return parameter.name, kind
    return parameter.name, kind, default if isinstance(default, _SIMPLE) else msgspec.field(default_factory=lambda: default)


def _at_the_top(top: JsonObject, parts: dict[str, JsonValue]) -> JsonObject:
    """What the reference at the top means in its place, and the other parts below."""
    name = str(top.get("$ref", "")).rpartition("/")[2]
    named = parts.get(name)
    whole = dict(named) if isinstance(named, dict) else dict(top)
    again = f'"{_REF.format(name=name)}"'.encode()
    if name and again not in msgspec.json.encode([whole, {key: part for key, part in parts.items() if key != name}]):
        del parts[name]
    return {**whole, "$defs": parts} if parts else whole


def _noted(hints: Mapping[str, Any]) -> dict[str, str]:
    """What `Annotated[str, "Where it is."]` says of a parameter."""
    notes = {
        name: [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)] for name, hint in hints.items()
    }
    return {name: note[0] for name, note in notes.items() if note}


def _described(schema: JsonObject, words: Mapping[str, str]) -> JsonObject:
    properties = cast(dict[str, JsonObject], schema.setdefault("properties", {}))
    for name, text in words.items():
        if name in properties and text:
            properties[name].setdefault("description", text)
    return schema


def _schema_hook(kind: type[object]) -> JsonObject:
    if issubclass(kind, Path):
        return {"type": "string", "format": "path"}
    if is_model(kind):
        return kind.model_json_schema()
    raise NotImplementedError(kind)


def _read_hook(kind: type[object], value: object) -> object:
    if issubclass(kind, Path) and isinstance(value, str):
        return kind(value)
    if is_model(kind):
        return model_value(kind, value)
    raise NotImplementedError(kind)


def _say_hook(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, Dumpable) else str(value)
