"""How a backend deviates: as its vendor's row says, with what the operator says on top.

The operator's word outranks the row's also where that speaks of some models only. What a table does not say is not there: a
default of ours must not undo a row, so it matters which keys a table names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

from msgspec import structs

from clew.backends.manner import Manner, Quirks
from clew.backends.presets import Preset, presets
from clew.model.facts.efforts import knobs
from clew.model.origin import ANTHROPIC
from clew.settings.document import BackendTable
from clew.settings.lines import Key
from clew.settings.shape import Problem, nearest

__all__ = ["Given", "given_in", "manner_faults", "manners", "unusual"]

Given: TypeAlias = Mapping[str, frozenset[str]]
"""Which keys a backend's tables `quirks`, `wire` and `speech` name."""

PARTS = ("quirks", "wire", "speech")


def given_in(raw: Mapping[str, object], name: str) -> Given:
    """What the document says of a backend that it need not name at all."""
    table: Any = raw
    for key in ("backends", name):
        table = table.get(key, {})
    return {part: frozenset(cast("Mapping[str, object]", table.get(part, {}))) for part in PARTS}


def manners(table: BackendTable, given: Given, realm: str, known: Preset | None) -> tuple[Manner, dict[str, Manner]]:
    """For the backend as a whole, and by model. `known` is the vendor's row in the backend's dialect."""
    whole = Manner(quirks=_quirks(realm, known))
    if known is None:
        return _over(whole, table, given), {}
    whole = structs.replace(whole, wire=known.wire, speech=known.speech)
    return _over(whole, table, given), {pattern: _over(each, table, given) for pattern, each in known.by_model.items()}


def _quirks(realm: str, known: Preset | None) -> Quirks:
    """The realm `anthropic` brings that row's quirks, whatever the host; any other realm leaves the vendor's."""
    if realm == ANTHROPIC:
        return presets()[ANTHROPIC].quirks
    return known.quirks if known and known.realm != ANTHROPIC else Quirks()


def _over(manner: Manner, table: BackendTable, given: Given) -> Manner:
    parts: dict[str, Any] = {part: getattr(manner, part) for part in PARTS}
    for part, names in given.items():
        said = getattr(table, part)
        parts[part] = structs.replace(parts[part], **{each: getattr(said, each) for each in names})
    return Manner(**parts)


def manner_faults(key: Key, table: BackendTable, given: Given, dialect: str) -> Iterator[Problem]:
    """What is said where it means nothing, and words that no table has."""
    if dialect == ANTHROPIC:
        for part in ("wire", "speech", "path"):
            if given.get(part) or (part == "path" and table.path):
                yield Problem((*key, part), "it is of dialect openai-chat, and this backend speaks anthropic")
    if "missing" in given.get("wire", ()):
        yield Problem((*key, "wire", "missing"), "say it in quirks: missing")
    if table.wire.knob and table.wire.knob not in knobs():
        says = f"there is no such knob{nearest(table.wire.knob, knobs())} (known: {', '.join(knobs())})"
        yield Problem((*key, "wire", "knob"), says)
    if table.path and not table.path.startswith("/"):
        yield Problem((*key, "path"), "it begins with /")


def unusual(manner: Manner) -> Iterator[tuple[str, str]]:
    """The parts and keys in which a manner is not that of a backend that nobody knows."""
    usual = Manner()
    for part in PARTS:
        default = getattr(usual, part)
        for name, value in structs.asdict(getattr(manner, part)).items():
            if value != getattr(default, name):
                yield part, name
