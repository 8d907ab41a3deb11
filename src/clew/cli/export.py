"""`clew export`: conversations as files, in clew's own format or in another one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile

import click
import msgspec
from click.core import ParameterSource

from clew.chat.formats import FORMATS, Format, every_thread, turns_of
from clew.cli.command import Failed, principal_option, report_errors
from clew.cli.installation import find_installation, find_thread, store_for_reading
from clew.cli.output import TextLine, print_page, printable, visible_on_terminal
from clew.cli.show import projected_for
from clew.store import Store
from clew.store.values import Thread

NOTHING = "No conversation was recorded yet: there is nothing to export."


def losses_help() -> str:
    """What each format is, and what it loses, for the help."""
    lines = [
        line
        for each in FORMATS.values()
        for line in (f"  {each.name}: {each.does}", *(f"    - {loss}" for loss in each.losses))
    ]
    return "\n".join(["\b", "Formats, and what each leaves out:", *lines])


@click.command(short_help="Write conversations to a file or to standard output.", epilog=losses_help())
@click.argument("thread", required=False)
@click.option("--all", "all_", is_flag=True, help="Every conversation.")
@click.option("--format", "name", type=click.Choice(list(FORMATS)), default="clew", show_default=True, help="See below.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE|DIR",
    help="The file to write. If it is a directory, or ends in /: one file for each conversation.",
)
@click.option("--as", "as_", metavar="BACKEND", help="The messages as this backend would get them next, in its own format.")
@click.option("-q", "--quiet", is_flag=True, help="Do not list what the format leaves out.")
@principal_option
def export(
    thread: str | None, all_: bool, name: str, output: str | None, as_: str | None, quiet: bool, principal: str
) -> None:
    """Write the conversation THREAD (the beginning of its id, or `last`), or all of them, as it was said.

    Without -o it is written to standard output. Standard error lists what the format leaves out. An export never contains
    keys, because clew does not record them. Several conversations in one file follow each other; JSON documents have a line
    each.

    \b
    Examples:
      clew export last > talk.clew.jsonl
      clew export --all -o backup.clew.jsonl
      clew export 0199a3 --format markdown -o talk.md
      clew export --all --format html -o pages/
      clew export last --as glm | jq .messages

    Exit status: 0 ok, 1 there is nothing to export, 2 wrong usage or unknown name, 5 the config cannot be used.
    """
    if (thread is None) == (not all_):
        raise click.UsageError("Name a THREAD, or use --all: `clew show` lists the threads.")
    if as_ is not None and all_:
        raise click.UsageError("--as shows one conversation: name a THREAD.")
    if as_ is not None and click.get_current_context().get_parameter_source("name") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--as writes the backend's own format: use it without --format.")
    with report_errors():
        installation = find_installation()
        with store_for_reading(installation) as store:
            # A backup without any conversation is an error: the principal may be mistyped.
            threads = every_thread(store, principal) if store and all_ else iter(())
            first = next(threads, None) if all_ else find_thread(store, principal, thread or "") if store else None
            if store is None or first is None:
                raise Failed(NOTHING)
            if as_ is None:
                notes = export_threads(store, chain([first], threads), FORMATS[name], output)
            else:
                passages = store.passages(principal, first.id)
                projected = projected_for(installation, store, passages, as_, principal)
                document = {"model": projected.model, "messages": projected.messages}
                _write([msgspec.json.encode(document) + b"\n"], output, is_json=True)
                notes = [f"{each.path} {each.what}: {each.why}" for each in projected.changes]
    if not quiet:
        print_page([TextLine(printable(note), "quiet") for note in notes], sys.stderr)


def export_threads(store: Store, threads: Iterable[Thread], format: Format, output: str | None) -> list[str]:
    """Write the threads into one file, or into a directory as a file each. What the format loses, as notes."""
    is_json = format.suffix.endswith(("json", "jsonl"))
    if output is not None and (output.endswith(os.sep) or Path(output).is_dir()):
        directory = Path(output)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failed(f"{printable(str(directory))}: {error.strerror or error}") from error
        for each in threads:
            # An id can come from a file that was imported: it must not name another directory.
            name = re.sub(r"[^A-Za-z0-9_-]", "_", each.id)[:100] or "_"
            _write(_encode(store, [each], format), str(directory / (name + format.suffix)), is_json=is_json)
    else:
        _write(_encode(store, threads, format), output, is_json=is_json)
    return [f"The format {format.name} leaves out:", *(f"  - {loss}" for loss in format.losses)]


def _encode(store: Store, threads: Iterable[Thread], format: Format) -> Iterator[bytes]:
    yield format.head
    for each in threads:
        yield from format.write(each, turns_of(store, each))
    yield format.foot


def _write(parts: Iterable[bytes], output: str | None, *, is_json: bool) -> None:
    """Write to standard output, or to a file that is whole or not there, and readable by its owner alone."""
    if output is None:
        out = sys.stdout.buffer
        out.writelines(visible_on_terminal(part, is_json=is_json) for part in parts)
        out.flush()
        return
    file = Path(output)
    try:
        if file.exists() and not file.is_file():  # a pipe, a device
            with file.open("wb") as out:
                out.writelines(parts)
            return
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as out:
            try:
                out.writelines(parts)
                out.flush()
                Path(out.name).replace(file)
            except BaseException:
                Path(out.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise Failed(f"{printable(output)}: {error.strerror or error}") from error
