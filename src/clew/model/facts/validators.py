"""What the checks of tool schemas refuse, by backend. The columns are explained in `validators.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.model.facts.tables import read_table, to_rows

__all__ = ["Rewrite", "Validator", "validator", "validators"]

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
    """One check of schemas: what passes it, and what is said otherwise so that it passes."""

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
