"""The page about backends: every row of the table of presets, and how each kind is asked to think."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import structs

from clew.backends.presets import BACKENDS, Preset
from clew.backends.row import Manner
from clew.model.facts.chat_backends import LEVELS, Knob, Level, knobs
from clew.settings.backend_rows import OPTION_TABLES
from clew.settings.schema import toml_value

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

ENDPOINTS = [endpoint for row in BACKENDS.values() for endpoint in (row, *row.others.values())]
IN_CHAT = [row for row in ENDPOINTS if row.dialect == "openai-chat"]

HEAD = """# Backends

Endpoints that `preset` can name. [Add a backend](../howto/add-a-backend.md) says how, and
[Run Claude Code on any OpenAI-style backend](../howto/run-on-openai-style-backends.md) what becomes of thinking there.
A row is a table in `src/clew/backends/presets.toml`; `clew backends test NAME` says if it still holds.
"""
CHAT = """## In dialect `openai-chat`

What each wants to be sent (`wire`), how it answers (`speech`), what it wants in place of missing reasoning (`quirks`): only
what is not as with a backend that nobody knows. The [config](config.md) says what each key means, and any of them can be
set for a backend of yours. Rules for some models are complete: what they leave out is as in the row.
"""
KNOBS = """## How each kind is asked to think

A client says `thinking` and `output_config.effort`; a backend's `knob` says it in the backend's words. A level without words
of its own is rounded to one that has some. A budget goes to the field for it, where there is one.
"""


def backends_page(table: Table) -> str:
    parts = [HEAD, table(("preset", "vendor", "dialect", "url", "keys in", "realm", "simulator"), map(_place, ENDPOINTS))]
    parts += ["## What each has\n", table(("preset", "dialect", "images", "tools", "counts tokens"), map(_has, ENDPOINTS))]
    parts += ["What stays hidden:\n", *_hidden(), ""]
    parts += [CHAT, table(("preset", "models", "manner"), (each for row in IN_CHAT for each in _manners(row)))]
    parts += [KNOBS, table(("knob", *LEVELS, "budget"), map(_knob, knobs().values()))]
    parts += ["## Sources\n", table(("preset", "dialect", "source", "as of"), map(_source, ENDPOINTS))]
    return "\n".join(parts)


def _place(row: Preset) -> tuple[str, ...]:
    keys = ", ".join(f"`{each.name}`" for each in row.variables) or ("no key needed" if row.keyless else "")
    return f"`{row.name}`", row.title, row.dialect, row.url or "your own", keys, row.realm, f"`{row.simulator}`"


def _has(row: Preset) -> tuple[str, ...]:
    return f"`{row.name}`", row.dialect, row.vision, row.tools, "yes" if row.count_tokens else "not known to"


def _hidden() -> Iterator[str]:
    yield from (f"- `{row.name}`: {row.hidden}." for row in ENDPOINTS if row.hidden)


def _manners(row: Preset) -> Iterator[tuple[str, ...]]:
    whole = Manner(quirks=row.quirks, wire=row.wire, speech=row.speech)
    yield f"`{row.name}`", "", _said(whole, Manner()) or "nothing"
    yield from (("", f"`{pattern}`", _said(each, whole) or "as the row") for pattern, each in row.by_model.items())


def _said(manner: Manner, usual: Manner) -> str:
    """What differs, as a config would say it."""
    found: list[str] = []
    for part in OPTION_TABLES:
        default = structs.asdict(getattr(usual, part))
        fields = structs.asdict(getattr(manner, part))
        found += [f"`{part}.{key} = {_plain(value)}`" for key, value in fields.items() if value != default[key]]
    return " ".join(found)


def _plain(value: object) -> str:
    return toml_value(sorted(value) if isinstance(value, frozenset) else msgspec.to_builtins(value))


def _knob(row: Knob) -> tuple[str, ...]:
    return f"`{row.name}`", *(_level(row, level) for level in LEVELS), f"`{'.'.join(row.budget)}`" if row.budget else ""


def _level(row: Knob, level: Level) -> str:
    if level in row.rounds:
        return f"as {row.rounds[level]}"
    return f"`{msgspec.json.encode(row.says[level]).decode()}`" if row.says[level] else "nothing said"


def _source(row: Preset) -> tuple[str, ...]:
    return f"`{row.name}`", row.dialect, row.source, row.date
