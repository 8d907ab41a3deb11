"""`clew import-config`: backends from the settings of LiteLLM, claude-code-router, cc-switch or Codex."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from clew.cli.command import (
    BadConfig,
    Failed,
    config_option,
    fail_if_behind,
    followed_line,
    json_option,
    report_errors,
)
from clew.cli.output import Page, TextLine, plural, print_json, print_page, printable
from clew.settings.home import home_of, write_private
from clew.settings.imports.found import ImportPlan, plan_import
from clew.settings.imports.sources import PLACES, TITLES, kind_of, read_source
from clew.settings.load import config_place
from clew.settings.schema import template

if TYPE_CHECKING:
    from clew.settings.rollout import Rollout

_EXAMPLES: Final = """\b
Examples:
  clew import-config --from claude-code-router
  clew import-config litellm_config.yaml
  clew import-config --from cc-switch --write
  clew import-config ~/.codex/config.toml --json

\b
Exit status: 0 ok, 1 nothing can be carried over, or a gateway has not applied it, 2 wrong usage, 5 a file cannot be used.
"""


@click.command(
    "import-config",
    epilog=_EXAMPLES,
    short_help="Carry over backends from LiteLLM, claude-code-router, cc-switch or Codex.",
)
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
@click.option("--from", "kind", type=click.Choice(list(TITLES)), help="The tool. Default: found by the file.")
@click.option("--write", is_flag=True, help="Write the settings file. Without it, clew asks on a terminal.")
@config_option
@json_option
def import_config(source: Path | None, kind: str | None, write: bool, file: Path | None, json_: bool) -> None:
    """Show what the settings file would be with the backends of another tool, and write it if you agree.

    FILE is the other tool's settings. With --from alone, the file is looked for where that tool keeps it.

    Everything that is in your settings file stays, comments too. Keys are not copied and not printed. If the other tool
    names a variable, that variable is used. For a key that stands in its file, you are told which variable to set. What
    cannot be carried over is listed with the reason.
    """
    with report_errors():
        path = source.expanduser() if source else _usual_place(kind)
        chosen = kind or kind_of(path)
        place = config_place(os.environ, file)
        plan = plan_import(read_source(path, chosen), _text_of(place), os.environ)
    asks = not write and not json_ and plan.new != plan.old and sys.stdin.isatty() and sys.stdout.isatty()
    if not json_:
        print_page([*_page(plan, TITLES[chosen], path, place)])
    if not plan.added and not plan.known:
        if json_:
            print_json(_value(plan, chosen, path, place, None))
        raise Failed(f"nothing of {path} can be carried over")
    if plan.new != plan.old and (write or (asks and click.confirm(f"Write this to {place}?"))):
        _write(plan, chosen, path, place, json_=json_)
    elif json_:
        print_json(_value(plan, chosen, path, place, None))
    elif plan.new == plan.old:
        click.echo(f"{place} already has all of it.")
    else:
        click.echo("Nothing was written. Use --write to write it.")


def _usual_place(kind: str | None) -> Path:
    kinds = [kind] if kind else [each for each in PLACES if each != "litellm"]
    places = [(each, Path(place).expanduser()) for each in kinds for place in PLACES[each]]
    found = [(each, path) for each, path in places if path.is_file()]
    if not found:
        looked = ", ".join(str(path) for _, path in places)
        raise click.UsageError(f"There is no settings file at {looked}. Name the FILE.")
    if len({each for each, _ in found}) > 1:
        raise click.UsageError(f"There are settings of {', '.join(each for each, _ in found)}: choose one with --from.")
    return found[0][1]


def _text_of(place: Path) -> str:
    """The settings file; without one, what `clew config init` would write. Raises BadConfig if it cannot be used."""
    try:
        text = place.read_text("utf-8") if place.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"cannot read {place}: {error}") from None
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{place} cannot be used: {error}; `clew config check` says more.") from None
    return text if text.strip() else template(os.environ)


def _page(plan: ImportPlan, title: str, path: Path, place: Path) -> Iterator[TextLine]:
    new = "" if place.exists() else " It does not exist yet: `clew config init` would write the rest of it."
    yield TextLine(printable(f"{title}, {path} → {place}.{new}"), "head")
    for line in plan.diff():
        yield TextLine(printable(line), "good" if line.startswith("+") else "quiet")
    if plan.known:
        yield TextLine(f"there already: {', '.join(plan.known)}", "quiet")
    if plan.active:
        yield TextLine(f"{title} uses {plan.active} now; `clew use {plan.active}` makes it active here.")
    if plan.left_out:
        yield TextLine("Not carried over:", "head")
    for each in plan.left_out:
        yield TextLine(printable(f"  {each.what}: {each.why}"))


def _write(plan: ImportPlan, kind: str, path: Path, place: Path, *, json_: bool) -> None:
    from clew.settings.rollout import roll_out_file

    with report_errors():
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(place, plan.new.encode())
        followed = roll_out_file(home_of(os.environ), place)
    if json_:
        print_json(_value(plan, kind, path, place, followed))
    else:
        page: Page = [
            TextLine(printable(f"written: {place}, with {plural(len(plan.added), 'new backend')}"), "good"),
            TextLine("`clew backends test` tries them.", "quiet"),
            TextLine(followed_line(followed), "quiet"),
        ]
        print_page(page)
    fail_if_behind(followed)


def _value(plan: ImportPlan, kind: str, path: Path, place: Path, followed: Rollout | None) -> dict[str, object]:
    return {
        "from": kind,
        "source": str(path),
        "file": str(place),
        "added": plan.added,
        "known": plan.known,
        "active": plan.active,
        "diff": plan.diff(),
        "left_out": plan.left_out,
        "written": followed is not None,
        "followed": followed,
    }
