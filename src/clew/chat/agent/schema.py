"""JSON Schemas from signatures and docstrings, and arguments from a model's JSON.

A function's parameters are the fields of a struct that is made for it: msgspec then writes the schema, checks what a model
gave, and says what is wrong and where. Every type that msgspec knows can be a parameter: plain values, `Literal`, enums,
unions, lists, dictionaries, `TypedDict`, dataclasses, structs, dates, and `Annotated` with `msgspec.Meta` or with a text;
paths too. So can models of pydantic. clew does not need pydantic for that: its models are recognised by their methods. A
model writes its own schema, checks and makes its own values, and writes them as JSON.

Docstrings of three styles are read: Google's (`Args:`), NumPy's (`Parameters` underlined) and Sphinx's (`:param name:`). The
text before the first section says what the tool does; sections on results, errors and examples are for people who read the
code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeGuard, cast, get_type_hints, runtime_checkable

import msgspec
from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.model.json import JsonObject, JsonValue

_DEFS: Final = "$defs"
_REF: Final = "#/$defs/{name}"
_FORMS: Final = "take plain values, lists, dictionaries, dataclasses, TypedDicts, structs of msgspec or models of pydantic"
_IMMUTABLE = (str, int, float, bool, Enum, type(None))
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Arguments(Struct, frozen=True, eq=False):
    """The arguments of a function: their type, their JSON schema, and what the docstring says of them."""

    type: type[Struct]
    schema: JsonObject
    summary: str = ""
    """What the function does, from its docstring."""

    def read(self, given: JsonValue) -> dict[str, object]:
        """The values to call the function with, from a model's JSON. Raises msgspec.ValidationError."""
        read = converted(given, self.type)
        return {name: getattr(read, name) for name in self.type.__struct_fields__}


def arguments_of(function: Callable[..., object], name: str) -> Arguments:
    """The parameters of a function, by its signature and its docstring. Raises SettingsInvalid for types without JSON."""
    hints = _hints_of(function, name)
    fields = [_field_of(each, hints.get(each.name, Any), name) for each in inspect.signature(function).parameters.values()]
    type_ = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    docstring = parse_docstring(inspect.getdoc(documented_function(function)))
    schema = schema_of(type_, name)
    schema.pop("title", None)
    notes = {  # of `Annotated[str, "Where it is."]`
        parameter: note
        for parameter, hint in hints.items()
        for note in [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, str)][:1]
    }
    properties = cast(dict[str, JsonObject], schema.setdefault("properties", {}))
    for parameter, text in {**notes, **docstring.parameters}.items():
        if parameter in properties and text:
            properties[parameter].setdefault("description", text)
    return Arguments(type_, schema, docstring.summary)


def documented_function(function: Callable[..., object]) -> Callable[..., object]:
    """The function with the name, docstring and types: that of a partial, or the `__call__` of an object."""
    while isinstance(function, partial):
        function = cast("partial[object]", function).func
    return function if inspect.isroutine(function) else type(function).__call__


def _hints_of(function: Callable[..., object], name: str) -> dict[str, Any]:
    """The types of the parameters. A type may be a name in quotes that is local to the function's surroundings."""
    function = documented_function(function)
    whole = inspect.unwrap(function)
    local: Mapping[str, Any] = inspect.getclosurevars(whole).nonlocals if inspect.isfunction(whole) else {}
    try:
        return get_type_hints(function, localns=dict(local), include_extras=True)
    except NameError as error:
        raise SettingsInvalid(f"{name}: a type of its signature is not known where it stands: {error}", key=name) from None


def _field_of(parameter: inspect.Parameter, kind: Any, name: str) -> Any:
    if parameter.kind not in _NAMED:
        raise SettingsInvalid(f"{name}: {parameter} cannot be given by name, and models give everything by name", key=name)
    default = parameter.default
    if default is inspect.Parameter.empty:
        return parameter.name, kind
    is_safe = isinstance(default, _IMMUTABLE)
    return parameter.name, kind, default if is_safe else msgspec.field(default_factory=lambda: default)


def schema_of(kind: Any, name: str) -> JsonObject:
    """The JSON Schema of a type, the type itself at the top. Raises SettingsInvalid."""
    try:
        (top,), defs = msgspec.json.schema_components((kind,), schema_hook=_schema_hook, ref_template=_REF)
    except (NameError, TypeError) as error:
        why = str(error).rpartition("\n")[2]  # the lines before it say how to extend msgspec, which is not possible here
        raise SettingsInvalid(f"{name}: JSON has no form for this: {why}; {_FORMS}", key=name) from None
    inner: dict[str, JsonValue] = {}
    whole, own = (cast(JsonObject, _without_defs(each, inner)) for each in (cast(JsonValue, top), cast(JsonValue, defs)))
    return _inline_top(whole, {**own, **inner})


def _without_defs(value: JsonValue, found: dict[str, JsonValue]) -> JsonValue:
    """The value without the definitions inside of it, which go into `found`: a model of pydantic brings its own."""
    if isinstance(value, list):
        return [_without_defs(each, found) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _without_defs(each, found) for name, each in value.items()}
    inner = kept.pop(_DEFS, None)
    found.update(inner if isinstance(inner, dict) else {})
    return kept


def _inline_top(top: JsonObject, defs: dict[str, JsonValue]) -> JsonObject:
    """The schema with its top reference replaced by the definition, and the other definitions below."""
    name = str(top.get("$ref", "")).rpartition("/")[2]
    named = defs.get(name)
    whole = dict(named) if isinstance(named, dict) else dict(top)
    reference = f'"{_REF.format(name=name)}"'.encode()
    if name and reference not in msgspec.json.encode([whole, {key: each for key, each in defs.items() if key != name}]):
        del defs[name]
    return {**whole, _DEFS: defs} if defs else whole


