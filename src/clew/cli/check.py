"""`clew check`: the offline doctor for a request or a Claude Code transcript.

This file has the command and its input and output; what is looked for is in `examine`, what a transcript is in
`transcripts`, how findings are said in `findings` and `pages`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import click
from msgspec import structs

from clew.cli.check_targets import targets_for
from clew.cli.command import BadConfig, report_errors
from clew.cli.examine import Report, examine
from clew.cli.examine_talk import examine_talk
from clew.cli.exports import NOTE, gone_on
from clew.cli.findings import as_json, page
from clew.cli.output import TextLine, print_page, visible_json, visible_on_terminal
from clew.cli.transcripts import MAIN, Place, Talk, Transcript, looks_like_transcript, mended, read
from clew.errors import ClewError, SettingsInvalid, StoreError
from clew.model.change import Change
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.settings.home import home_of
from clew.settings.load import load
from clew.settings.running import file_in_use
from clew.settings.secret import known_keyring
from clew.settings.values import Settings
from clew.store.kinds import BODIES, location_of
from clew.thinking.seal import Sealer
from clew.wire.requests import encode, parse

__all__ = ["check"]

CLEAN, VIOLATIONS, INTERRUPTED = 0, 1, 130

MOST_BYTES = 1024 * 1024 * 1024
LONG_BYTES = 16 * 1024 * 1024
"""From here on a person on a terminal sees a progress bar."""


@click.command(short_help="Say what a vendor would refuse in a request or a transcript, and mend it.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True))
@click.option("--for", "names", multiple=True, metavar="MODEL|BACKEND", help="Judge for this target; can be repeated.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="Backends and rows about models of yours.")
@click.option("--fix", is_flag=True, help="Print the mended document; what was changed goes to stderr.")
@click.option("--json", "json_", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check(ctx: click.Context, file: str, names: tuple[str, ...], config: Path | None, fix: bool, json_: bool) -> None:
    """Read a request (JSON) or a Claude Code transcript (JSON lines) from FILE, or from standard input if FILE is -.

    Says of each thinking block where it came from and whether it can go to the target, and which of the vendor's rules the
    request breaks, with the rule's id, the place, the vendor's words and what would be right. Nothing is sent anywhere.

    The target is the model that the request asks for, at Anthropic, unless --for names another: a backend of your config, a
    Claude model, `anthropic`, or any other name, which is then a backend of its own. What your config says about models
    counts. Seals of other backends are opened with this clew's secret, or with CLEW_SECRET; what the store recorded counts,
    too.

    A conversation that was held through clew may have thinking of several vendors, of which clew sends each its own. If that
    works, the first line says so, and what follows is what would be refused without clew.

    \b
    Examples:
      clew check request.json
      clew check request.json --for claude-sonnet-4-5 --for glm
      clew check ~/.claude/projects/-home-me/5f0c….jsonl
      clew check session.jsonl --fix > clean.jsonl
      clew check request.json --config ./clew.toml --for glm
      curl … | clew check - --json

    Exit status: 0 clean, or it works through clew; 1 violations (also those without clew, if --for names a target that is no
    backend of your config), 2 wrong usage, 5 a config that cannot be used.
    """
    if fix and (json_ or len(names) > 1):
        raise click.UsageError("--fix prints the document for one target: give --for at most once, and leave --json out.")
    try:
        aim = Aim(names, _settings(config))
        with _known(aim.settings) as facts:
            status = _checked(file, aim, facts, fix=fix, json_=json_)
    except KeyboardInterrupt:
        status = INTERRUPTED
    ctx.exit(status)


class Aim(NamedTuple):
    """For whom a document is judged: the names of `--for`, and the settings that they are looked up in."""

    names: Sequence[str]
    settings: Settings

    @property
    def is_through_clew(self) -> bool:
        """Whether every target is one that clew calls. Without a name nobody said that clew is left out."""
        return all(name in self.settings.backends for name in self.names)

    def examine(self, raw: bytes, facts: Facts) -> Report:
        return examine(raw, self.names, facts, settings=self.settings)

    def examine_talk(self, talk: Talk, facts: Facts) -> tuple[Report, dict[str, Place]]:
        return examine_talk(talk, self.names, facts, self.settings)


def _settings(config: Path | None) -> Settings:
    """Nobody is called, so no key is looked up."""
    with report_errors():
        return load(config or file_in_use(home_of(os.environ), os.environ), os.environ, keys=False).settings


def _checked(file: str, aim: Aim, facts: Facts, *, fix: bool, json_: bool) -> int:
    raw = _bytes_of(file)
    if not looks_like_transcript(raw):
        return _fix_request(file, raw, aim, facts) if fix else _check_request(file, raw, aim, facts, json_=json_)
    with _progress(len(raw)) as progress:
        transcript = read(raw, progress)
    if fix:
        return _fix_transcript(transcript, aim, facts)
    return _say(file, aim, [aim.examine_talk(talk, facts)[0] for talk in _talks(transcript)], transcript, json_)


def _check_request(file: str, raw: bytes, aim: Aim, facts: Facts, *, json_: bool) -> int:
    asked = gone_on(raw)
    if asked is not None:
        print_page([TextLine(NOTE, "quiet")], sys.stderr)
    return _say(file, aim, [aim.examine(asked or raw, facts)], None, json_)


def _bytes_of(file: str) -> bytes:
    """The whole input, within reason: a device that never ends must not fill the memory."""
    try:
        with click.open_file(file, "rb") as stream:
            raw: bytes = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror or error}") from None
    if len(raw) > MOST_BYTES:
        raise click.UsageError(f"{file} has more than {MOST_BYTES // 1024**2} MB: split it.")
    return raw


@contextmanager
def _known(settings: Settings) -> Generator[Facts]:
    """What this clew knows of thinking: its seals, and what its store recorded. Without a store, the seals alone."""
    facts, location = Facts(sealer=_sealer()), location_of(settings.store.url, home_of(os.environ).root)
    if location is None or not location.exists():
        yield facts
        return
    with ExitStack() as stack:
        try:
            store = stack.enter_context(location.open(content=True, bodies=BODIES))
        except StoreError as error:
            print_page([TextLine(f"the recordings cannot be read, so they do not count: {error}", "bad")], sys.stderr)
        else:
            facts = structs.replace(facts, recordings=store.recordings(facts.context.principal))
        yield facts


def _sealer() -> Sealer | None:
    """Opens seals that this clew made."""
    try:
        ring = known_keyring(home_of(os.environ).secret, os.environ)
    except SettingsInvalid as error:
        raise (BadConfig(str(error)) if error.file else click.UsageError(str(error))) from None
    return ring.sealer() if ring else None


def _talks(transcript: Transcript) -> list[Talk]:
    """The main conversation first."""
    return sorted(transcript.talks.values(), key=lambda talk: talk.name != MAIN) or [Talk(MAIN)]


def _say(file: str, aim: Aim, reports: Sequence[Report], transcript: Transcript | None, json_: bool) -> int:
    shown = "standard input" if file == "-" else Path(file).name
    if json_:
        click.echo(visible_json(as_json(shown, reports, transcript)))
    else:
        print_page(page(shown, reports, transcript))
    works = all(report.clean or (aim.is_through_clew and report.works_through_clew) for report in reports)
    return CLEAN if works else VIOLATIONS


def _fix_request(file: str, raw: bytes, aim: Aim, facts: Facts) -> int:
    """The request as the target would get it. What remains wrong after that is said, on stderr."""
    try:
        request = parse(raw)
        [target] = targets_for(aim.names, request.body.model, aim.settings).values()
        projection = project(request, target, facts)
        fixed = encode(projection.request)
    except ClewError as error:
        print_page([TextLine(f"cannot be mended: {error}", "bad")], sys.stderr)
        return VIOLATIONS
    sys.stdout.buffer.write(visible_on_terminal(fixed))
    sys.stdout.flush()
    _say_changes(projection.changes)
    report = aim.examine(fixed, facts)
    if not report.clean:
        print_page(page(f"{Path(file).name} as mended", [report], None), sys.stderr)
    return CLEAN if report.clean else VIOLATIONS


def _fix_transcript(transcript: Transcript, aim: Aim, facts: Facts) -> int:
    """The transcript without the blocks that do not go; every other line as it was."""
    drop: dict[Place, str] = {}
    for talk in _talks(transcript):
        drop |= _unfit(*aim.examine_talk(talk, facts))
    try:
        lines = list(mended(transcript, drop))
    except ClewError as error:
        print_page([TextLine(f"cannot be mended: {error}", "bad")], sys.stderr)
        return VIOLATIONS
    sys.stdout.buffer.write(visible_on_terminal(b"\n".join(lines)))
    sys.stdout.flush()
    _say_changes(Change("thinking", str(place), "left out", why) for place, why in sorted(drop.items()))
    return CLEAN


def _unfit(report: Report, places: dict[str, Place]) -> dict[Place, str]:
    """The blocks that do not go to the target, or that it would refuse, with the reason."""
    refused = {
        places[at[0]]: violation.words
        for each in report.judged
        for violation in each.violations
        if (at := _PLACE.match(violation.path)) and at[0] in places
    }
    left = {places[seen.path]: seen.verdicts[0].why for seen in report.blocks if seen.verdicts[0].what != "goes"}
    return refused | left


_PLACE = re.compile(r"line \d+ content\.\d+")


def _say_changes(changes: Iterable[Change]) -> None:
    lines = [TextLine(f"{change.path} {change.what}: {change.why}") for change in changes]
    print_page(lines or [TextLine("nothing had to be changed", "quiet")], sys.stderr)


@contextmanager
def _progress(total: int) -> Generator[Callable[[int], None] | None]:
    """A bar on stderr, for long files and for people."""
    if total < LONG_BYTES or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda count: bar.advance(task, count)
