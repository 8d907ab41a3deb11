"""The table of presets: endpoints that are known, so that a config need only say which, and a key.

The columns are explained in `presets.toml`. A vendor with endpoints in two dialects is one row with a table inside it, so
that `dialect` picks the other one and the realm stays the vendor's. A URL of a known vendor gets that vendor's realm and
manner even without `preset`: who reads a signature is a fact about the host, not about how the config is written.

At the end are descriptions of a backend for people: what it hides, where it deviates, what its models are called.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from msgspec import Struct, structs

from clew.backends.row import DIALECTS, Backend, Dialect, Manner, Quirks
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.errors import SettingsInvalid
from clew.model.facts.tables import to_row

_FILE: Final = "presets.toml"
_OWN: Final = ("as", "source", "date", "title", "hosts", "variables", "backend")
"""Columns that a row does not take over from the one that it is `as`."""
_VENDOR: Final = (
    *("name", "title", "realm", "backend", "variables", "hosts", "auth", "keyless"),
    *("model", "models", "own_models", "vision", "tools"),
)
"""Columns that hold for a vendor's endpoints in all dialects."""
_MANNER: Final = ("quirks", "wire", "speech", "responses")

Has: TypeAlias = Literal["yes", "no", "by model"]
_Table: TypeAlias = Mapping[str, object]


class Variable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment variable that holds a key, and how that key is shown if not as the preset says."""

    name: str
    auth: Literal["key", "bearer", ""] = ""


class Preset(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of one well-known endpoint: a row of `presets.toml`."""

    name: str
    title: str
    url: str
    path: str = ""
    auth: Literal["key", "bearer", "api-key"]
    keyless: bool = False
    realm: str
    dialect: Dialect = "anthropic"
    backend: str = ""
    variables: tuple[Variable, ...] = ()
    hosts: tuple[str, ...] = ()
    port: int = 0
    model: str = ""
    models: Mapping[str, str] = {}
    own_models: tuple[str, ...] = ()
    vision: Has = "by model"
    tools: Has = "yes"
    count_tokens: bool = False
    hidden: str = ""
    quirks: Quirks = Quirks()
    wire: ChatRequestOptions = ChatRequestOptions()
    speech: ChatAnswerOptions = ChatAnswerOptions()
    responses: ResponsesOptions = ResponsesOptions()
    by_model: Mapping[str, Manner] = {}
    simulator: str
    source: str
    date: str
    others: Mapping[str, Preset] = {}
    """The same vendor's endpoints in other dialects."""

    def speaking(self, dialect: str) -> Preset | None:
        """The vendor's endpoint in this dialect, or in the row's own if none is named; None if there is none."""
        return self if dialect in ("", self.dialect) else self.others.get(dialect)


@cache
def presets() -> Mapping[str, Preset]:
    """All rows, by name."""
    return read_presets(Path(__file__).with_name(_FILE).read_text("utf-8"))


def read_presets(text: str) -> dict[str, Preset]:
    """The rows of a table. Raises SettingsInvalid with the key of what is wrong."""
    rows = cast("dict[str, dict[str, object]]", tomllib.loads(text))
    return {name: _preset(name, rows) for name in rows}


def usual_key(name: str) -> str:
    """Where the tools of a known vendor look for its key, as the settings say it; "" for any other."""
    row = presets().get(name)
    return f"${{{row.variables[0].name}}}" if row and row.variables and not row.keyless else ""


def preset_of_host(url: str) -> Preset | None:
    """The preset whose vendor this URL belongs to."""
    host = (urlsplit(url).hostname or "").lower()
    for row in presets().values():
        if any(re.fullmatch(re.escape(pattern).replace(r"\*", r"[a-z0-9.-]+"), host) for pattern in row.hosts):
            return row
    return None


