"""How the findings of `check` are shown: as a page for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from clew.cli.examine import CheckReport
from clew.cli.output import Page, TextLine, TextTable, printable
from clew.cli.transcripts import Transcript
from clew.model.facts import rules
from clew.model.json import JsonObject

WORKS: Final = "Through clew this conversation works:"
MOST_SHOWN: Final = 20
"""Findings of one target that a person is shown; `--json` has all."""
MOST_BLOCKS: Final = 50
"""Blocks of one conversation that a person is shown."""

_AROUND: Final = 40
"""Characters shown on each side of the place where the text stops being JSON."""


def findings_page(file: str, reports: Sequence[CheckReport], transcript: Transcript | None) -> Page:
    page: list[TextLine | TextTable] = []
    for report in reports:
        if report.works_through_clew and not report.clean:
            gets = [
                f"{printable(each.target)} gets {sum(block.verdicts[at].what == 'goes' for block in report.blocks)} of"
                f" {_count(len(report.blocks), 'thinking block')}"
                for at, each in enumerate(report.judged)
            ]
            page.append(TextLine(f"{WORKS} {'; '.join(gets)}", "good"))
    if transcript:
        page += _transcript_lines(file, transcript)
    for report in reports:
        name = printable(report.name) if transcript else f"{printable(file)}: a request"
        model = f" for {printable(report.model)}" if report.model and not transcript else ""
        size = f", {_count(report.messages, 'message')}, {_count(len(report.blocks), 'thinking block')}"
        page.append(TextLine(f"{name}{model}{size if report.messages else ''}", "head"))
        page += [*_block_table(report), *_target_lines(report), *_notes(file, report), TextLine("")]
    return page[:-1]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _transcript_lines(file: str, transcript: Transcript) -> Iterator[TextLine]:
    used = sum(thread.messages for thread in transcript.threads.values())
    yield TextLine(f"{printable(file)}: a transcript, {_count(used, 'message')}", "head")
    if transcript.other:
        kinds = ", ".join(f"{printable(kind)} {count}" for kind, count in transcript.other.most_common())
        yield TextLine(f"other lines, kept as they are: {kinds}", "quiet")
    for number, fault in transcript.broken[:MOST_SHOWN]:
        yield TextLine(f"line {number} column {fault.column} is not JSON, kept as it is: {printable(fault.reason)}", "bad")
    if len(transcript.broken) > MOST_SHOWN:
        yield TextLine(f"… and {len(transcript.broken) - MOST_SHOWN} more lines that are not JSON", "bad")


def _block_table(report: CheckReport) -> Iterator[TextTable | TextLine]:
    """The table of blocks: all blocks if they are few, else first those that do not go everywhere, in their order."""
    if not report.blocks:
        return
    shown = report.blocks
    if len(shown) > MOST_BLOCKS:
        unfit = [each for each in shown if any(verdict.what != "goes" for verdict in each.verdicts)]
        shown = (unfit or shown)[:MOST_BLOCKS]
    rows: list[tuple[str, ...]] = []
    for each in shown:
        verdicts = [f"{said.what}: {printable(said.why)}" if said.why else said.what for said in each.verdicts]
        rows.append((each.path, each.type, printable(each.origin), str(each.size), *verdicts))
    columns = ("path", "type", "origin", "bytes", *(f"for {printable(each.target)}" for each in report.judged))
    yield TextLine("")
    yield TextTable(columns, tuple(rows))
    if rest := len(report.blocks) - len(shown):
        yield TextLine(f"  … and {_count(rest, 'block')} more (--json has all)", "quiet")


def _target_lines(report: CheckReport) -> Iterator[TextLine]:
    for each in report.judged:
        target = printable(each.target)
        yield TextLine("")
        if each.unsaid:
            yield TextLine(f"clew cannot translate this for {target}: {printable(each.unsaid)}", "bad")
        if not each.known:
            yield TextLine(f"the rules of {target} are not known; the table shows what clew would send", "quiet")
        elif not each.violations:
            yield TextLine(f"no violation for {target}", "good")
        else:
            without = " if it is sent there without clew" if report.works_through_clew else ""
            yield TextLine(f"{_count(len(each.violations), 'violation')} for {target}{without}", "bad")
            for violation in each.violations[:MOST_SHOWN]:
                yield TextLine(f"  {violation.rule}  {printable(violation.path) or 'the whole request'}")
                yield TextLine(f"    the API says  {printable(violation.words)}")
                if violation.right:
                    yield TextLine(f"    right         {printable(violation.right)}")
            if len(each.violations) > MOST_SHOWN:
                yield TextLine(f"  … and {len(each.violations) - MOST_SHOWN} more (--json has all)")


def _notes(file: str, report: CheckReport) -> Iterator[TextLine]:
    for path in report.doubled[:MOST_SHOWN]:
        yield TextLine(f"the key {printable(path)} is there twice: programs differ in which value they use", "bad")
    if report.unchecked:
        yield TextLine("")
        yield TextLine("only the vendor can check:", "quiet")
    for rule in report.unchecked:
        # What the rule is about, without the placeholders for names in the vendor's words.
        about = rules()[rule].means.partition(". ")[0].partition("; {")[0].rstrip(".")
        yield TextLine(f"  {rule}  {about}", "quiet")
    if fault := report.fault:  # the place where the text stops being JSON, with a caret under it
        before, after = report.near[: fault.column - 1], report.near[fault.column - 1 :]
        shown = printable(before[-_AROUND:])
        yield TextLine("")
        yield TextLine(f"{printable(file)}:{fault.line}:{fault.column}: {printable(fault.reason)}", "bad")
        if report.near:
            yield TextLine(f"    {shown}{printable(after[:_AROUND])}")
            yield TextLine(f"    {' ' * len(shown)}^", "bad")


def findings_json(file: str, reports: Sequence[CheckReport], transcript: Transcript | None) -> bytes:
    """Everything, in one object. `clean`: nothing would be refused as it is."""
    value: JsonObject = {
        "file": file,
        "kind": "transcript" if transcript else "request",
        "clean": all(report.clean for report in reports),
        "works_through_clew": all(report.clean or report.works_through_clew for report in reports),
        "conversations": [_report_json(report) for report in reports],
    }
    if transcript:
        value["other_lines"] = {**transcript.other}
        value["broken_lines"] = [
            {"line": number, "column": fault.column, "reason": fault.reason} for number, fault in transcript.broken
        ]
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _report_json(report: CheckReport) -> JsonObject:
    targets, fault = [each.target for each in report.judged], report.fault
    return {
        "name": report.name,
        "model": report.model,
        "messages": report.messages,
        "blocks": [
            {
                "path": each.path,
                "type": each.type,
                "origin": each.origin,
                "bytes": each.size,
                "verdicts": {
                    target: {"what": said.what, "why": said.why} for target, said in zip(targets, each.verdicts, strict=True)
                },
            }
            for each in report.blocks
        ],
        "violations": {
            each.target: [{name: getattr(it, name) for name in ("rule", "path", "words", "right")} for it in each.violations]
            for each in report.judged
        },
        "rules_known": {each.target: each.known for each in report.judged},
        "cannot_be_said": {each.target: each.unsaid for each in report.judged if each.unsaid},
        "not_checkable": list(report.unchecked),
        "duplicate_keys": list(report.doubled),
        "not_json": fault and {"line": fault.line, "column": fault.column, "reason": fault.reason},
    }
