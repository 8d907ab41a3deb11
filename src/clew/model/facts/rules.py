"""The vendor's rules for a request, in the order in which they are checked; and the stances where sources disagree.

The columns are explained in `rules.toml` and `stances.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct, structs

from clew.model.facts.tables import read_table, to_row, to_rows

Grade: TypeAlias = Literal["A", "B", "C", "D"]
Phase: TypeAlias = Literal[
    "transport",
    "json",
    "schema",
    "model",
    "parameters",
    "structure",
    "layout",
    "signature",
    "modified",
    "binding",
    "length",
]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)

_RULES: Final = "rules.toml"
_STANCES: Final = "stances.toml"


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect that a request can have, and what the vendor answers to it."""

    id: str
    grade: Grade
    phase: Phase
    means: str
    path: str
    text: str
    source: str
    right: str = ""
    static: bool = True
    status: int = 400
    type: str = "invalid_request_error"
    verified: bool = True
    enforced: bool = True
    stance: str = ""
    when: tuple[str, ...] = ()
    variants: dict[str, str] = {}
    order: int = -1

    def words(self, variant: str = "", /, **names: object) -> str:
        """The vendor's words, or another wording of them, with the names put in."""
        return (self.variants[variant] if variant else self.text).format(**names)

    def in_force(self, stances: Mapping[str, str]) -> bool:
        """Whether the rule holds under these stances. `enforced` and the grade are the caller's to weigh."""
        return not self.stance or stances[self.stance] in self.when


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by id, in the order of checking."""
    rows = cast("list[Mapping[str, object]]", read_table(_RULES)["rule"])
    read = [to_row(Rule, row, file=_RULES, key=str(row.get("id", n))) for n, row in enumerate(rows)]
    return {rule.id: structs.replace(rule, order=n) for n, rule in enumerate(read)}


def path_order(path: str) -> tuple[tuple[bool, int, str], ...]:
    """A sort key for JSON paths: indices by number and before names, so that `messages.2` comes before `messages.10`."""
    return tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in path.split("."))


class Conflict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question that the sources answer differently. `values` says what each answer does."""

    name: str
    switch: str
    question: str
    default: str
    sources: str
    values: dict[str, str]


@cache
def stances() -> Mapping[str, Conflict]:
    """By conflict id, C-1 … C-17."""
    return to_rows(Conflict, read_table(_STANCES), file=_STANCES)


@cache
def default_stances() -> Mapping[str, str]:
    """The suggested answers, by conflict id."""
    return {name: conflict.default for name, conflict in stances().items()}


# What a request in a dialect of OpenAI's can get wrong by itself, in the order of checking: rows of TOML.


_FILE: Final = "openai_rules.toml"


class OpenaiRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect, and what OpenAI answers to it."""

    id: str
    means: str
    text: str
    right: str
    source: str


class RequestShape(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By what a request of a dialect is known: fields of it, of its messages, its roles, content parts and tools."""

    fields: frozenset[str] = frozenset()
    message_fields: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


class OpenaiRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole table."""

    rules: Mapping[str, OpenaiRule]
    shapes: Mapping[str, RequestShape]
    prefixes: Mapping[str, str]
    """How the id of an item begins, by its type."""
    calls: Mapping[str, str]
    """The kinds of calls that clients answer, in OpenAI's words."""


@cache
def openai_rules() -> OpenaiRules:
    """The table as it is in the file."""
    table = read_table(_FILE)
    rows = cast("list[Mapping[str, object]]", table["rule"])
    shapes = cast("Mapping[str, Mapping[str, object]]", table["shapes"])
    return OpenaiRules(
        rules={str(row["id"]): to_row(OpenaiRule, row, file=_FILE, key=str(row["id"])) for row in rows},
        shapes={name: to_row(RequestShape, row, file=_FILE, key=name) for name, row in shapes.items()},
        prefixes=cast("Mapping[str, str]", table["prefixes"]),
        calls=cast("Mapping[str, str]", table["calls"]),
    )
