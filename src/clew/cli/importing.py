"""`clew import`: conversations from files, in any format that can be read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from msgspec import Struct

from clew.chat.formats import FORMATS, Format, ImportContext, every_thread
from clew.chat.formats.claude_code_lines import session_of
from clew.chat.formats.importer import ImportCounts, Importer, KnownRecordings
from clew.cli.endings import told
from clew.cli.imported_files import Source, files_of, opened_source
from clew.cli.json_output import say_json
from clew.cli.kept import Place, opened, opened_to_write, place, principal_option
from clew.cli.pages import Line, Page, printable, show
from clew.model.recording import Recording
from clew.settings.secret import known_keyring
from clew.store import Store, open_store
from clew.store.kinds import USUAL_URL
from clew.thinking.seal import Sealer

__all__ = ["bar", "import_threads"]

AUTO = "auto"
FAILED, INTERRUPTED = 1, 130
LONG_BYTES = 4 * 1024 * 1024
"""From here on a person on a terminal sees a progress bar."""

FOR_READING = (".md", ".markdown", ".html", ".htm")
READABLE = [name for name, each in FORMATS.items() if each.read]


@click.command("import", short_help="Take conversations from files: exports, Claude Code transcripts.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option(
    "--format", "name", type=click.Choice([AUTO, *READABLE]), default=AUTO, show_default=True, help="Of the files."
)
@click.option("--dry-run", is_flag=True, help="Say what would be imported, and keep nothing.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print what came of it as JSON.")
@click.pass_context
def import_threads(
    context: click.Context, paths: tuple[str, ...], name: str, dry_run: bool, principal: str, json_: bool
) -> None:
    """Take conversations from each FILE, from every .json and .jsonl file in each DIR, or from standard input (-).

    What is there already is left alone, so the same files can be imported again and again. A line that cannot be read is
    told with its file and number, and everything else is imported. After Ctrl-C, what came before it stays.

    Claude Code transcripts become conversations with their sub-agents and rewinds; thinking that Claude signed is restored
    for Claude when a client comes back without it, and blocks that clew sealed are given to their makers again, if this
    clew's secret is the one that sealed them. Import only files that you trust: they say who made what.

    \b
    Examples:
      clew import ~/.claude/projects
      clew import backup.clew.jsonl --dry-run
      clew import talk.json --format openai
      ssh other clew export --all -q | clew import -

    Exit status: 0 ok, 1 something could not be imported, 2 wrong usage, 5 the config cannot be used.
    """
    with told():
        at = place()
        with _stores(at, dry_run) as stores:
            work = _Work(stores=stores, principal=principal, format=FORMATS.get(name), sealer=_sealer(at))
            tally, stopped = work.run(paths)
    say_json(tally) if json_ else _say(tally, dry_run, stopped)
    context.exit(INTERRUPTED if stopped else FAILED if tally.broken else 0)


# Where to


class _Stores(Struct, frozen=True):
    """Into which store, and which one besides knows of turns: in a rehearsal the real one."""

    into: Store
    beside: Store | None = None
    exports: dict[str, Mapping[tuple[str, str], str]] = {}

    @property
    def all(self) -> tuple[Store, ...]:
        return (self.into,) if self.beside is None else (self.beside, self.into)

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        found = next(filter(None, (each.thread_of(principal, session, agent) for each in self.all)), None)
        return found or self._exported(principal).get((session, agent))

    def _exported(self, principal: str) -> Mapping[tuple[str, str], str]:
        """The threads whose export has a session of its own, since their client named none. Looked for once."""
        if principal not in self.exports:
            threads = [thread for store in self.all for thread in every_thread(store, principal)]
            self.exports[principal] = {(session_of(each), each.agent): each.id for each in threads}
        return self.exports[principal]


@contextmanager
def _stores(at: Place, dry_run: bool) -> Generator[_Stores]:
    with ExitStack() as stack:
        if dry_run:
            room = Path(stack.enter_context(TemporaryDirectory(prefix="clew-import-")))
            yield _Stores(stack.enter_context(_rehearsal(room)), stack.enter_context(opened(at)))
            return
        content = at.loaded.settings.store.content if at.loaded else True
        yield _Stores(stack.enter_context(opened_to_write(at, content=content)))


def _rehearsal(room: Path) -> Store:
    """A store that goes with its directory."""
    store = open_store(USUAL_URL, room)
    assert store is not None
    return store


def _sealer(at: Place) -> Sealer | None:
    """Opens seals that this clew made."""
    ring = known_keyring(at.home.secret, os.environ)
    return ring.sealer() if ring else None


class _Followers:
    """Which answers of a thread followed which, as they were when a file began: what it adds is known by itself."""

    def __init__(self, stores: _Stores, principal: str) -> None:
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


# The work


class _Work(Struct, frozen=True, kw_only=True):
    stores: _Stores
    principal: str
    format: Format | None
    sealer: Sealer | None

    def run(self, paths: tuple[str, ...]) -> tuple[ImportCounts, bool]:
        """What came of it, and whether somebody stopped it."""
        now = time.time()
        importing = Importer(self.stores.into, self.principal, now, beside=self.stores.beside)
        try:
            sources = list(files_of(paths))
            with bar(sum(source.size for source in sources)) as progress:
                for source in sources:
                    self._one(importing, source, now, progress)
        except KeyboardInterrupt:
            importing.settle()
            return importing.tally, True
        return importing.tally, False

    def _one(self, importing: Importer, source: Source, now: float, progress: Callable[[int], None]) -> None:
        reading = ImportContext(
            principal=self.principal,
            known=KnownRecordings(self.principal, *self.stores.all),
            thread_of=lambda session, agent: self.stores.thread_of(self.principal, session, agent),
            at=now,
            sealer=self.sealer,
            followers=_Followers(self.stores, self.principal).of,
        )
        try:
            with opened_source(source, self.format, progress) as (format, lines):
                if format is not None and format.read is not None:
                    importing.add(source.name, format.read(lines, reading))
                elif source.named:
                    importing.fault(source.name, 0, _unreadable(source))
                else:
                    importing.tally.passed["file without a conversation"] += 1
        except OSError as error:
            importing.fault(source.name, 0, error.strerror or str(error))


def _unreadable(source: Source) -> str:
    if source.name.lower().endswith(FOR_READING):
        formats = ", ".join(READABLE)
        return f"Markdown and HTML are for people and cannot be imported: export the conversation as one of {formats}"
    return f"this is no conversation that can be read; if it is one, say its --format ({', '.join(READABLE)})"


@contextmanager
def bar(total: int) -> Generator[Callable[[int], None]]:
    """A bar on stderr, for long imports and for people."""
    if total < LONG_BYTES or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("importing", total=total)
        yield lambda count: bar.advance(task, count)


# What came of it


def _say(tally: ImportCounts, dry_run: bool, stopped: bool) -> None:
    show(_faults(tally), sys.stderr)
    verb = "would be imported" if dry_run else "imported"
    page = [Line(f"{_count(tally.turns, 'turn')} of {_count(tally.threads, 'conversation')} {verb}", "good")]
    if tally.known:
        page.append(Line(f"{_count(tally.known, 'turn')} known already"))
    if others := dict(sorted(tally.passed.items())):
        page.append(
            Line(printable(f"passed over: {', '.join(f'{kind} {count}' for kind, count in others.items())}"), "quiet")
        )
    if stopped:
        page.append(Line("stopped: import the same again to go on", "bad"))
    show(page)


def _faults(tally: ImportCounts) -> Page:
    told = [
        Line(printable(f"{each.file}{f' line {each.line}' if each.line else ''}: {each.why}"), "bad")
        for each in tally.faults
    ]
    more = tally.broken - len(tally.faults)
    return [*told, Line(f"and {more} more that could not be imported", "bad")] if more else told


def _count(number: int, of: str) -> str:
    return f"{number} {of}" if number == 1 else f"{number} {of}s"
