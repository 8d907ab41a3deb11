"""`clew import`: conversations from files, in any format that can be read."""

from __future__ import annotations

import io
import os
import sys
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

import click
from msgspec import Struct

from clew.chat.formats import (
    HEAD_BYTES,
    READABLE,
    Format,
    ImportContext,
    NumberedLine,
    ReadableFormat,
    every_thread,
    format_of,
)
from clew.chat.formats.claude_code_lines import session_of
from clew.chat.formats.importer import ImportCounts, Importer, KnownRecordings
from clew.cli.command import principal_option, report_errors
from clew.cli.installation import find_installation, store_for_reading, store_for_writing
from clew.cli.output import TextLine, plural, print_json, print_page, printable, progress_bar
from clew.model.recording import Recording
from clew.settings.own_keys import known_keyring
from clew.store import Store, open_store
from clew.store.kinds import USUAL_URL
from clew.thinking.seal import Sealer

AUTO: Final = "auto"
STDIN: Final = "-"
SUFFIXES: Final = (".json", ".jsonl")
FOR_READING: Final = (".md", ".markdown", ".html", ".htm")
FAILED, INTERRUPTED = 1, 130
LONG_BYTES: Final = 4 * 1024 * 1024
"""An import of so many bytes has a progress bar on a terminal."""
MOST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line that are read. A longer line is cut, so that it is reported as broken and costs no memory."""


@click.command("import", short_help="Import conversations from files: exports, transcripts of Claude Code and Codex.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option(
    "--format",
    "name",
    type=click.Choice([AUTO, *READABLE]),
    default=AUTO,
    show_default=True,
    help="The format of the files.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be imported, and import nothing.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def import_threads(
    context: click.Context, paths: tuple[str, ...], name: str, dry_run: bool, principal: str, json_: bool
) -> None:
    """Import conversations from each FILE, from every .json and .jsonl file in each DIR, or from standard input (-).

    Turns that are already in the store are not changed, so you can import the same files again. A line that cannot be read
    is listed with its file and number; everything else is imported. After Ctrl-C, the turns imported so far stay.

    Claude Code transcripts and Codex' session files become conversations with their sub-agents and rewinds. Thinking that
    Claude signed is restored for Claude when a client comes back without it. Blocks that clew sealed go back to their
    makers, if they were sealed with the secret of this clew. Import only files that you trust: clew believes what they
    say about who made a block.

    \b
    Examples:
      clew import ~/.claude/projects
      clew import ~/.codex/sessions
      clew import backup.clew.jsonl --dry-run
      clew import talk.json --format openai
      ssh other clew export --all -q | clew import -

    Exit status: 0 ok, 1 something could not be imported, 2 wrong usage, 5 the config cannot be used.
    """
    with report_errors(), ExitStack() as stack:
        installation = find_installation()
        if dry_run:
            temporary = open_store(USUAL_URL, Path(stack.enter_context(TemporaryDirectory(prefix="clew-import-"))))
            assert temporary is not None
            into, beside = stack.enter_context(temporary), stack.enter_context(store_for_reading(installation))
        else:
            content = installation.usable.settings.store.content
            into, beside = stack.enter_context(store_for_writing(installation, content=content)), None
        ring = known_keyring(installation.home.secret, os.environ)
        run = _ImportRun(_ImportStores(into, beside), principal, READABLE.get(name), ring.sealer() if ring else None)
        tally, stopped = run.run(paths)
    if json_:
        print_json(tally)
    else:
        _print_tally(tally, dry_run, stopped)
    context.exit(INTERRUPTED if stopped else FAILED if tally.broken else 0)


# The stores


class _ImportStores(Struct, frozen=True):
    """The store that is written, and another one that knows of turns: in a dry run the real one."""

    into: Store
    beside: Store | None = None
    exports: dict[str, Mapping[tuple[str, str], str]] = {}

    @property
    def all(self) -> tuple[Store, ...]:
        return (self.into,) if self.beside is None else (self.beside, self.into)

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        found = next(filter(None, (each.thread_of(principal, session, agent) for each in self.all)), None)
        if found is not None:
            return found
        # A thread whose client named no session is exported with a session of its own. Such threads are looked up once.
        if principal not in self.exports:
            threads = [thread for store in self.all for thread in every_thread(store, principal)]
            self.exports[principal] = {(session_of(each), each.agent): each.id for each in threads}
        return self.exports[principal].get((session, agent))


class _Followers:
    """Which answers of a thread followed which, as the stores had them when the file was begun.

    What the file itself adds is known without the stores.
    """

    def __init__(self, stores: _ImportStores, principal: str) -> None:
        self._stores, self._principal = stores, principal
        self._threads: dict[str, dict[str | None, list[Recording]]] = {}

    def of(self, thread: str, answer: str) -> Sequence[Recording]:
        if thread not in self._threads:
            found: dict[str | None, list[Recording]] = {}
            for passage in (each for store in self._stores.all for each in store.passages(self._principal, thread)):
                if passage.recording is not None:
                    found.setdefault(passage.recording.followed, []).append(passage.recording)
            self._threads[thread] = found
        return self._threads[thread].get(answer, ())


# The import


class _ImportRun(Struct, frozen=True):
    stores: _ImportStores
    principal: str
    format: Format | ReadableFormat | None
    sealer: Sealer | None

    def run(self, paths: tuple[str, ...]) -> tuple[ImportCounts, bool]:
        """Import these files. What was imported, and whether Ctrl-C stopped it."""
        now = time.time()
        importer = Importer(self.stores.into, self.principal, now, beside=self.stores.beside)
        try:
            sources = list(_find_sources(paths))
            with progress_bar("importing", sum(source.size for source in sources), LONG_BYTES) as progress:
                for source in sources:
                    self._import_source(importer, source, now, progress)
        except KeyboardInterrupt:
            importer.settle()
            return importer.tally, True
        return importer.tally, False

    def _import_source(self, importer: Importer, source: ImportSource, now: float, progress: Callable[[int], None]) -> None:
        context = ImportContext(
            principal=self.principal,
            known=KnownRecordings(self.principal, *self.stores.all),
            thread_of=lambda session, agent: self.stores.thread_of(self.principal, session, agent),
            at=now,
            sealer=self.sealer,
            followers=_Followers(self.stores, self.principal).of,
        )
        try:
            with nullcontext(sys.stdin.buffer) if source.path == STDIN else Path(source.path).open("rb") as stream:
                head = stream.read(HEAD_BYTES).removeprefix(BOM_UTF8)
                whole = head[: head.rfind(b"\n")] if len(head) == HEAD_BYTES and b"\n" in head else head
                format = self.format or format_of(whole)
                if format is not None and format.read is not None:
                    importer.add(source.name, format.read(_read_lines(head, stream, progress), context))
                elif source.named:
                    importer.fault(source.name, 0, source.unreadable_text)
                else:
                    importer.tally.passed["file without a conversation"] += 1
        except OSError as error:
            importer.fault(source.name, 0, error.strerror or str(error))


def _print_tally(tally: ImportCounts, dry_run: bool, stopped: bool) -> None:
    faults = [
        TextLine(printable(f"{each.file}{f' line {each.line}' if each.line else ''}: {each.why}"), "bad")
        for each in tally.faults
    ]
    if more := tally.broken - len(tally.faults):
        faults.append(TextLine(f"and {more} more that could not be imported", "bad"))
    print_page(faults, sys.stderr)
    verb = "would be imported" if dry_run else "imported"
    page = [TextLine(f"{plural(tally.turns, 'turn')} of {plural(tally.threads, 'conversation')} {verb}", "good")]
    if tally.known:
        page.append(TextLine(f"{plural(tally.known, 'turn')} known already"))
    if others := ", ".join(f"{kind} {count}" for kind, count in sorted(tally.passed.items())):
        page.append(TextLine(printable(f"skipped: {others}"), "quiet"))
    if stopped:
        page.append(TextLine("stopped: run the same command again to continue", "bad"))
    print_page(page)


# The files


class ImportSource(Struct, frozen=True):
    """A file. `named`: a person named it, so it is reported if it cannot be read."""

    path: str
    size: int
    named: bool

    @property
    def name(self) -> str:
        return "standard input" if self.path == STDIN else self.path

    @property
    def unreadable_text(self) -> str:
        """Why a file in which no conversation was found cannot be imported."""
        formats = ", ".join(READABLE)
        if self.name.lower().endswith(FOR_READING):
            return f"Markdown and HTML are for people and cannot be imported: export the conversation as one of {formats}"
        return f"this is not a conversation that clew can read; if it is one, name its --format ({formats})"


def _find_sources(paths: Sequence[str]) -> Iterator[ImportSource]:
    """Every file, those of a directory in order. A file that is not there is reported when it is opened."""
    for path in paths:
        if path == STDIN or not Path(path).is_dir():
            yield ImportSource(path, _size_of(path), True)
            continue
        for root, below, names in os.walk(path):
            below.sort()
            files = [os.path.join(root, name) for name in sorted(names) if name.endswith(SUFFIXES)]
            yield from (ImportSource(file, _size_of(file), False) for file in files if Path(file).is_file())


def _size_of(path: str) -> int:
    try:
        return 0 if path == STDIN else Path(path).stat().st_size
    except OSError:
        return 0


def _read_lines(head: bytes, rest: BinaryIO, progress: Callable[[int], None]) -> Iterator[NumberedLine]:
    """Every line with its number. The last line of `head`, which was read ahead, may go on in the rest."""
    number, start = 1, io.BytesIO(head)
    while True:
        line = start.readline()
        if not line.endswith(b"\n"):
            line += rest.readline(MOST_LINE)
            if len(line) >= MOST_LINE and not line.endswith(b"\n"):
                while (part := rest.readline(HEAD_BYTES)) and not part.endswith(b"\n"):
                    pass  # skip the rest of a line that is too long to be kept
        if not line:
            return
        progress(len(line))
        yield NumberedLine(number, line.rstrip(b"\r\n"))
        number += 1
