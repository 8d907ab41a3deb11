"""`clew models`: the names that a client may ask for, and what is known of each."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import Struct, structs

from clew.backends.address import is_local
from clew.backends.aliases import alias_of, aliases
from clew.backends.row import Backend, model_for, target_of
from clew.cli.config import config_option
from clew.cli.endings import told
from clew.cli.json_output import say_json
from clew.cli.next_backend import active_now
from clew.cli.pages import Line, Page, Table, printable, show
from clew.model.facts import ModelFacts
from clew.settings.home import home_of
from clew.settings.load import Loaded, load
from clew.settings.running import file_in_use
from clew.settings.values import Settings

__all__ = ["models"]

_EXAMPLES: Final = """\b
Examples:
  clew models                       what a client may ask for, and what the active backend makes of it
  clew models --backend glm         what another backend makes of it
  clew models --all --json          retired ones too

\b
Exit status: 0 ok, 2 an unknown backend, 5 the config cannot be used.
"""


class Row(Struct, frozen=True, kw_only=True):
    """One name, who answers to it, and what that model takes."""

    name: str
    backend: str
    model: str
    thinking: tuple[str, ...]
    effort: tuple[str, ...]
    context: int
    max_tokens: int
    known: bool


@click.command(short_help="List the models that a client may ask for.", epilog=_EXAMPLES)
@click.option("--backend", "chosen", metavar="NAME", help="As this backend would answer; the active one otherwise.")
@click.option("--all", "all_", is_flag=True, help="Also models that the vendor no longer serves.")
@click.option("--no-discover", is_flag=True, help="Do not ask backends on this machine which models they have.")
@config_option
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def models(chosen: str | None, all_: bool, no_discover: bool, file: Path | None, json_: bool) -> None:
    """List the model names that a client may ask for, which model then answers, and what that model takes.

    A name that begins with `anthropic/` asks for a backend directly, whatever is active. Backends on this machine are asked
    which models they have. Rows about models of your config count; `?` is what nobody published.
    """
    with told():
        loaded = load(file or file_in_use(home_of(os.environ), os.environ), os.environ, keys=False)
    rows = _rows(loaded.settings, _backend(loaded, chosen), retired=all_)
    rows += [] if no_discover else _local_rows(loaded.settings, {row.name for row in rows})
    if json_:
        say_json(rows)
    else:
        disabled = [Line(printable(f"Here, {each.says}."), "bad") for each in loaded.disabled.values()]
        show([*_page(rows), *disabled])


def _backend(loaded: Loaded, name: str | None) -> Backend:
    known = loaded.settings.backends
    chosen = name or active_now(loaded.settings, home_of(os.environ))
    if chosen not in known:
        raise click.UsageError(f"There is no backend {chosen!r}. There are: {', '.join(known)}.")
    return known[chosen]


def _rows(settings: Settings, backend: Backend, *, retired: bool) -> list[Row]:
    claude = [facts for facts in settings.models.values() if facts.line and (retired or not facts.retired)]
    rows = [_row(facts.id, backend, facts.id, settings) for facts in sorted(claude, key=lambda each: -each.released)]
    own = {name: meant for name, meant in aliases(settings.backends).items() if meant[1]}
    return rows + [_row(name, settings.backends[where], model, settings) for name, (where, model) in own.items()]


def _local_rows(settings: Settings, known: Container[str]) -> list[Row]:
    """What backends on this machine list beside what the config names."""
    local = {name: row for name, row in settings.backends.items() if row.dialect != "anthropic" and is_local(row.url)}
    if not local:
        return []
    from clew.cli.nearby import listed
    from clew.http.loops import run

    found = {alias_of(name, model): (local[name], model) for name, each in run(listed(local)).items() for model in each}
    return [
        _row(name, structs.replace(backend, models={}, model=model), model, settings)
        for name, (backend, model) in found.items()
        if name not in known
    ]


def _row(name: str, backend: Backend, asked: str, settings: Settings) -> Row:
    profile: ModelFacts = target_of(backend, asked, overrides=settings.models).profile
    return Row(
        name=name,
        backend=backend.name,
        model=model_for(backend, asked),
        thinking=profile.thinking,
        effort=profile.effort,
        context=profile.context,
        max_tokens=profile.max_tokens,
        known=profile.known,
    )


def _page(rows: Sequence[Row]) -> Page:
    cells = [
        (
            row.name,
            row.backend,
            row.model,
            " ".join(row.thinking) or "none",
            " ".join(row.effort) or "none",
            _number(row.context),
            _number(row.max_tokens),
        )
        for row in rows
    ]
    columns = ("asked for", "backend", "answers", "thinking", "effort", "context", "max tokens")
    table = Table(columns, tuple(tuple(map(printable, each)) for each in cells))
    unknown = not all(row.known for row in rows)
    note = [
        Line('Of a model without a row of its own the usual is assumed: [models."NAME"] in the config says more.', "quiet")
    ]
    return [table, *(note if unknown else [])]


def _number(value: int) -> str:
    return f"{value:,}" if value else "?"
