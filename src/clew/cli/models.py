"""`clew models`: the names that a client may ask for, and what is known of each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from msgspec import Struct, structs

from clew.backends.address import is_local
from clew.backends.names import alias_of, backend_aliases
from clew.backends.row import Backend, model_for, target_of
from clew.cli.command import config_option, json_option, report_errors, unknown_backend
from clew.cli.installation import active_now
from clew.cli.output import Page, TextLine, print_result, printable, printable_table
from clew.settings.home import home_of
from clew.settings.load import load
from clew.settings.processes import config_in_use
from clew.settings.values import Settings

_EXAMPLES: Final = """\b
Examples:
  clew models                       what a client may ask for, and which model of the active backend answers
  clew models --backend glm         the same for another backend
  clew models --all --json          retired models too

\b
Exit status: 0 ok, 2 an unknown backend, 5 the config cannot be used.
"""


class ModelRow(Struct, frozen=True, kw_only=True):
    """One name, the backend and the model that answer to it, and what that model takes."""

    name: str
    backend: str
    model: str
    thinking: tuple[str, ...]
    effort: tuple[str, ...]
    context: int
    max_tokens: int
    known: bool


@click.command(short_help="List the models that a client may ask for.", epilog=_EXAMPLES)
@click.option("--backend", "chosen", metavar="NAME", help="For this backend. Default: the active one.")
@click.option("--all", "all_", is_flag=True, help="Also models that the vendor no longer serves.")
@click.option("--no-discover", is_flag=True, help="Do not ask backends on this machine which models they have.")
@config_option
@json_option
def models(chosen: str | None, all_: bool, no_discover: bool, file: Path | None, json_: bool) -> None:
    """List the model names that a client may ask for, which model then answers, and what that model takes.

    A name that begins with `anthropic/` selects a backend directly, whatever is active. Backends on this machine are asked
    which models they have. Rows about models of your config count; `?` is what nobody published.
    """
    with report_errors():
        loaded = load(file or config_in_use(home_of(os.environ), os.environ), os.environ, keys=False)
    known, backend = loaded.settings.backends, chosen or active_now(loaded.settings, home_of(os.environ))
    if backend not in known:
        raise unknown_backend(backend, known)
    settings = loaded.settings
    claude = [facts for facts in settings.models.values() if facts.line and (all_ or not facts.retired)]
    claude.sort(key=lambda facts: -facts.released)
    rows = [_row(facts.id, known[backend], facts.id, settings) for facts in claude]
    own = {name: meant for name, meant in backend_aliases(known).items() if meant[1]}
    rows += [_row(name, known[where], model, settings) for name, (where, model) in own.items()]
    if not no_discover:
        names = {row.name for row in rows}
        rows += [row for row in _local_rows(settings) if row.name not in names]
    disabled = [TextLine(printable(f"Here, {each.says}."), "bad") for each in loaded.disabled.values()]
    print_result(rows, [*_page(rows), *disabled], as_json=json_)


def _local_rows(settings: Settings) -> list[ModelRow]:
    """The models that backends on this machine list."""
    local = {name: row for name, row in settings.backends.items() if row.dialect != "anthropic" and is_local(row.url)}
    if not local:
        return []
    from clew.admin.trial.capabilities import list_models
    from clew.http.loops import run

    found = {alias_of(name, model): (local[name], model) for name, each in run(list_models(local)).items() for model in each}
    return [
        _row(alias, structs.replace(backend, models={}, model=model), model, settings)
        for alias, (backend, model) in found.items()
    ]


def _row(name: str, backend: Backend, asked: str, settings: Settings) -> ModelRow:
    profile = target_of(backend, asked, overrides=settings.models).profile
    return ModelRow(
        name=name,
        backend=backend.name,
        model=model_for(backend, asked),
        thinking=profile.thinking,
        effort=profile.effort,
        context=profile.context,
        max_tokens=profile.max_tokens,
        known=profile.known,
    )


def _page(rows: list[ModelRow]) -> Page:
    cells = [
        (
            row.name,
            row.backend,
            row.model,
            " ".join(row.thinking) or "none",
            " ".join(row.effort) or "none",
            *(f"{number:,}" if number else "?" for number in (row.context, row.max_tokens)),
        )
        for row in rows
    ]
    columns = ("asked for", "backend", "answers", "thinking", "effort", "context", "max tokens")
    note = 'For a model without a row, the usual values are assumed. Set others in the config: [models."NAME"].'
    unknown = not all(row.known for row in rows)
    return [printable_table(columns, cells), *([TextLine(note, "quiet")] if unknown else [])]
