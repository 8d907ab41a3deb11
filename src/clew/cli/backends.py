"""`clew backends`: what can be called, and whether it answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from msgspec import structs

from clew.backends.presets import presets
from clew.backends.row import Backend, Quirks
from clew.cli.config import config_option
from clew.cli.endings import UpstreamFailed, told
from clew.cli.pages import Line, Page, Table, printable, show
from clew.cli.trial import AUTHS, Trial, trials
from clew.settings.load import Loaded, load

__all__ = ["backends"]

_json_option = click.option("--json", "json_", is_flag=True, help="Print JSON.")

_EXAMPLES: Final = """\b
Examples:
  clew backends                 what there is, and what each deviates in
  clew backends presets         endpoints that a config can name
  clew backends test            one tiny request to each
  clew backends test glm --json

\b
Exit status: 0 ok, 2 wrong usage, 3 a backend does not answer, 5 the config cannot be used.
"""


@click.group(short_help="List the backends, and test them.", invoke_without_command=True, epilog=_EXAMPLES)
@config_option
@_json_option
@click.pass_context
def backends(ctx: click.Context, file: Path | None, json_: bool) -> None:
    """List the backends of your config, or those whose keys are in the environment.

    `clew use` says which one is active, and switches.
    """
    ctx.obj = file
    if ctx.invoked_subcommand is not None:
        return
    loaded = _loaded(file, keys=False)
    if json_:
        click.echo(msgspec.json.encode([_plain(row) for row in loaded.settings.backends.values()]).decode())
    else:
        show(_page(loaded))


@backends.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@config_option
@_json_option
@click.pass_obj
def test(outer: Path | None, names: tuple[str, ...], file: Path | None, json_: bool) -> None:
    """Send one tiny request to each backend, or to those that are named, and say what came.

    It costs a few tokens. Also tried: counting tokens, and the list of models. A backend that takes the client's own
    credential is tried with ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, if one is set.

    \b
    Examples:
      clew backends test
      clew backends test glm kimi

    Exit status: 0 all that were asked answer, 2 an unknown name, 3 one does not, 5 the config cannot be used.
    """
    from clew.http.loops import run

    loaded = _loaded(file or outer, keys=True)
    found = run(trials(loaded.settings, _named(loaded, names), os.environ))
    if json_:
        click.echo(msgspec.json.encode(found).decode())
    else:
        show(_tried(found))
    if any(trial.ok is False for trial in found):
        raise click.exceptions.Exit(UpstreamFailed.exit_code)


@backends.command("presets")
@_json_option
def presets_(json_: bool) -> None:
    """List the endpoints that `preset = "…"` can name, with the variables where their keys are looked for."""
    if json_:
        click.echo(msgspec.json.encode(list(presets().values())).decode())
        return
    rows = [(row.name, row.title, row.url, ", ".join(each.name for each in row.variables)) for row in presets().values()]
    show([Table(("preset", "vendor", "url", "variables"), tuple(rows))])


def _loaded(file: Path | None, *, keys: bool) -> Loaded:
    with told():
        return load(file, os.environ, keys=keys)


def _named(loaded: Loaded, names: Sequence[str]) -> Mapping[str, Backend]:
    known = loaded.settings.backends
    for name in names:
        if name not in known:
            raise click.UsageError(f"There is no backend {name!r}. There are: {', '.join(known)}.")
    return {name: known[name] for name in names} if names else known


def _plain(row: Backend) -> dict[str, Any]:
    """Everything but the keys."""
    fields = {name: value for name, value in structs.asdict(row).items() if name != "keys"}
    return {**fields, "quirks": structs.asdict(row.quirks), "timeouts": row.timeouts.given()}


def _page(loaded: Loaded) -> Page:
    rows = [
        (row.name, row.realm, row.url, AUTHS[row.auth], _models(row), _deviations(row.quirks))
        for row in loaded.settings.backends.values()
    ]
    table = Table(
        ("backend", "realm", "url", "auth", "models", "deviates"), tuple(tuple(map(printable, row)) for row in rows)
    )
    where = f"from {loaded.file}" if loaded.file else "found without a config; `clew config init` writes one"
    warnings = [Line(printable(f"warning: {warning}")) for warning in loaded.warnings]
    return [table, Line(printable(f"{len(rows)} backend{'s' if len(rows) > 1 else ''}, {where}"), "quiet"), *warnings]


def _models(row: Backend) -> str:
    named = [f"{asked}={own}" for asked, own in row.models.items()]
    return ", ".join([*named, *([f"else {row.model}"] if row.model else [])]) or "as asked"


def _deviations(quirks: Quirks) -> str:
    """The quirks that are not as with a backend that nobody knows."""
    usual = structs.asdict(Quirks())
    return ", ".join(f"{name}={_word(value)}" for name, value in structs.asdict(quirks).items() if value != usual[name])


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tried(found: Sequence[Trial]) -> Page:
    rows = [
        (
            trial.backend,
            trial.model,
            _verdict(trial),
            f"{trial.seconds:.2f} s" if trial.status else "",
            _offers(trial),
            trial.says,
        )
        for trial in found
    ]
    columns = ("backend", "model", "", "took", "also has", "says")
    return [Table(columns, tuple(tuple(map(printable, row)) for row in rows))]


def _verdict(trial: Trial) -> str:
    return {True: "ok", False: "failed", None: "not asked"}[trial.ok]


def _offers(trial: Trial) -> str:
    return ", ".join(name for name in ("count_tokens", "models") if getattr(trial, name))
