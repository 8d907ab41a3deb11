"""The shape of a request: betas, the shapes of its objects, its content blocks.

The columns are explained in `fields.toml`, `blocks.toml` and `betas.toml`. A shape says for each defect which rule it
breaks, so that two readers of these tables name the same one.

The constants at the end are the vendor's dated names that code refers to: betas, and context edits. A new version gets a new
name, and then this is the one place to change. A test checks that each is in the tables.

By what a client's request for a title is known stands in `title_requests.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from clew.model.facts.tables import read_table, to_row, to_rows

__all__ = [
    "BINDING_BETA",
    "CLEAR_THINKING",
    "CLEAR_TOOL_USES",
    "COMPACT",
    "CONTEXT_BETA",
    "INTERLEAVED_BETA",
    "MCP_WITHOUT_TOOLSETS_BETA",
    "TOKEN_COUNT_BETA",
    "Beta",
    "BlockFacts",
    "Field",
    "Fields",
    "Kind",
    "Shape",
    "Union",
    "betas",
    "blocks",
    "fields",
]

Kind: TypeAlias = Literal["string", "integer", "number", "boolean", "object", "array", "null", "any"]
Role: TypeAlias = Literal["user", "assistant", "system"]

_BETAS: Final = "betas.toml"
_BLOCKS: Final = "blocks.toml"
_FIELDS: Final = "fields.toml"


class Beta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value of the anthropic-beta header."""

    name: str
    seen: tuple[Literal["sdk", "book", "client"], ...]
    unlocks: tuple[str, ...] = ()


class Field(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One key of an object: what it may hold, and the rule that each defect breaks."""

    kinds: tuple[Kind, ...] = ("string",)
    required: bool = False
    missing: str = "R4.field-required"
    wrong: str = "R4.wrong-type"
    values: tuple[str, ...] = ()
    value: str = "R4.value-unknown"
    gated_values: dict[str, str] = {}
    value_gate: str = ""
    pattern: str = ""
    mismatch: str = ""
    minimum: int | None = None
    maximum: int | None = None
    range: str = "R4.out-of-range"
    beta: tuple[str, ...] = ()
    gate: str = "R3.field-gated"
    versions: tuple[str, ...] = ()
    version_gate: str = ""
    count: bool = True
    object: str = ""
    items: str = ""


class Shape(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object."""

    name: str
    tag: str = ""
    open: bool = False
    unknown: str = "R4.key-unknown"
    forbidden: dict[str, str] = {}
    beta: tuple[str, ...] = ()
    gate: str = "R3.field-gated"
    fields: dict[str, Field] = {}


class Union(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Objects that one key tells apart. `members` are shapes by tag."""

    name: str
    key: str
    unknown: str
    members: dict[str, str]
    absent: str = ""


class BlockFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A content block; `name` is its type, which is also its tag in a path."""

    name: str
    roles: tuple[Role, ...]
    beta: tuple[str, ...] = ()
    nested: bool = False
    cacheable: bool = False
    answers: str = ""
    open: bool = False
    unknown: str = "R4.key-unknown"
    forbidden: dict[str, str] = {}
    proof: str = ""
    fields: dict[str, Field]


class Fields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every object of a request but the blocks; `shapes["request"]` is the whole."""

    shapes: dict[str, Shape] = field(default_factory=dict[str, Shape])
    unions: dict[str, Union] = field(default_factory=dict[str, Union])


@cache
def betas() -> Mapping[str, Beta]:
    """Every legal value of the anthropic-beta header."""
    return to_rows(Beta, read_table(_BETAS), file=_BETAS)


@cache
def fields() -> Fields:
    """The shapes and unions of a request's objects."""
    table = read_table(_FIELDS)
    shapes = to_rows(Shape, table["shapes"], file=_FIELDS)
    unions = to_rows(Union, table["unions"], file=_FIELDS)
    return to_row(Fields, {**table, "shapes": shapes, "unions": unions}, file=_FIELDS, key="")


@cache
def blocks() -> Mapping[str, BlockFacts]:
    """The content blocks by type, in the order in which the vendor lists them."""
    return to_rows(BlockFacts, read_table(_BLOCKS), file=_BLOCKS)


_PROOF_START: Final = 64
"""Characters of a signature that are looked at: what stands in place of one begins otherwise."""


@cache
def _proof_pattern(block_type: str) -> re.Pattern[str]:
    return re.compile(blocks()[block_type].proof)


def can_be_claudes(block_type: str, proof: str) -> bool:
    """Whether Claude can have written this signature or data of a thinking block, by how it looks."""
    return _proof_pattern(block_type).match(proof[:_PROOF_START]) is not None


INTERLEAVED_BETA: Final = "interleaved-thinking-2025-05-14"
"""Thinking between tool calls, in manual mode."""
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
CONTEXT_BETA: Final = "context-management-2025-06-27"
TOKEN_COUNT_BETA: Final = "thinking-token-count-2026-05-13"  # noqa: S105 - a header value
MCP_WITHOUT_TOOLSETS_BETA: Final = "mcp-client-2025-04-04"
"""The version of MCP in which a server needs no toolset."""

CLEAR_THINKING: Final = "clear_thinking_20251015"
CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
COMPACT: Final = "compact_20260112"


_FILE: Final = "title_requests.toml"


class TitleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client's way to ask for a title."""

    agent: str
    fields: frozenset[str] = frozenset()
    begins: str = ""
    source: str
    date: str


@cache
def title_requests() -> tuple[TitleRequest, ...]:
    return tuple(to_row(TitleRequest, row, file=_FILE, key=key) for key, row in read_table(_FILE).items())
