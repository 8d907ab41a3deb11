"""Types, keys, values and gates: the walk over a request along the tables of fields and blocks (R4, R9, R23, R33 …).

The tables say for each object which keys it has, and for each defect which rule it breaks. Paths are the vendor's: the tag
of a union's member stands in them (`thinking.enabled.budget_tokens`). Below a value of a wrong kind, or one that a gate
refuses, nothing is looked at. What the tables cannot say is in `schema_more`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from clew.model.facts import Block, Field, Shape, blocks, fields
from clew.model.json import JsonObject, JsonValue
from clew.simulator.judge.findings import Finding

__all__ = ["MAX_MESSAGES", "Schema"]

MAX_MESSAGES: Final = 100_000

_WORDS: Final = {"object": "dictionary", "array": "list"}
_ENDINGS: Final = {"R33.signature-not-string": ".str"}
"""Where the vendor's path names the kind that it tried."""


@dataclass(frozen=True, slots=True)
class Options:
    """The members of a union, by tag; `absent` is the tag that none means."""

    key: str
    unknown: str
    members: Mapping[str, Shape | Block]
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables under one API version and one set of betas."""

    version: str
    betas: frozenset[str]
    counting: bool

    def request(self, body: JsonObject) -> Iterator[Finding]:
        return self._shape(body, fields().shapes["request"], "")

    def _shape(self, value: JsonObject, shape: Shape | Block, path: str) -> Iterator[Finding]:
        for key, row in shape.fields.items():
            if key not in value and row.required and (row.count or not self.counting):
                yield _finding(row.missing, _joined(path, key))
        for key, member in value.items():
            where = _joined(path, key)
            if key in shape.forbidden:
                yield _finding(shape.forbidden[key], where)
            elif key in shape.fields:
                yield from self._field(member, shape.fields[key], where)
            elif not shape.open:
                yield _finding(shape.unknown, where)

    def _field(self, value: JsonValue, row: Field, path: str) -> Iterator[Finding]:
        gates = [*self._gates(value, row)]
        if gates:
            yield from (_finding(rule, path) for rule in gates)
        elif not _fits(value, row.kinds):
            yield _wrong(row.wrong, path, row.kinds[0])
        else:
            yield from self._value(value, row, path)

    def _gates(self, value: JsonValue, row: Field) -> Iterator[str]:
        if row.versions and self.version not in row.versions:
            yield row.version_gate
        if self.counting and not row.count:
            yield "R4.field-not-counted"
        if value is not None and row.beta and self.betas.isdisjoint(row.beta):
            yield row.gate

    def _value(self, value: JsonValue, row: Field, path: str) -> Iterator[Finding]:
        """A value of a legal kind; null and true have nothing more to be wrong."""
        if isinstance(value, str):
            yield from self._text(value, row, path)
        elif isinstance(value, dict):
            yield from self._object(value, row.object, path)
        elif isinstance(value, list):
            yield from self._items(value, row.items, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _range(value, row, path)

    def _text(self, value: str, row: Field, path: str) -> Iterator[Finding]:
        if row.values and value not in row.values:
            yield _finding(row.value, path, values=_quoted(row.values))
        elif value in row.gated_values and row.gated_values[value] not in self.betas:
            yield _finding(row.value_gate, path)
        elif row.pattern and not re.fullmatch(row.pattern, value):
            yield _finding(row.mismatch, path)

    def _items(self, values: list[JsonValue], name: str, path: str) -> Iterator[Finding]:
        if path == "messages" and len(values) > MAX_MESSAGES:
            yield _finding("R17.too-many-messages", path, count=len(values))
            return
        kind = name if name in ("string", "object") else "object"
        for index, value in enumerate(values):
            where = _joined(path, str(index))
            if not _fits(value, (kind,)):
                yield _wrong("R4.wrong-type", where, kind)
            elif isinstance(value, dict) and name != "object":
                yield from self._object(value, name, where)

    def _object(self, value: JsonObject, name: str, path: str) -> Iterator[Finding]:
        """By the name of a shape or of a union; without one nothing inside is checked."""
        if name in fields().shapes:
            yield from self._shape(value, fields().shapes[name], path)
        elif name:
            yield from self._member(value, _options(name), path)

    def _member(self, value: JsonObject, options: Options, path: str) -> Iterator[Finding]:
        tag = value.get(options.key)
        if tag is None and options.absent:
            tag = options.absent
        if options.key not in value and tag is None:
            yield _finding("R4.field-required", _joined(path, options.key))
        elif not isinstance(tag, str):
            yield _wrong("R4.wrong-type", _joined(path, options.key), "string")
        else:
            yield from self._tagged(value, tag, options, path)

    def _tagged(self, value: JsonObject, tag: str, options: Options, path: str) -> Iterator[Finding]:
        member = options.members.get(tag)
        if member is None:
            where = _joined(path, "role") if options.key == "role" else path
            yield _finding(options.unknown, where, tag=tag, tags=self._tags(options))
        elif member.beta and self.betas.isdisjoint(member.beta):
            rule = member.gate if isinstance(member, Shape) else "R23.block-gated"
            yield _finding(rule, path, tag=tag, tags=self._tags(options))
        else:
            yield from self._shape(value, member, _joined(path, _tag_in_path(member, tag)))

    def _tags(self, options: Options) -> str:
        """The tags that would be legal here, as the vendor lists them."""
        legal = (tag for tag, member in options.members.items() if not member.beta or self.betas & set(member.beta))
        return ", ".join(f"'{tag}'" for tag in legal)


@cache
def _options(name: str) -> Options:
    if name in ("block", "nested_block"):
        legal = {tag: row for tag, row in blocks().items() if (row.nested if name == "nested_block" else row.roles)}
        return Options("type", "R23.block-unknown", legal)
    union = fields().unions[name]
    members = {tag: fields().shapes[shape] for tag, shape in union.members.items()}
    return Options(union.key, union.unknown, members, union.absent)


def _tag_in_path(member: Shape | Block, tag: str) -> str:
    if isinstance(member, Block):
        return tag
    return tag if member.tag == "*" else member.tag


def _fits(value: JsonValue, kinds: Sequence[str]) -> bool:
    return "any" in kinds or not _kinds_of(value).isdisjoint(kinds)


def _kinds_of(value: JsonValue) -> frozenset[str]:
    """The kinds that a value is of; an integer is a number too, true is no number, 1.0 is no integer."""
    if value is None:
        return frozenset({"null"})
    if isinstance(value, bool):
        return frozenset({"boolean"})
    if isinstance(value, int):
        return frozenset({"integer", "number"})
    return frozenset({_KINDS[type(value)]})


_KINDS: Final[Mapping[type, str]] = {str: "string", float: "number", dict: "object", list: "array"}


def _range(value: int | float, row: Field, path: str) -> Iterator[Finding]:
    if row.minimum is not None and value < row.minimum:
        yield _finding(row.range, path, limit=f"greater than or equal to {row.minimum}")
    elif row.maximum is not None and value > row.maximum:
        yield _finding(row.range, path, limit=f"less than or equal to {row.maximum}")


def _wrong(rule: str, path: str, kind: str) -> Finding:
    return _finding(rule, path, kind=_WORDS.get(kind, kind))


def _finding(rule: str, path: str, **names: object) -> Finding:
    return Finding(rule, path + _ENDINGS.get(rule, ""), names)


def _joined(path: str, key: str) -> str:
    """A path and one more step; an empty step adds nothing."""
    return f"{path}.{key}" if path and key else path or key


def _quoted(values: tuple[str, ...]) -> str:
    """'a', 'b' or 'c'."""
    words = [f"'{value}'" for value in values]
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
