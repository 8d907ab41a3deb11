"""The meaning of errors of OpenAI-style backends. The columns are explained in `failures.toml`.

A meaning is looked up by the codes and words of an error and by the status that it came with; nothing here knows a vendor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct, convert

from clew.model.facts.tables import read_table, to_row

Reason: TypeAlias = Literal[
    "full", "cap", "billing", "overloaded", "rate", "auth", "model", "filter", "answer", "permission", "timeout", "request"
]

Path: TypeAlias = tuple[str, ...]
"""Names of members, in lower case, one inside the other; `*` is each of a list."""

_FAILURES: Final = "failures.toml"


class Meaning(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True, rename={"reason": "is"}):
    """One meaning of errors, and the statuses, codes and words that it is known by."""

    reason: Reason
    says: int
    over: frozenset[int]
    codes: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        return _any_of(self.words) if self.words else None

    def fits(self, status: int, codes: frozenset[str], message: str) -> bool:
        if status not in self.over:
            return False
        return bool(self.codes & codes) or (self.pattern is not None and self.pattern.search(message) is not None)


class Numbers(Struct, frozen=True):
    """Patterns with the groups `input`, `output` and `limit`, as far as each kind of sentence has them."""

    both: tuple[re.Pattern[str], ...]
    prompt: tuple[re.Pattern[str], ...]
    cap: tuple[re.Pattern[str], ...]


class _Refused(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    over: frozenset[int]
    inside: frozenset[int]
    words: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return _any_of(self.words)


class WaitPaths(Struct, frozen=True):
    """Where an error says how long to wait, and until when."""

    after: tuple[Path, ...]
    until: tuple[Path, ...]


@cache
def meanings() -> tuple[Meaning, ...]:
    rows = cast("list[Mapping[str, object]]", read_table(_FAILURES)["meaning"])
    return tuple(to_row(Meaning, row, file=_FAILURES, key=f"meaning.{place}") for place, row in enumerate(rows))


def meaning_of(status: int, codes: frozenset[str], message: str) -> Meaning | None:
    """The first meaning that fits. Codes are in lower case; status 0 is none."""
    return next((each for each in meanings() if each.fits(status, codes, message)), None)


@cache
def usual_status(status: int) -> int:
    """The status that Anthropic would have used."""
    return convert(read_table(_FAILURES)["status"], dict[str, int]).get(str(status), status)


def is_refusal(status: int, words: str) -> bool:
    """Whether a request was refused for what is in it: by this status, or by what its words repeat."""
    known = _refused()
    return status in known.over or (status in known.inside and known.pattern.search(words) is not None)


@cache
def numbers() -> Numbers:
    given = convert(read_table(_FAILURES)["numbers"], dict[str, list[str]])
    return Numbers(*(tuple(map(_pattern, given[name])) for name in ("both", "prompt", "cap")))


@cache
def waits() -> WaitPaths:
    given = convert(read_table(_FAILURES)["waits"], dict[str, list[str]])
    return WaitPaths(*(tuple(tuple(path.lower().split(".")) for path in given[name]) for name in ("after", "until")))


@cache
def _refused() -> _Refused:
    return convert(read_table(_FAILURES)["refused"], _Refused)


def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return _pattern("|".join(f"(?:{each})" for each in words))


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE | re.DOTALL)


# How refusals for thinking are worded. The columns are explained in `refusals.toml`.


ThinkingRule: TypeAlias = Literal["R33", "R34", "R35", "R37", "R38", "R44"]
"""The rules about thinking for which a request can be repaired."""

_REFUSALS: Final = "refusals.toml"


class RefusalWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Words that refuse a request under one rule."""

    rule: ThinkingRule
    words: tuple[str, ...]
    sources: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{each})" for each in self.words), re.IGNORECASE)


@cache
def thinking_refusals() -> tuple[RefusalWords, ...]:
    """All known wordings, in the order in which they are tried."""
    rows = cast("list[Mapping[str, object]]", read_table(_REFUSALS)["refusal"])
    return tuple(to_row(RefusalWords, row, file=_REFUSALS, key=f"refusal.{place}") for place, row in enumerate(rows))
