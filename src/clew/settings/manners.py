"""How a backend deviates: as its vendor's row says, with what the operator says on top.

The operator's word outranks the row's also where that speaks of some models only; the operator's own rules for some models
come before all others. What a table does not say is not there: a default of ours must not undo a row, so it matters which
keys a table names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct, structs

from clew.backends.manner import Manner, Quirks
from clew.backends.presets import Preset, presets
from clew.model.facts.efforts import knobs
from clew.model.facts.validators import validators
from clew.model.origin import ANTHROPIC
from clew.settings.document import BackendTable
from clew.settings.lines import Key
from clew.settings.shape import Problem, nearest

__all__ = ["Given", "given_in", "manner_faults", "manners", "unusual"]

PARTS: Final = ("quirks", "wire", "speech")
_Names: TypeAlias = Mapping[str, frozenset[str]]


class Given(Struct, frozen=True):
    """Which keys the tables `quirks`, `wire` and `speech` of a backend name, and those of its rules by model."""

    whole: _Names = {}
    by_model: Mapping[str, _Names] = {}


def given_in(raw: Mapping[str, object], name: str) -> Given:
    """What the document says of a backend that it need not name at all."""
    table = _table(_table(raw, "backends"), name)
    rules = _table(table, "by_model")
    return Given(_names(table), {pattern: _names(_table(rules, pattern)) for pattern in rules})


def _table(raw: Mapping[str, object], key: str) -> Mapping[str, object]:
    return cast("Mapping[str, object]", raw.get(key, {}))


def _names(table: Mapping[str, object]) -> _Names:
    return {part: frozenset(_table(table, part)) for part in PARTS}


def manners(table: BackendTable, given: Given, realm: str, known: Preset | None) -> tuple[Manner, dict[str, Manner]]:
    """For the backend as a whole, and by model. `known` is the vendor's row in the backend's dialect."""
    whole = Manner(quirks=_quirks(realm, known))
    if known is not None:
        whole = structs.replace(whole, wire=known.wire, speech=known.speech)
    whole = _over(whole, table, given.whole)
    vendor: Mapping[str, Manner] = known.by_model if known else {}
    rows = {pattern: _over(each, table, given.whole) for pattern, each in vendor.items()}
    own: dict[str, Manner] = {}
    for pattern, rule in table.by_model.items():
        small = pattern.lower()  # as names are compared
        own[small] = _over(rows.get(small, whole), rule, given.by_model[pattern])
    return whole, {**own, **{pattern: each for pattern, each in rows.items() if pattern not in own}}


def _quirks(realm: str, known: Preset | None) -> Quirks:
    """The realm `anthropic` brings that row's quirks, whatever the host; any other realm leaves the vendor's."""
    if realm == ANTHROPIC:
        return presets()[ANTHROPIC].quirks
    return known.quirks if known and known.realm != ANTHROPIC else Quirks()


def _over(manner: Manner, said: BackendTable | Manner, names: _Names) -> Manner:
    parts: dict[str, Any] = {}
    for part in PARTS:
        own = {each: getattr(getattr(said, part), each) for each in names[part]}
        parts[part] = structs.replace(getattr(manner, part), **own)
    return Manner(**parts)


def manner_faults(key: Key, table: BackendTable, given: Given, dialect: str) -> Iterator[Problem]:
    """What is said where it means nothing, and words that no table has."""
    if table.path and not table.path.startswith("/"):
        yield Problem((*key, "path"), "it begins with /")
    if table.path and dialect == ANTHROPIC:
        yield Problem((*key, "path"), _ELSEWHERE)
    yield from _part_faults(key, table, given.whole, dialect)
    for pattern, rule in table.by_model.items():
        yield from _part_faults((*key, "by_model", pattern), rule, given.by_model[pattern], dialect)


_ELSEWHERE: Final = "it is of dialect openai-chat, and this backend speaks anthropic"


def _part_faults(key: Key, said: BackendTable | Manner, names: _Names, dialect: str) -> Iterator[Problem]:
    if dialect == ANTHROPIC:
        yield from (Problem((*key, part), _ELSEWHERE) for part in ("wire", "speech") if names[part])
    if "missing" in names["wire"]:
        yield Problem((*key, "wire", "missing"), "say it as quirks.missing")
    if len(said.wire.between) not in (0, 2):
        yield Problem((*key, "wire", "between"), f"expected two tags, got {len(said.wire.between)}")
    for name in ("most_tokens", "stops", "user_length"):
        if getattr(said.wire, name) < 0:
            yield Problem((*key, "wire", name), f"expected 0 or more, got {getattr(said.wire, name)}")
    for name, value, rows in (("knob", said.wire.knob, knobs()), ("validator", said.wire.validator, validators())):
        if value and value not in rows:
            known = f"there is no such {name}{nearest(value, rows)} (known: {', '.join(rows)})"
            yield Problem((*key, "wire", name), known)


def unusual(manner: Manner) -> Iterator[tuple[str, str]]:
    """The parts and keys in which a manner is not that of a backend that nobody knows."""
    usual = Manner()
    for part in PARTS:
        default = getattr(usual, part)
        for name, value in structs.asdict(getattr(manner, part)).items():
            if value != getattr(default, name):
                yield part, name
