"""What is known of each model. The columns are explained in `models.toml`.

A row says only what differs from the one that it is `as`: here the rest is filled in, and `reads`, which a row may give by
line and age, becomes the plain set of models. The same two steps put a user's rows on top of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct, structs

from clew.errors import SettingsInvalid
from clew.model.facts.tables import Table, read_table, to_row

__all__ = ["UNKNOWN", "Effort", "ModelFacts", "ThinkingType", "models", "resolve"]

ThinkingType: TypeAlias = Literal["adaptive", "between_tools", "disabled", "enabled"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]

UNKNOWN: Final = "unknown"
"""The row for every name that no other row fits."""

_FILE: Final = "models.toml"
_OWN: Final = ("id", "known", "match", "retired", "disabled_disputed", "prefix_check_disputed", "source", "date")
"""What a row never takes over from another."""
_DEFAULTS: Final[dict[str, object]] = {"source": "settings", "date": ""}
"""What a user's row need not say."""


class ModelFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model as a reader of requests: what it accepts, what it binds, whose thinking it reads."""

    id: str
    match: tuple[str, ...] = ()
    line: Literal["haiku", "sonnet", "opus", "fable", "mythos", ""]
    released: int
    retired: bool = False
    thinking: tuple[ThinkingType, ...]
    thinking_default: Literal["off", "on", "always"]
    disabled_max_effort: Effort | Literal[""] = ""
    disabled_disputed: bool = False
    between_tools_max_effort: Effort | Literal[""] = ""
    display_default: Literal["omitted", "summarized", "full"]
    effort: tuple[Effort, ...]
    effort_default: Effort | Literal[""]
    sampling: Literal["accept", "reject"]
    temperature_and_top_p: bool
    forced_tools: Literal["accept", "reject", "not_with_enabled", "with_adaptive"]
    prefill: bool
    prior_thinking: Literal["all", "last_turn"]
    prefix_check: bool
    prefix_check_disputed: bool = False
    account_bound: bool
    max_tokens: int
    max_tokens_usual: int
    context: int
    overflow: Literal["accept", "reject"]
    min_cache_tokens: int
    min_cache_tokens_skills: int = 0
    system_messages: bool
    interleaved: Literal["auto", "beta", "none"]
    structured: bool = False
    thinking_beta: str = ""
    reads: frozenset[str] = frozenset()
    others_after_last: Literal["keep", "leave"] = "keep"
    legacy_texts: tuple[Literal["R36", "R38"], ...] = ()
    tools_unsupported: tuple[str, ...] = ()
    known: bool = True
    source: str
    date: str


@cache
def models() -> Mapping[str, ModelFacts]:
    """Our rows by model id, the unknown model's among them."""
    rows = resolve(read_table(_FILE), {}, file=_FILE)
    return {**rows, UNKNOWN: structs.replace(rows[UNKNOWN], known=False)}


def resolve(rows: Table, base: Mapping[str, ModelFacts], *, file: str) -> dict[str, ModelFacts]:
    """`base` with these rows put on: a row changes the one of its name, or adds one. Raises SettingsInvalid."""
    merging = _Merging(rows, base, file)
    merged = {**base, **{name: merging.settled(name) for name in rows}}
    return {name: _with_readers(facts, merged, file) for name, facts in merged.items()}


class _Merging:
    """Fills in rows, depth first along `as`, each once."""

    def __init__(self, rows: Table, base: Mapping[str, ModelFacts], file: str) -> None:
        self._rows = rows
        self._base = base
        self._file = file
        self._done: dict[str, ModelFacts] = {}

    def settled(self, name: str, trail: tuple[str, ...] = ()) -> ModelFacts:
        """The row with all that it takes over. `trail` are the rows that led here."""
        if name in trail:
            raise self._error(trail[-1], "as", f"{' as '.join((*trail, name))} goes in a circle")
        if name not in self._rows:
            return self._known(name, trail)
        if name not in self._done:
            self._done[name] = self._filled(name, self._table(name), trail)
        return self._done[name]

    def _filled(self, name: str, row: Table, trail: tuple[str, ...]) -> ModelFacts:
        parent = row.get("as")
        start = _taken_over(self.settled(str(parent), (*trail, name))) if parent else self._start(name)
        own = {key: value for key, value in row.items() if key != "as"}
        return to_row(ModelFacts, {**start, **own, "id": name}, file=self._file, key=name)

    def _start(self, name: str) -> dict[str, object]:
        """What a row without `as` begins with: the row that it changes, else the unknown model."""
        if name in self._base:
            return structs.asdict(self._base[name])
        return _taken_over(self._base[UNKNOWN]) if self._base else {}

    def _known(self, name: str, trail: tuple[str, ...]) -> ModelFacts:
        if name not in self._base:
            raise self._error(trail[-1], "as", f"there is no model {name!r}")
        return self._base[name]

    def _table(self, name: str) -> Table:
        row = self._rows[name]
        if not isinstance(row, Mapping):
            raise SettingsInvalid(f"{self._file}: {name}: expected a table", file=self._file, key=name)
        table = cast("Table", row)
        for key in ("id", "known"):
            if key in table:
                raise self._error(name, key, "is not a column; the table's name says it")
        return {**_DEFAULTS, **table} if self._base else table

    def _error(self, name: str, key: str, why: str) -> SettingsInvalid:
        return SettingsInvalid(f"{self._file}: {name}.{key}: {why}", file=self._file, key=f"{name}.{key}")


def _taken_over(facts: ModelFacts) -> dict[str, object]:
    return {key: value for key, value in structs.asdict(facts).items() if key not in _OWN}


def _with_readers(facts: ModelFacts, rows: Mapping[str, ModelFacts], file: str) -> ModelFacts:
    """`reads` as model ids: a line is all its models, `line<=model` those released no later than that one."""
    named = frozenset(name for entry in facts.reads for name in _meant(entry, facts.id, rows, file))
    return structs.replace(facts, reads=named - {facts.id})


def _meant(entry: str, reader: str, rows: Mapping[str, ModelFacts], file: str) -> list[str]:
    if entry in rows:
        return [entry]
    line, _, newest = entry.partition("<=")
    found = [row for row in rows.values() if row.line == line and line]
    if not found or (newest and newest not in rows):
        raise SettingsInvalid(f"{file}: {reader}.reads: no model or line {entry!r}", file=file, key=f"{reader}.reads")
    limit = rows[newest].released if newest else max(row.released for row in found)
    return [row.id for row in found if row.released <= limit]
