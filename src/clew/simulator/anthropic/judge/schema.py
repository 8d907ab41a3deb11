"""The shape of a request: types, keys, values and gates (R2, R4, R9, R17, R23, R33, R59 …).

`RequestSchema` walks over the body along the tables of fields and blocks. They list the keys of each object, and for each
defect the rule that it breaks. Paths are the vendor's: they include the tag of a union's member
(`thinking.enabled.budget_tokens`). Nothing is checked below a value of a wrong kind, or below one that a gate refuses.
The other checks say what the tables cannot: stances, and the blocks that the newer API version moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from clew.model.facts import BlockFacts, Field, Shape, blocks, fields
from clew.model.json import JsonObject, JsonValue
from clew.simulator.anthropic.judge.case import BrokenRule, Case
from clew.simulator.values import as_list, as_str

_MAX_MESSAGES: Final = 100_000
_NEWER_VERSION: Final = "2026-10-21"
_SHORT_NAME: Final = 64
_KIND_WORDS: Final = {"object": "dictionary", "array": "list"}
_PATH_ENDINGS: Final = {"R33.signature-not-string": ".str"}
"""Rules whose path ends with the kind that the vendor expected."""
_KINDS: Final[Mapping[type, tuple[str, ...]]] = {
    type(None): ("null",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    str: ("string",),
    dict: ("object",),
    list: ("array",),
}
"""The kinds of each type. An integer is a number, too; true is not a number, and 1.0 is not an integer."""


def check_shape(case: Case) -> Iterator[BrokenRule]:
    """Everything that the tables of fields and blocks decide."""
    return RequestSchema(case.version, case.betas, case.counting).check_object(case.body, "request", "")


def check_long_names(case: Case) -> Iterator[BrokenRule]:
    """Tool names that the pattern of 128 characters takes and the documented one does not (C-17)."""
    pattern = fields().shapes["tool.custom"].fields["name"].pattern
    for index, tool in enumerate(as_list(case.body.get("tools"))):
        if isinstance(tool, dict) and tool.get("type") in (None, "custom"):
            name = as_str(tool.get("name"))
            if len(name) > _SHORT_NAME and re.fullmatch(pattern, name):
                yield BrokenRule("R59.name-over-64", f"tools.{index}.custom.name")


def check_moved_blocks(case: Case) -> Iterator[BrokenRule]:
    if case.version != _NEWER_VERSION or len(as_list(case.body.get("messages"))) > _MAX_MESSAGES:
        return
    for message in case.messages:
        for block in message.blocks:
            if message.role == "assistant" and block.type == "document":
                yield BrokenRule("R2.document-in-assistant", block.path)
            if message.role == "user" and block.type == "text" and as_list(block.value.get("citations")):
                yield BrokenRule("R2.citations-in-user", f"{block.path}.text.citations")


@dataclass(frozen=True, slots=True)
class UnionMembers:
    """The members of a union by tag. A value without a tag counts as one with the tag `absent`."""

    key: str
    unknown: str
    members: Mapping[str, Shape | BlockFacts]
    absent: str = ""


@dataclass(frozen=True, slots=True)
class RequestSchema:
    """The tables as they apply to one API version and one set of betas."""

    version: str
    betas: frozenset[str]
    counting: bool

    def _check_shape(self, value: JsonObject, shape: Shape | BlockFacts, path: str) -> Iterator[BrokenRule]:
        for key, row in shape.fields.items():
            if key not in value and row.required and (row.count or not self.counting):
                yield _broken(row.missing, _joined(path, key))
        for key, member in value.items():
            where = _joined(path, key)
            if key in shape.forbidden:
                yield _broken(shape.forbidden[key], where)
            elif key in shape.fields:
                yield from self._check_field(member, shape.fields[key], where)
            elif not shape.open:
                yield _broken(shape.unknown, where)

    def _check_field(self, value: JsonValue, row: Field, path: str) -> Iterator[BrokenRule]:
        closed = [*self._closed_gates(value, row)]
        if closed:
            yield from (_broken(rule, path) for rule in closed)
        elif not _is_of_kind(value, row.kinds):
            yield _wrong_kind(row.wrong, path, row.kinds[0])
        elif isinstance(value, str):
            yield from self._check_text(value, row, path)
        elif isinstance(value, dict):
            yield from self.check_object(value, row.object, path)
        elif isinstance(value, list):
            yield from self._check_items(value, row.items, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if row.minimum is not None and value < row.minimum:
                yield _broken(row.range, path, limit=f"greater than or equal to {row.minimum}")
            elif row.maximum is not None and value > row.maximum:
                yield _broken(row.range, path, limit=f"less than or equal to {row.maximum}")

    def _closed_gates(self, value: JsonValue, row: Field) -> Iterator[str]:
        """The rules by which this version or these betas do not have the field."""
        if row.versions and self.version not in row.versions:
            yield row.version_gate
        if self.counting and not row.count:
            yield "R4.field-not-counted"
        if value is not None and row.beta and self.betas.isdisjoint(row.beta):
            yield row.gate

    def _check_text(self, value: str, row: Field, path: str) -> Iterator[BrokenRule]:
        if row.values and value not in row.values:
            *words, last = (f"'{value}'" for value in row.values)
            values = f"{', '.join(words)} or {last}" if words else last
            yield _broken(row.value, path, values=values)
        elif value in row.gated_values and row.gated_values[value] not in self.betas:
            yield _broken(row.value_gate, path)
        elif row.pattern and not re.fullmatch(row.pattern, value):
            yield _broken(row.mismatch, path)

    def _check_items(self, values: list[JsonValue], name: str, path: str) -> Iterator[BrokenRule]:
        if path == "messages" and len(values) > _MAX_MESSAGES:
            yield _broken("R17.too-many-messages", path, count=len(values))
            return
        kind = name if name in ("string", "object") else "object"
        for index, value in enumerate(values):
            where = _joined(path, str(index))
            if not _is_of_kind(value, (kind,)):
                yield _wrong_kind("R4.wrong-type", where, kind)
            elif isinstance(value, dict) and name != "object":
                yield from self.check_object(value, name, where)

    def check_object(self, value: JsonObject, name: str, path: str) -> Iterator[BrokenRule]:
        """`name` is a shape or a union. With neither, nothing inside the object is checked."""
        if name in fields().shapes:
            yield from self._check_shape(value, fields().shapes[name], path)
        elif name:
            union = _union(name)
            tag = value.get(union.key)
            if tag is None and union.absent:
                tag = union.absent
            if union.key not in value and tag is None:
                yield _broken("R4.field-required", _joined(path, union.key))
            elif not isinstance(tag, str):
                yield _wrong_kind("R4.wrong-type", _joined(path, union.key), "string")
            elif (member := union.members.get(tag)) is None:
                where = _joined(path, "role") if union.key == "role" else path
                yield _broken(union.unknown, where, tag=tag, tags=self._legal_tags(union))
            elif member.beta and self.betas.isdisjoint(member.beta):
                rule = member.gate if isinstance(member, Shape) else "R23.block-gated"
                yield _broken(rule, path, tag=tag, tags=self._legal_tags(union))
            else:
                # `*` in a shape stands for whatever the tag is; a block's tag is always in the path.
                in_path = member.tag if isinstance(member, Shape) and member.tag != "*" else tag
                yield from self._check_shape(value, member, _joined(path, in_path))

    def _legal_tags(self, union: UnionMembers) -> str:
        """The tags that would be legal here, as the vendor lists them."""
        legal = (tag for tag, member in union.members.items() if not member.beta or self.betas & set(member.beta))
        return ", ".join(f"'{tag}'" for tag in legal)


@cache
def _union(name: str) -> UnionMembers:
    if name in ("block", "nested_block"):
        legal = {tag: row for tag, row in blocks().items() if (row.nested if name == "nested_block" else row.roles)}
        return UnionMembers("type", "R23.block-unknown", legal)
    union = fields().unions[name]
    members = {tag: fields().shapes[shape] for tag, shape in union.members.items()}
    return UnionMembers(union.key, union.unknown, members, union.absent)


def _is_of_kind(value: JsonValue, kinds: Sequence[str]) -> bool:
    return "any" in kinds or any(kind in kinds for kind in _KINDS[type(value)])


def _wrong_kind(rule: str, path: str, kind: str) -> BrokenRule:
    return _broken(rule, path, kind=_KIND_WORDS.get(kind, kind))


def _broken(rule: str, path: str, **names: object) -> BrokenRule:
    return BrokenRule(rule, path + _PATH_ENDINGS.get(rule, ""), names)


def _joined(path: str, key: str) -> str:
    """A path and one more step; an empty step adds nothing."""
    return f"{path}.{key}" if path and key else path or key
