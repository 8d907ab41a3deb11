"""`clew check`: the offline doctor for a request or a Claude Code transcript.

This file has the command, its input and its output. `examine` and `examine_openai` look for what is wrong, `transcripts`
reads transcripts, and `findings` prints what was found.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec
from msgspec import Struct, structs

from clew.chat.formats.documents import EXPORT
from clew.cli.command import BadConfig, report_errors
from clew.cli.examine import CheckReport, examine, examine_thread, targets_for
from clew.cli.findings import findings_json, findings_page
from clew.cli.output import TextLine, print_page, progress_bar, visible_json, visible_on_terminal
from clew.cli.transcripts import (
    MAIN,
    BlockPlace,
    Transcript,
    TranscriptThread,
    is_transcript,
    read_transcript,
    without_blocks,
)
from clew.errors import ClewError, RequestInvalid, SettingsInvalid, StoreError
from clew.model.change import Change
from clew.model.json import JsonValue, read_object
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.settings.home import home_of
from clew.settings.load import load
from clew.settings.own_keys import known_keyring
from clew.settings.processes import config_in_use
from clew.settings.values import Settings
from clew.store.kinds import BODIES, location_of
from clew.thinking.openai_compliance import openai_dialect_of
from clew.wire.requests import encode, parse
from clew.wire.splice import locate

CLEAN, VIOLATIONS, INTERRUPTED = 0, 1, 130
MOST_BYTES: Final = 1024 * 1024 * 1024
LONG_BYTES: Final = 16 * 1024 * 1024
"""A transcript of so many bytes has a progress bar on a terminal."""
NOTE: Final = "an export that ends with an answer: checked with a question after it"

_PLACE: Final = re.compile(r"line \d+ content\.\d+")


@click.command(short_help="Check a request or a transcript against the vendor's rules, and repair it.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True))
@click.option("--for", "names", multiple=True, metavar="MODEL|BACKEND", help="Check for this target; can be repeated.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings file, with your backends and facts about models.",
)
@click.option("--fix", is_flag=True, help="Print the repaired document; the changes are listed on stderr.")
@click.option("--json", "json_", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check(ctx: click.Context, file: str, names: tuple[str, ...], config: Path | None, fix: bool, json_: bool) -> None:
    """Read a request (JSON) or a Claude Code transcript (JSON lines) from FILE, or from standard input if FILE is -.

    For each thinking block it prints which backend made it and whether it can go to the target. For each broken rule it
    prints the rule's id, the place, the vendor's error message and how to correct it. Nothing is sent anywhere.

    The target is the model that the request asks for, at Anthropic. --for names another target: a backend of your settings,
    a Claude model, `anthropic`, or any other name, which then stands for an unknown backend. The facts about models in your
    settings are used, and so are the recordings in the store. Seals are opened with clew's secret, or with CLEW_SECRET.

    A request of OpenAI's Responses or Chat Completions is checked by OpenAI's rules for calls, ids and reasoning. With
    --for, it is checked as that target would get it through clew.

    A conversation through clew can have thinking of several vendors. clew sends each vendor its own. If that works, the
    first line says so, and the findings below it are only for sending the file without clew.

    \b
    Examples:
      clew check request.json
      clew check request.json --for claude-sonnet-4-5 --for glm
      clew check ~/.claude/projects/-home-me/5f0c….jsonl
      clew check session.jsonl --fix > clean.jsonl
      clew check request.json --config ./clew.toml --for glm
      clew check responses.json --for claude     a request of Codex, as this backend would get it
      curl … | clew check - --json

    Exit status: 0 no violation, or it works through clew; 1 violations (if --for names a target that is not a backend of
    your settings, it is checked without clew); 2 wrong usage; 5 the config cannot be used.
    """
    if fix and (json_ or len(names) > 1):
        raise click.UsageError("--fix prints the document for one target: use --for at most once, and not --json.")
    try:
        with report_errors():  # no backend is called, so no key is looked up
            settings = load(config or config_in_use(home_of(os.environ), os.environ), os.environ, keys=False).settings
        with _known_facts(settings) as facts:
            status = _check(file, _Check(names, settings, facts), fix=fix, json_=json_)
    except KeyboardInterrupt:
        status = INTERRUPTED
    ctx.exit(status)


class _Check(NamedTuple):
    """The names of `--for`, the settings that they are looked up in, and what is known of thinking."""

    names: Sequence[str]
    settings: Settings
    facts: Facts

    def examine(self, raw: bytes) -> CheckReport:
        if dialect := _openai_dialect(raw):
            from clew.cli.examine_openai import examine_openai  # late: it loads the dialects

            return examine_openai(raw, dialect, self.names, self.facts, self.settings)
        return examine(raw, self.names, self.facts, settings=self.settings)

    def examine_thread(self, thread: TranscriptThread) -> tuple[CheckReport, dict[str, BlockPlace]]:
        return examine_thread(thread, self.names, self.facts, self.settings)


def _openai_dialect(raw: bytes) -> str | None:
    body = read_object(raw)
    return openai_dialect_of(body) if body is not None else None


@contextmanager
def _known_facts(settings: Settings) -> Generator[Facts]:
    """What this clew knows of thinking: its seals, and what its store recorded. Without a store, the seals alone."""
    home = home_of(os.environ)
    try:
        ring = known_keyring(home.secret, os.environ)
    except SettingsInvalid as error:
        raise (BadConfig(str(error)) if error.file else click.UsageError(str(error))) from None
    facts, location = Facts(sealer=ring.sealer() if ring else None), location_of(settings.store.url, home.root)
    with ExitStack() as stack:
        if location is not None and location.exists():
            try:
                store = stack.enter_context(location.open(content=True, bodies=BODIES))
            except StoreError as error:
                _note(f"the recordings cannot be read, so they are not used: {error}", "bad")
            else:
                facts = structs.replace(facts, recordings=store.recordings(facts.context.principal))
        yield facts


def _note(text: str, tone: str) -> None:
    print_page([TextLine(text, tone)], sys.stderr)


def _check(file: str, aim: _Check, *, fix: bool, json_: bool) -> int:
    """Check or repair the file. The exit code."""
    try:
        with click.open_file(file, "rb") as stream:
            raw: bytes = stream.read(MOST_BYTES + 1)  # a device that never ends must not fill the memory
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror or error}") from None
    if len(raw) > MOST_BYTES:
        raise click.UsageError(f"{file} has more than {MOST_BYTES // 1024**2} MB: split it.")
    transcript: Transcript | None = None
    if is_transcript(raw):
        with progress_bar("reading", len(raw), LONG_BYTES) as progress:
            transcript = read_transcript(raw, progress)
        if fix:
            return _fix_transcript(transcript, aim)
        reports = [aim.examine_thread(thread)[0] for thread in _threads(transcript)]
    elif fix:
        return _fix_request(file, raw, aim)
    else:
        if (asked := _continued_export(raw)) is not None:
            _note(NOTE, "quiet")
        reports = [aim.examine(asked or raw)]
    shown = "standard input" if file == "-" else Path(file).name
    if json_:
        click.echo(visible_json(findings_json(shown, reports, transcript)))
    else:
        print_page(findings_page(shown, reports, transcript))
    # Without --for, and for backends of the config, it is enough that the request works through clew.
    through_clew = all(name in aim.settings.backends for name in aim.names)
    works = all(report.clean or (through_clew and report.works_through_clew) for report in reports)
    return CLEAN if works else VIOLATIONS


def _threads(transcript: Transcript) -> list[TranscriptThread]:
    """The threads of a transcript, the main thread first."""
    return sorted(transcript.threads.values(), key=lambda thread: thread.name != MAIN) or [TranscriptThread(MAIN)]


# Repairing


def _fix_request(file: str, raw: bytes, aim: _Check) -> int:
    """Print the request as the target would get it. What remains wrong after that goes to stderr."""
    if dialect := _openai_dialect(raw):
        raise click.UsageError(
            f"--fix repairs requests of the Messages API and transcripts. This is a request in {dialect}."
        )
    try:
        request = parse(raw)
        [target] = targets_for(aim.names, request.body.model, aim.settings).values()
        projection = project(request, target, aim.facts)
        fixed = encode(projection.request)
    except ClewError as error:
        _note(f"cannot be repaired: {error}", "bad")
        return VIOLATIONS
    _print_fixed(fixed, projection.changes)
    report = aim.examine(fixed)
    if not report.clean:
        print_page(findings_page(f"{Path(file).name}after the repair", [report], None), sys.stderr)
    return CLEAN if report.clean else VIOLATIONS


def _fix_transcript(transcript: Transcript, aim: _Check) -> int:
    """Print the transcript without the blocks that do not go to the target, or that it would refuse."""
    drop: dict[BlockPlace, str] = {}
    for thread in _threads(transcript):
        report, places = aim.examine_thread(thread)
        for violation in (violation for each in report.judged for violation in each.violations):
            if (at := _PLACE.match(violation.path)) and at[0] in places:
                drop[places[at[0]]] = violation.words
        for block in report.blocks:
            if block.verdicts[0].what != "goes":
                drop[places[block.path]] = block.verdicts[0].why
    try:
        lines = list(without_blocks(transcript, drop))
    except ClewError as error:
        _note(f"cannot be repaired: {error}", "bad")
        return VIOLATIONS
    changes = [Change("thinking", str(place), "left out", why) for place, why in sorted(drop.items())]
    _print_fixed(b"\n".join(lines), changes)
    return CLEAN


def _print_fixed(document: bytes, changes: Iterable[Change]) -> None:
    """Print the document to standard output, and what was changed to standard error."""
    sys.stdout.buffer.write(visible_on_terminal(document))
    sys.stdout.flush()
    lines = [TextLine(f"{change.path} {change.what}: {change.why}") for change in changes]
    print_page(lines or [TextLine("nothing had to be changed", "quiet")], sys.stderr)


# Exports


class _Metadata(Struct, frozen=True):
    user_id: str = ""


class _Message(Struct, frozen=True):
    role: str
    content: JsonValue = None


class _Export(Struct, frozen=True):
    messages: list[_Message]
    metadata: _Metadata = _Metadata()


def _continued_export(raw: bytes) -> bytes | None:
    """An export with a question after its last answer, or with results for the calls in it; None for anything else.

    An export ends with an answer, and no new model takes that as a request.
    """
    try:
        document = msgspec.json.decode(raw, type=_Export)
        _, end = locate(raw, ("messages",))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, RequestInvalid):
        return None
    if document.metadata.user_id != EXPORT or not document.messages or document.messages[-1].role != "assistant":
        return None
    content = document.messages[-1].content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    results = [
        {"type": "tool_result", "tool_use_id": block.get("id"), "content": "."}
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    asked = msgspec.json.encode({"role": "user", "content": results or "."})
    return b"%b,%b%b" % (raw[: end - 1], asked, raw[end - 1 :])
