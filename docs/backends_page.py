"""The page about backends: every row of the table of presets, and how each kind is asked to think."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import structs

from clew.backends.presets import Preset, presets
from clew.backends.row import Manner
from clew.model.facts.chat_backends import LEVELS, Knob, Level, knobs
from clew.settings.backend_rows import OPTION_TABLES
from clew.settings.schema import toml_value

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

ENDPOINTS = [endpoint for row in presets().values() for endpoint in (row, *row.others.values())]
IN_CHAT = [row for row in ENDPOINTS if row.dialect == "openai-chat"]

HEAD = """# Backends

The endpoints that `preset` can name. See also [Add a backend](../howto/add-a-backend.md), and
[Run Claude Code on any OpenAI-style backend](../howto/run-on-openai-style-backends.md) for what happens to thinking there.
Each row is a table in `src/clew/backends/presets.toml`. `clew backends test NAME` checks if it is still true.
"""
CHAT = """## In dialect `openai-chat`

How its requests differ (`wire`), how its answers differ (`speech`), and what it needs in place of missing reasoning
(`quirks`), compared to an unknown backend. [Config](config.md) explains each key. You can set any of them in your
settings. Settings for some models are complete: keys that they leave out have the value of the row.
"""
KNOBS = """## How each kind is asked to think

A client sets `thinking` and `output_config.effort`. The `knob` of a backend translates them into the backend's own fields. A
level that the backend does not have is rounded to one that it has. A budget is sent if the backend has a field for it.
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
    return f"`{row.name}`", row.dialect, row.vision, row.tools, "yes" if row.count_tokens else "unknown"


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
