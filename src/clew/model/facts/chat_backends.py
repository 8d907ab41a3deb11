"""Facts about OpenAI-style backends: how each is asked to think, which schemas it refuses, and calls as text.

A *knob* is one kind of backend's way to ask for thinking (`efforts.toml`). It answers for every level: it has a form for it,
or names the level whose form is used. So rounding is data, and can be reported. A *validator* is one check of tool schemas
(`validators.toml`). Both files explain their columns.

Some families of models write tool calls as text, each in its form. A host that serves such a model should read its calls and
tell them as calls. Many do so only if they are told to, and some miss a few. `text_calls.toml` explains the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct, convert

from clew.errors import SettingsInvalid
from clew.model.facts.tables import read_table, to_rows
from clew.model.json import JsonValue

Level: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max", "auto"]

RANKED: Final[tuple[Level, ...]] = ("minimal", "low", "medium", "high", "xhigh", "max")
"""The levels that compare, from least to most."""

LEVELS: Final[tuple[Level, ...]] = ("off", *RANKED, "auto")

_EFFORTS: Final = "efforts.toml"


class Knob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of backend's parameters for how much to think."""

    name: str
    says: dict[Level, dict[str, JsonValue]]
    rounds: dict[Level, Level] = {}
    budget: tuple[str, ...] = ()
    alone: bool = False
    """Whether a budget replaces the parameters of `auto`, instead of standing beside them."""
    floor: int = 1
    ceiling: int | None = None
    sources: tuple[str, ...] = ()

    def meant(self, level: Level) -> Level:
        """The level whose parameters are sent for this one."""
        return self.rounds.get(level, level)


@cache
def knobs() -> Mapping[str, Knob]:
    return to_rows(Knob, read_table(_EFFORTS)["knob"], file=_EFFORTS)


def knob(name: str) -> Knob:
    """The knob of this name; SettingsInvalid, with those there are, if there is none."""
    found = knobs().get(name)
    if found is None:
        raise SettingsInvalid(f"no knob {name!r}; there are {', '.join(knobs())}", file=_EFFORTS, key=name)
    return found


@cache
def bands() -> tuple[tuple[int, Level], ...]:
    """From how many tokens on a budget is which level, the highest first."""
    floors = convert(read_table(_EFFORTS)["bands"], dict[Level, int])
    return tuple(sorted(((floor, level) for level, floor in floors.items()), reverse=True))


def level_of_budget(tokens: int) -> Level:
    """The level whose band holds a budget."""
    return next(level for floor, level in bands() if tokens >= floor)


Rewrite: TypeAlias = Literal[
    "refs",
    "all_of",
    "one_of",
    "null",
    "const",
    "bounds",
    "enums",
    "patterns",
    "required",
    "items",
    "types",
    "root",
    "empty",
]

_VALIDATORS: Final = "validators.toml"


class Validator(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check of schemas: what passes it, and what is rewritten so that it passes."""

    name: str
    keeps: frozenset[str] = frozenset()
    drops: frozenset[str] = frozenset()
    formats: frozenset[str] | None = None
    rewrites: frozenset[Rewrite] = frozenset()
    sources: tuple[str, ...] = ()


@cache
def validators() -> Mapping[str, Validator]:
    return to_rows(Validator, read_table(_VALIDATORS)["validator"], file=_VALIDATORS)


def validator(name: str) -> Validator:
    """The check of this name; SettingsInvalid, with those there are, if there is none."""
    found = validators().get(name)
    if found is None:
        raise SettingsInvalid(f"no validator {name!r}; there are {', '.join(validators())}", file=_VALIDATORS, key=name)
    return found


BY_MODEL: Final = "by model"
"""The family is found by the name of the model."""
NEVER: Final = "never"
"""What is written as text stays text."""

_FILE: Final = "text_calls.toml"


class TextCallForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to write a call."""

    name: str
    begin: tuple[str, ...]
    body: Literal["json", "arguments"]
    argument: tuple[str, ...] = ()
    end: tuple[str, ...]
    open_end: bool = False
    trims: bool = False
    sources: tuple[str, ...]


class TextCallFamily(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Models that write calls in the same forms."""

    name: str
    models: tuple[str, ...]
    forms: tuple[str, ...]
    sources: tuple[str, ...]
    date: str


@cache
def text_call_forms() -> Mapping[str, TextCallForm]:
    return to_rows(TextCallForm, read_table(_FILE)["form"], file=_FILE)


@cache
def text_call_families() -> Mapping[str, TextCallFamily]:
    """In the order in which their patterns are tried."""
    return to_rows(TextCallFamily, read_table(_FILE)["family"], file=_FILE)


@lru_cache(maxsize=256)
def text_call_family(model: str) -> str:
    """The family of a model by the name that its host gives it; "" if it is in none.

    >>> text_call_family("x-ai/grok-code-fast-1")
    'grok'
    """
    name = model.lower()
    rows = text_call_families().values()
    return next((row.name for row in rows if any(fnmatchcase(name, pattern) for pattern in row.models)), "")
