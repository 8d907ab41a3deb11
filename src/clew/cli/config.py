"""`clew config`: the settings file. Make one, find it, check it, show the settings in force, describe it to an editor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
import msgspec

from clew.cli.command import BadConfig, Failed, config_option, json_option, report_errors
from clew.cli.output import Page, TextLine, TextTable, print_json, print_page, print_result, printable, printable_table
from clew.settings.home import home_of
from clew.settings.load import Loaded, config_file, config_place, faults_of, load
from clew.settings.schema import SCHEMA_FILE, entries_of, json_schema, template, toml_value

_EXAMPLES: Final = """\b
Examples:
  clew config init                    a first file, with what is found in the environment
  clew config path                    which file is read
  clew config check                   every mistake in it
  clew config show --origin           every setting, and where it comes from
  clew config schema > clew.schema.json    for an editor that completes keys

\b
Exit status: 0 ok, 1 failed, 2 wrong usage, 5 a file that cannot be used.
"""


@click.group(short_help="Create, find, check and show the settings file.", epilog=_EXAMPLES)
def config() -> None:
    """Create, find, check and show the settings file.

    It is `clew.toml` in the home directory, unless CLEW_CONFIG or --config names another. Without a file, clew uses the keys
    that it finds in the environment; `clew config show --origin` lists them.
    """


@config.command()
@click.option("--force", is_flag=True, help="Replace an existing file.")
@config_option
@json_option
def init(force: bool, file: Path | None, json_: bool) -> None:
    """Write a first settings file.

    It has the backends whose keys are in the environment, and every other setting as a comment, with its default.

    \b
    Examples:
      clew config init
      clew config init --config ./clew.toml
    """
    path = config_place(os.environ, file)
    if path.exists() and not force:
        raise Failed(f"{path} already exists: edit it, or use --force to replace it.")
    schema = path.with_name(SCHEMA_FILE)
    _write(path, template(os.environ))
    _write(schema, msgspec.json.format(msgspec.json.encode(json_schema()), indent=2).decode() + "\n")
    hint = TextLine("After an edit, `clew config check` finds mistakes in it.", "quiet")
    print_result({"path": str(path), "schema": str(schema)}, [TextLine(f"written: {path}", "good"), hint], as_json=json_)


@config.command()
@config_option
@json_option
def path(file: Path | None, json_: bool) -> None:
    """Print the path of the settings file, whether it exists or not.

    \b
    Examples:
      $EDITOR "$(clew config path)"
    """
    found = config_place(os.environ, file)
    if json_:
        print_json({"path": str(found), "exists": found.is_file()})
        return
    click.echo(str(found))
    if not found.is_file():
        click.echo("There is no such file yet: `clew config init` writes one.", err=True)


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--config", "named", type=click.Path(path_type=Path), metavar="FILE", help="The same as FILE.")
@json_option
def check(file: Path | None, named: Path | None, json_: bool) -> None:
    """List every mistake in the settings file.

    Each mistake is listed with its line and the allowed values. FILE is the file to check; without it, the one in use. A
    backend whose variable is not set here is disabled, but the rest of the file can be used.

    \b
    Examples:
      clew config check
      clew config check ./new.toml && mv new.toml "$(clew config path)"
    """
    if file and named:
        raise click.UsageError("FILE and --config mean the same: use one of them.")
    found = config_file(os.environ, file or named)
    faults = faults_of(found, os.environ) if found else ()
    with report_errors():
        loaded = None if faults else load(found, os.environ)
    if json_:
        print_json(
            {
                "file": str(found or ""),
                "ok": not faults,
                "faults": faults,
                "disabled": list(loaded.disabled.values()) if loaded else [],
                "warnings": loaded.warnings if loaded else (),
            }
        )
    elif loaded:
        print_page(_usable_page(found, loaded))
    else:
        count = f"{len(faults)} mistake{'s' if len(faults) > 1 else ''}; the file is not used"
        places = [f"{f'line {each.line}: ' if each.line else ''}{f'{each.key}: ' if each.key else ''}" for each in faults]
        lines = [f"  {place}{each.says}" for place, each in zip(places, faults, strict=True)]
        print_page([TextLine(printable(f"{found}: {count}"), "bad"), *(TextLine(printable(line)) for line in lines)])
    if faults:
        raise click.exceptions.Exit(BadConfig.exit_code)


@config.command("show")
@click.option("--origin", is_flag=True, help="Also print where each value comes from.")
@config_option
@json_option
def show_(origin: bool, file: Path | None, json_: bool) -> None:
    """Print every setting that is in use. Keys are shown by a fingerprint.

    \b
    Examples:
      clew config show
      clew config show --origin | grep -v default
    """
    with report_errors():
        loaded = load(file, os.environ)
    entries = entries_of(loaded)
    page: list[TextLine | TextTable] = [
        TextLine(printable(f"# {loaded.file or 'no file: the environment and the defaults'}"), "quiet")
    ]
    if origin:
        rows = [(each.key, toml_value(each.value), each.origin) for each in entries]
        page.append(printable_table(("key", "value", "from"), rows))
    else:
        page += [TextLine(printable(f"{entry.key} = {toml_value(entry.value)}")) for entry in entries]
    value = {"file": str(loaded.file or ""), "settings": entries, "warnings": loaded.warnings}
    print_result(value, [*page, *_warning_lines(loaded)], as_json=json_)


@config.command()
def schema() -> None:
    """Print the JSON Schema of the settings file.

    Editors use it to complete keys and to explain them.

    \b
    Examples:
      clew config schema > clew.schema.json    and `#:schema ./clew.schema.json` as the first line of clew.toml
    """
    print_json(json_schema(), indent=True)


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner can read, from the first byte on: people put keys there."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror or error}") from None


def _usable_page(file: Path | None, loaded: Loaded) -> Page:
    settings = loaded.settings
    names = ", ".join([*settings.backends, *(f"{name} (disabled)" for name in settings.disabled)])
    usable = f"{file} can be used. " if file else ""
    about = TextLine(printable(f"{usable}Backends: {names}; active: {settings.active}"), "good")
    if file is not None:
        return [about, *_warning_lines(loaded)]
    none = TextLine(f"There is no file at {home_of(os.environ).config}; the environment and the defaults are used.")
    return [none, about, *_warning_lines(loaded), TextLine("`clew config init` makes one.", "quiet")]


def _warning_lines(loaded: Loaded) -> list[TextLine]:
    return [TextLine(printable(f"warning: {warning}")) for warning in loaded.warnings]
