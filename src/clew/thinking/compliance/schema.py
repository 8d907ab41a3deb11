"""The schema phase: walks the body by the tables of shapes, fields and blocks (R2–R4, R9, R23, R24, R33, R59, R60 …).

The tables name the rule for each defect, so this module knows only how to walk: kind, then value, then the values inside. A
value that a gate refuses is an unknown key to the vendor, and nothing else is reported about it. Shapes do not nest without
end (opaque values are not entered), so the walk needs no bound of its own; only a list of messages that is too long is not
entered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias

from clew.model.facts import BlockFacts, Field, Shape, blocks, fields
from clew.model.json import JsonObject, JsonValue
from clew.thinking.compliance.request_view import MOST_MESSAGES, RuleFinding

KINDS = frozenset({"string", "object"})
"""Kinds that a table names for the elements of a list."""

KIND_NAMES = {"object": "dictionary", "array": "list"}
"""The vendor's names for kinds."""

PATH_ENDS = {"R33.signature-not-string": ".str"}
"""Rules for which the vendor's path ends with the member of a union that the tables do not have."""


_Member: TypeAlias = Shape | BlockFacts


def _finding(rule: str, path: str, **names: object) -> RuleFinding:
    return RuleFinding(rule, path + PATH_ENDS.get(rule, ""), names)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path and key else path or key


def _kinds_of(value: JsonValue) -> tuple[str, ...]:
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("number",)
        case str():
            return ("string",)
        case list():
            return ("array",)
        case dict():
            return ("object",)


def _wrong_kind(path: str, kind: str, rule: str = "R4.wrong-type") -> RuleFinding:
    return _finding(rule, path, kind=KIND_NAMES.get(kind, kind))


class _Choice(NamedTuple):
    """The members of a union, as the walk needs them."""

    key: str
    members: Mapping[str, _Member]
    unknown: str
    absent: str = ""


@dataclass(frozen=True, slots=True)
class ShapeCheck:
    """The tables, under one API version and one set of betas."""

    version: str
    betas: frozenset[str]
    counting: bool = False

    def walk(self, body: JsonObject) -> Iterator[RuleFinding]:
        return self._object(fields().shapes["request"], body, "")

    # ── objects

    def _object(self, shape: _Member, value: JsonObject, path: str) -> Iterator[RuleFinding]:
        for key, field in shape.fields.items():
            if key in value:
                yield from self._field(field, value[key], _join(path, key))
            elif field.required and (field.count or not self.counting):
                yield _finding(field.missing, _join(path, key))
        for key in value:
            if key in shape.fields:
                continue
            if key in shape.forbidden:
                yield _finding(shape.forbidden[key], _join(path, key))
            elif not shape.open:
                yield _finding(shape.unknown, _join(path, key))

    def _field(self, field: Field, value: JsonValue, path: str) -> Iterator[RuleFinding]:
        gates: list[str] = []  # the rules by which the vendor does not know this field here
        if field.versions and self.version not in field.versions:
            gates.append(field.version_gate)
        if field.beta and value is not None and self.betas.isdisjoint(field.beta):
            gates.append(field.gate)
        if self.counting and not field.count:
            gates.append("R4.field-not-counted")
        if gates:
            yield from (_finding(gate, path) for gate in gates)
        elif "any" not in field.kinds and not set(field.kinds).intersection(_kinds_of(value)):
            yield _wrong_kind(path, field.kinds[0], field.wrong)
        else:
            yield from self._fitting(field, value, path)

    def _fitting(self, field: Field, value: JsonValue, path: str) -> Iterator[RuleFinding]:
        """A value of the right kind."""
        match value:
            case str():
                yield from self._string(field, value, path)
            case dict() if field.object:
                yield from self._entry(field.object, value, path)
            case list() if field.items and path == "messages" and len(value) > MOST_MESSAGES:
                yield _finding("R17.too-many-messages", path, count=len(value))
            case list() if field.items:
                for k, each in enumerate(value):
                    yield from self._entry(field.items, each, f"{path}.{k}")
            case bool() | None:
                pass
            case int() | float():
                if field.minimum is not None and value < field.minimum:
                    yield _finding(field.range, path, limit=f"greater than or equal to {field.minimum}")
                elif field.maximum is not None and value > field.maximum:
                    yield _finding(field.range, path, limit=f"less than or equal to {field.maximum}")
            case _:
                pass

    def _string(self, field: Field, value: str, path: str) -> Iterator[RuleFinding]:
        if field.values and value not in field.values:
            quoted = [f"'{each}'" for each in field.values]
            either = " or ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
            yield _finding(field.value, path, values=either)
        elif value in field.gated_values and field.gated_values[value] not in self.betas:
            yield _finding(field.value_gate, path)
        elif field.pattern and not re.fullmatch(field.pattern, value):
            yield _finding(field.mismatch, path)

    # ── entries that a table names

    def _entry(self, name: str, value: JsonValue, path: str) -> Iterator[RuleFinding]:
        if name in KINDS:
            yield from () if name in _kinds_of(value) else (_wrong_kind(path, name),)
        elif not isinstance(value, dict):
            yield _wrong_kind(path, "object")
        elif name in fields().shapes:
            yield from self._object(fields().shapes[name], value, path)
        else:
            yield from self._union(_choice(name), value, path)

    def _union(self, choice: _Choice, value: JsonObject, path: str) -> Iterator[RuleFinding]:
        tag = value.get(choice.key)
        if tag is None and choice.absent:
            tag = choice.absent
        if choice.key not in value and tag is None:
            yield _finding("R4.field-required", _join(path, choice.key))
        elif not isinstance(tag, str):
            yield _wrong_kind(_join(path, choice.key), "string")
        elif (member := choice.members.get(tag)) is None:
            where = path if choice.key == "type" else _join(path, choice.key)
            yield _finding(choice.unknown, where, tag=tag, tags=self._legal(choice))
        elif self._is_locked(member):
            gate = member.gate if isinstance(member, Shape) else "R23.block-gated"
            yield _finding(gate, path, tag=tag, tags=self._legal(choice))
        else:
            path_tag = member.tag.replace("*", tag) if isinstance(member, Shape) else tag
            yield from self._object(member, value, _join(path, path_tag))

    def _is_locked(self, member: _Member) -> bool:
        return bool(member.beta) and self.betas.isdisjoint(member.beta)

    def _legal(self, choice: _Choice) -> str:
        """The tags that would be right here, as the vendor lists them."""
        return ", ".join(f"'{tag}'" for tag, member in choice.members.items() if not self._is_locked(member))


@cache
def _choice(name: str) -> _Choice:
    if name == "block":
        return _Choice("type", {tag: block for tag, block in blocks().items() if block.roles}, "R23.block-unknown")
    if name == "nested_block":
        return _Choice("type", {tag: block for tag, block in blocks().items() if block.nested}, "R23.block-unknown")
    union = fields().unions[name]
    members = {tag: fields().shapes[shape] for tag, shape in union.members.items()}
    return _Choice(union.key, members, union.unknown, union.absent)