def _preset(name: str, rows: Mapping[str, _Table]) -> Preset:
    own = dict(rows[name])
    parent = str(own.pop("as", ""))
    if parent and parent not in rows:
        raise SettingsInvalid(f"{_FILE}: {name}.as: there is no {parent!r}", file=_FILE, key=f"{name}.as")
    taken = {key: value for key, value in rows[parent].items() if key not in _OWN} if parent else {}
    for dialect in DIALECTS:
        # Only dialects for which the row gives an address: another row's would lead to another place.
        inherited = cast("_Table", taken.pop(dialect, {}))
        if inherited and dialect in own:
            own[dialect] = {**inherited, **cast("_Table", own[dialect])}
    row: dict[str, object] = {"backend": name, **taken, **own, "name": name}
    shared = {key: value for key, value in row.items() if key in _VENDOR}
    others = {dialect: cast("_Table", row.pop(dialect)) for dialect in DIALECTS if dialect in row}
    made = {dialect: _row({**shared, **other, "dialect": dialect}, f"{name}.{dialect}") for dialect, other in others.items()}
    return structs.replace(_row(row, name), others=made)


def _row(row: dict[str, object], key: str) -> Preset:
    """The row as a value. Its rules for some models are made complete: what they leave out is as in the row."""
    rules = cast("Mapping[str, Mapping[str, _Table]]", row.get("by_model", {}))
    by_model: dict[str, dict[str, object]] = {}
    for pattern, rule in rules.items():
        whole = {part: {**cast("_Table", row.get(part, {})), **rule.get(part, {})} for part in _MANNER}
        by_model[pattern] = {**rule, **whole}
    return to_row(Preset, {**row, "by_model": by_model}, file=_FILE, key=key)


_WIRE: Final = ("reasoning", "knob")
_RESPONSES: Final = ("encrypted", "thought_text", "summary", "knob")


def hidden_of(row: Backend) -> str:
    """The part of a backend's reasoning that is not available, and why; "" if nothing is known to be hidden."""
    known = _known(row)
    return known.hidden if known else ""


def supports_of(row: Backend) -> dict[str, str]:
    """What the backend supports, by the table of presets; for an unknown endpoint, only how reasoning goes back."""
    known = _known(row)
    if row.dialect == "anthropic":
        reasoning = "signed thinking blocks" if row.quirks.signed else "thinking blocks"
    elif row.dialect == "openai-responses":
        reasoning = "reasoning items, encrypted" if row.responses.encrypted else "reasoning items, as text"
    else:
        reasoning = f"as {row.wire.reasoning}" if row.wire.reasoning else "not taken back"
    has = {"images": known.vision, "tools": known.tools} if known else {}
    counts = {"counts tokens": "yes"} if known and known.count_tokens else {}
    return {"reasoning": reasoning, **has, **counts}


def _known(row: Backend) -> Preset | None:
    vendor = presets().get(row.preset) or preset_of_host(row.url)
    return vendor.speaking(row.dialect) if vendor else None


def models_of(row: Backend) -> str:
    """Which of its models answers for which name."""
    named = [f"{asked}={own}" for asked, own in row.models.items()]
    named += ["its own names as asked"] if row.own_models else []
    others = f"else {row.model}" if named else row.model
    return ", ".join([*named, *([others] if row.model else [])]) or "as asked"


def is_unmapped(row: Backend) -> bool:
    """Whether a backend gets the names of Claude models, which it does not know: no model is set for it."""
    return row.dialect != "anthropic" and not (row.model or row.models)


def deviations_of(row: Backend) -> dict[str, str]:
    """The quirks that differ from an unknown backend's; of its request options, those about reasoning."""
    usual = structs.asdict(Quirks())
    found = {name: value for name, value in structs.asdict(row.quirks).items() if value != usual[name]}
    for own, default, names in ((row.wire, ChatRequestOptions(), _WIRE), (row.responses, ResponsesOptions(), _RESPONSES)):
        found |= {name: getattr(own, name) for name in names if getattr(own, name) != getattr(default, name)}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) or "none" for name, value in found.items()}
