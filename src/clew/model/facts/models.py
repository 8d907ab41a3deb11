"""The facts about each model, and which model a name means. The columns are explained in `models.toml`.

A row holds only what differs from the row that it is `as`: here the rest is filled in, and `reads`, which a row may give by
line and age, becomes the plain set of models. The same two steps put a user's rows on top of the built-in ones. The row that
fits a name is its *profile*.

One model has many names: with a date, with a platform's prefix and suffix, with dots for dashes. The canonical name is the
id under which the tables know it, or, for a Claude that they do not know, its name without all that. Other vendors' names
stay as they are, but for a bracket at the end: what looks like a suffix there may be the name. So does a text that is too
long for a name: clients choose it, and taking it apart would take its length squared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct, structs

from clew.errors import SettingsInvalid
from clew.model.facts.tables import Table, read_table, to_row

ThinkingType: TypeAlias = Literal["adaptive", "between_tools", "disabled", "enabled"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]

UNKNOWN: Final = "unknown"
"""The row for every name that no other row fits."""

_FILE: Final = "models.toml"
_OWN: Final = ("id", "known", "match", "retired", "disabled_disputed", "prefix_check_disputed", "source", "date")
"""Columns that a row never takes over from another."""
_DEFAULTS: Final[dict[str, object]] = {"source": "settings", "date": ""}
"""Columns that a user's row may leave out."""


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
    """The built-in rows by model id, the unknown model's among them."""
    rows = resolve(read_table(_FILE), {}, file=_FILE)
    return {**rows, UNKNOWN: structs.replace(rows[UNKNOWN], known=False)}


def merge_overrides(tables: Table, *, file: str = "settings") -> dict[str, ModelFacts]:
    """All rows, with the user's on top: a table changes the row of its name, or adds one (`as` names what the rest is like;
    without it, the unknown model). Raises SettingsInvalid with the key that is wrong."""
    return resolve(tables, models(), file=file)


def resolve(rows: Table, base: Mapping[str, ModelFacts], *, file: str) -> dict[str, ModelFacts]:
    """`base` with these rows put on: a row changes the one of its name, or adds one. Raises SettingsInvalid."""
    merging = _Merging(rows, base, file)
    merged = {**base, **{name: merging.settled(name) for name in rows}}
    return {name: structs.replace(facts, reads=_readable(facts, merged, file)) for name, facts in merged.items()}


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
            if name not in self._base:
                raise self._error(trail[-1], "as", f"there is no model {name!r}")
            return self._base[name]
        if name not in self._done:
            row = self._table(name)
            start: dict[str, object] = {}
            if parent := row.get("as"):
                start = _taken_over(self.settled(str(parent), (*trail, name)))
            elif name in self._base:  # a row without `as` begins with the row that it changes, else the unknown model
                start = structs.asdict(self._base[name])
            elif self._base:
                start = _taken_over(self._base[UNKNOWN])
            own = {key: value for key, value in row.items() if key != "as"}
            self._done[name] = to_row(ModelFacts, {**start, **own, "id": name}, file=self._file, key=name)
        return self._done[name]

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


def _readable(facts: ModelFacts, rows: Mapping[str, ModelFacts], file: str) -> frozenset[str]:
    """`reads` as model ids: a line is all its models, `line<=model` those released no later than that one."""
    named: set[str] = set()
    for entry in facts.reads:
        if entry in rows:
            named.add(entry)
            continue
        line, _, newest = entry.partition("<=")
        found = [row for row in rows.values() if row.line == line and line]
        if not found or (newest and newest not in rows):
            key = f"{facts.id}.reads"
            raise SettingsInvalid(f"{file}: {key}: no model or line {entry!r}", file=file, key=key)
        limit = rows[newest].released if newest else max(row.released for row in found)
        named |= {row.id for row in found if row.released <= limit}
    return frozenset(named - {facts.id})


_LONGEST: Final = 256
"""No model has a longer name."""

_CLAUDE: Final = re.compile(r"(?:^|[/.:])(claude-[^/]*)$")
_SUFFIX: Final = re.compile(
    r"\[[^\]]*\]$"  # claude-opus-5-5[1m]
    r"|-v\d+(?::\w+)*$"  # claude-sonnet-4-5-20250929-v1:0
    r"|[-@]20\d{6}$"  # a date
    r"|@[\w.-]+$"  # claude-opus-5@default
    r"|:[a-z][\w-]*$"  # claude-sonnet-4.5:thinking
    r"|-latest$"
)


def canonical_model(name: str, rows: Mapping[str, ModelFacts] | None = None) -> str:
    """The reader's model id: `us.anthropic.claude-sonnet-4-5-20250929-v1:0` is `claude-sonnet-4-5`."""
    return _usual_model(name) if rows is None and len(name) <= _LONGEST else _model_in(rows or models(), name)


@lru_cache(maxsize=256)
def _usual_model(name: str) -> str:
    """Every answer of a history is asked for its model, with every request, and they are few."""
    return _model_in(models(), name)


def _model_in(rows: Mapping[str, ModelFacts], name: str) -> str:
    bare = name
    if len(name) <= _LONGEST:
        claude = _CLAUDE.search(name.strip().lower())
        bare = re.sub(r"\[[^\]]*\]$", "", name.strip())
        if claude:
            bare = claude[1]
            while (shorter := _SUFFIX.sub("", bare)) != bare:
                bare = shorter
            bare = bare.replace(".", "-")
    return next((row.id for row in rows.values() if bare in row.match), bare)


def profile_for(model: str, overrides: Mapping[str, ModelFacts] | None = None) -> ModelFacts:
    """The row of the most specific name that fits, under the canonical id; else the unknown model's row. `overrides` is what
    `merge_overrides` made of the user's tables.

    >>> profile_for("claude-sonnet-4-5-20250929").interleaved
    'beta'
    """
    rows = overrides or models()
    canonical = canonical_model(model, rows)
    for whole in dict.fromkeys((canonical, canonical.rpartition("/")[2])) if len(canonical) <= _LONGEST else ():
        shorter = whole
        # Words fall off its end, but never a number: that would be another version.
        while shorter not in rows and (cut := shorter.rpartition("-"))[0] and not cut[2].isdecimal():
            shorter = cut[0]
        if shorter in rows and shorter != UNKNOWN:
            return structs.replace(rows[shorter], id=canonical)
    return structs.replace(rows[UNKNOWN], id=canonical)


def reads(reader: ModelFacts, other_model: str, overrides: Mapping[str, ModelFacts] | None = None) -> bool:
    """Whether this reader can read that model's thinking (R43). Its own always; an unpublished pair, no."""
    other = canonical_model(other_model, overrides)
    return other == reader.id or other in reader.reads


def display_name(name: str) -> str:
    """As the vendor writes it for people: `claude-opus-5-5` is Claude Opus 5.5."""
    words: list[str] = []
    for word in name.split("-"):
        if word.isdecimal() and words and words[-1].replace(".", "").isdecimal():
            words[-1] += f".{word}"
        else:
            words.append(word.capitalize())
    return " ".join(words)