def converted(given: JsonValue, kind: Any) -> Any:
    """A value of this type. A number in a string is accepted: models write that. Raises msgspec.ValidationError."""
    return msgspec.convert(given, kind, strict=False, dec_hook=_decode_hook)


def plain(value: object) -> JsonValue:
    """The value of a tool as JSON. A value that JSON has no form for becomes text."""

    def encode(other: object) -> object:
        return other.model_dump(mode="json") if isinstance(other, PydanticValue) else str(other)

    return msgspec.to_builtins(value, str_keys=True, enc_hook=encode)


# Types that msgspec does not know: paths, and models of pydantic


@runtime_checkable
class PydanticModel(Protocol):
    """A class with the methods of a pydantic model."""

    def model_json_schema(self) -> JsonObject: ...
    def model_validate(self, given: object) -> object: ...


@runtime_checkable
class PydanticValue(Protocol):
    """A value of such a class."""

    def model_dump(self, *, mode: Literal["json"]) -> JsonObject: ...


def _is_model(kind: object) -> TypeGuard[PydanticModel]:
    return isinstance(kind, type) and isinstance(kind, PydanticModel)


def _schema_hook(kind: type[object]) -> JsonObject:
    if issubclass(kind, Path):
        return {"type": "string", "format": "path"}
    if _is_model(kind):
        return kind.model_json_schema()
    raise NotImplementedError(kind)


def _decode_hook(kind: type[object], value: object) -> object:
    if issubclass(kind, Path) and isinstance(value, str):
        return kind(value)
    if not _is_model(kind):
        raise NotImplementedError(kind)
    try:
        return kind.model_validate(value)
    except ValueError as error:
        # pydantic's list of errors with their places, on one line: the model reads it
        listed = getattr(error, "errors", None)
        if not callable(listed):
            raise
        faults: list[str] = []
        for fault in cast(list[dict[str, object]], listed()):
            steps = cast(tuple[object, ...], fault.get("loc") or ())
            path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
            faults.append(f"{fault.get('msg')} - at `${path}`")
        raise ValueError("; ".join(faults)) from None


# Docstrings

_GOOGLE = re.compile(r"(\w[\w ]*):")
_ARGUMENTS = {"args", "arguments", "parameters", "params"}
_SECTIONS = {
    *_ARGUMENTS,
    *("returns", "return", "yields", "raises", "examples", "example", "notes", "note", "warns", "warnings", "see also"),
    *("attributes", "references", "todo", "other parameters", "keyword args", "keyword arguments"),
}
_FIELD = re.compile(r":(\w+)(?:\s+[^:]*?)?:")
_PARAM = re.compile(r":(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")


class ParsedDocstring(Struct, frozen=True):
    """The content of a docstring of any style."""

    summary: str = ""
    parameters: dict[str, str] = {}


def parse_docstring(docstring: str | None) -> ParsedDocstring:
    """Parse a docstring.

    >>> parse_docstring('''Tells the weather.
    ...
    ... Args:
    ...     city: Where.
    ... ''')
    ParsedDocstring(summary='Tells the weather.', parameters={'city': 'Where.'})
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    starts = [index for index in range(len(lines)) if _section_at(lines, index)]
    fields = [index for index, line in enumerate(lines) if _FIELD.match(line)]
    parameters: dict[str, str] = {}
    for start, stop in pairwise([*starts, len(lines)]):
        if _section_at(lines, start) in _ARGUMENTS:
            is_google = lines[start].endswith(":")
            parameters |= _google(lines[start + 1 : stop]) if is_google else _numpy(lines[start + 2 : stop])
    summary = _joined(lines[: min([*starts, *fields, len(lines)])])
    return ParsedDocstring(summary, {**parameters, **dict(_sphinx(lines))})


def _section_at(lines: list[str], index: int) -> str:
    """The name of the section that begins at this line; "" if none does."""
    line = lines[index]
    below = lines[index + 1] if index + 1 < len(lines) else ""
    if (match := _GOOGLE.fullmatch(line)) and match[1].lower() in _SECTIONS:
        return match[1].lower()
    return line.lower() if line.lower() in _SECTIONS and below and not below.strip("-") else ""


def _google(lines: list[str]) -> dict[str, str]:
    """`name (type): what it is`, continued on deeper lines."""
    body = inspect.cleandoc("\n" + "\n".join(lines)).splitlines()
    matches = [(_ENTRY.match(entry[0]), entry[1:]) for entry in _entries(body)]
    return {match[1]: _joined([match[2], *more]) for match, more in matches if match}


def _numpy(lines: list[str]) -> dict[str, str]:
    """`name : type`, and what it is on deeper lines."""
    matches = [(_NUMPY_ENTRY.fullmatch(entry[0].strip()), entry[1:]) for entry in _entries(lines)]
    return {name.strip(): _joined(text) for match, text in matches if match for name in match[1].split(",")}


def _sphinx(lines: list[str]) -> Iterator[tuple[str, str]]:
    """`:param type name: what it is`, continued on deeper lines."""
    for index, line in enumerate(lines):
        if match := _PARAM.match(line):
            more = takewhile(lambda each: each.startswith((" ", "\t")), lines[index + 1 :])
            yield match[1], _joined([match[2], *more])


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """Each line that is not indented, with the indented lines below it."""
    entry: list[str] = []
    for line in lines:
        if entry and line.strip() and not line.startswith((" ", "\t")):
            yield entry
            entry = []
        if entry or line.strip():
            entry.append(line)
    if entry:
        yield entry


def _joined(lines: Iterable[str]) -> str:
    """The text with each paragraph on one line."""
    text = "\n".join(line.strip() for line in lines).strip()
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())
