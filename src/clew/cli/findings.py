"""How the findings of `check` are said: as a page for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from clew.cli.block_verdicts import Seen, Verdict
from clew.cli.examine import Judged, Report
from clew.cli.output import Page, TextLine, TextTable, printable
from clew.cli.transcripts import Transcript
from clew.model.facts import rules
from clew.model.json import JsonObject
from clew.thinking.compliance import Violation

__all__ = ["as_json", "page"]

WORKS = "Through clew this conversation works:"
MOST_SHOWN = 20
"""Findings of one target that a person is shown; `--json` has all."""

MOST_BLOCKS = 50
"""Blocks of one conversation that a person is shown."""

_AROUND = 40
"""Characters shown on each side of the place where the text stops being JSON."""


def page(file: str, reports: Sequence[Report], transcript: Transcript | None) -> Page:
    parts: list[TextLine | TextTable] = [
        TextLine(f"{WORKS} {_going(each)}", "good") for each in reports if _is_worth_saying(each)
    ]
    if transcript:
        parts += _about_lines(file, transcript)
    for report in reports:
        parts += [*_head(file, report, transcript), *_table(report), *_findings(report), *_notes(report)]
        parts += [*_pointer(file, report), TextLine("")]
    return parts[:-1]


def _is_worth_saying(report: Report) -> bool:
    """Where it is clean, that is what is said."""
    return report.works_through_clew and not report.clean


def _going(report: Report) -> str:
    """How many thinking blocks each target gets."""
    return "; ".join(
        f"{printable(each.target)} gets {sum(block.verdicts[at].what == 'goes' for block in report.blocks)} of"
        f" {_count(len(report.blocks), 'thinking block')}"
        for at, each in enumerate(report.judged)
    )


def _about_lines(file: str, transcript: Transcript) -> Iterable[TextLine]:
    used = sum(talk.messages for talk in transcript.talks.values())
    yield TextLine(f"{printable(file)}: a transcript, {_count(used, 'message')}", "head")
    if transcript.other:
        kinds = ", ".join(f"{printable(kind)} {count}" for kind, count in transcript.other.most_common())
        yield TextLine(f"other lines, kept as they are: {kinds}", "quiet")
    for number, fault in transcript.broken[:MOST_SHOWN]:
        yield TextLine(f"line {number} column {fault.column} is not JSON, kept as it is: {printable(fault.reason)}", "bad")
    if len(transcript.broken) > MOST_SHOWN:
        yield TextLine(f"… and {len(transcript.broken) - MOST_SHOWN} more lines that are not JSON", "bad")


def _head(file: str, report: Report, transcript: Transcript | None) -> Iterable[TextLine]:
    name = printable(report.name) if transcript else f"{printable(file)}: a request"
    model = f" for {printable(report.model)}" if report.model and not transcript else ""
    size = f", {_count(report.messages, 'message')}, {_count(len(report.blocks), 'thinking block')}"
    yield TextLine(f"{name}{model}{size if report.messages else ''}", "head")


def _table(report: Report) -> Iterable[TextTable | TextLine]:
    if not report.blocks:
        return
    shown = _worth_showing(report.blocks)
    columns = ("path", "type", "origin", "bytes", *(f"for {printable(each.target)}" for each in report.judged))
    rows = tuple(
        (each.path, each.type, printable(each.origin), str(each.size), *map(_verdict, each.verdicts)) for each in shown
    )
    yield TextLine("")
    yield TextTable(columns, rows)
    if rest := len(report.blocks) - len(shown):
        yield TextLine(f"  … and {_count(rest, 'block')} more (--json has all)", "quiet")


def _worth_showing(blocks: Sequence[Seen]) -> Sequence[Seen]:
    """All, if they are few; else first those that do not go everywhere, in their order."""
    if len(blocks) <= MOST_BLOCKS:
        return blocks
    unfit = [each for each in blocks if any(verdict.what != "goes" for verdict in each.verdicts)]
    return (unfit or blocks)[:MOST_BLOCKS]


def _verdict(verdict: Verdict) -> str:
    return f"{verdict.what}: {printable(verdict.why)}" if verdict.why else verdict.what


def _findings(report: Report) -> Iterable[TextLine]:
    for each in report.judged:
        yield TextLine("")
        if each.unsaid:
            yield TextLine(f"clew cannot say this to {printable(each.target)}: {printable(each.unsaid)}", "bad")
        if not each.known:
            yield TextLine(
                f"the rules of {printable(each.target)} are not known; the table says what clew would send it", "quiet"
            )
        elif not each.violations:
            yield TextLine(f"no violation for {printable(each.target)}", "good")
        else:
            yield from _violations(each, without=" if it goes there without clew" if report.works_through_clew else "")


def _violations(judged: Judged, without: str) -> Iterable[TextLine]:
    yield TextLine(f"{_count(len(judged.violations), 'violation')} for {printable(judged.target)}{without}", "bad")
    for violation in judged.violations[:MOST_SHOWN]:
        yield TextLine(f"  {violation.rule}  {printable(violation.path) or 'the whole request'}")
        yield TextLine(f"    the API says  {printable(violation.words)}")
        if violation.right:
            yield TextLine(f"    right         {printable(violation.right)}")
    if len(judged.violations) > MOST_SHOWN:
        yield TextLine(f"  … and {len(judged.violations) - MOST_SHOWN} more (--json has all)")


def _notes(report: Report) -> Iterable[TextLine]:
    for path in report.doubled[:MOST_SHOWN]:
        yield TextLine(f"the key {printable(path)} stands there twice: readers differ in which they take", "bad")
    if report.unchecked:
        yield TextLine("")
        yield TextLine("only the vendor can check:", "quiet")
    for rule in report.unchecked:
        yield TextLine(f"  {rule}  {_in_short(rules()[rule].means)}", "quiet")


def _in_short(means: str) -> str:
    """What a rule is about, without what stands for the names in the vendor's words."""
    return means.partition(". ")[0].partition("; {")[0].rstrip(".")


def _pointer(file: str, report: Report) -> Iterable[TextLine]:
    """The place where the text stops being JSON, with a caret under it."""
    if fault := report.fault:
        before, after = report.near[: fault.column - 1], report.near[fault.column - 1 :]
        shown = printable(before[-_AROUND:])
        yield TextLine("")
        yield TextLine(f"{printable(file)}:{fault.line}:{fault.column}: {printable(fault.reason)}", "bad")
        if report.near:
            yield TextLine(f"    {shown}{printable(after[:_AROUND])}")
            yield TextLine(f"    {' ' * len(shown)}^", "bad")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def as_json(file: str, reports: Sequence[Report], transcript: Transcript | None) -> bytes:
    """Everything, in one object. `clean`: nothing would be refused as it is."""
    value: JsonObject = {
        "file": file,
        "kind": "transcript" if transcript else "request",
        "clean": all(report.clean for report in reports),
        "works_through_clew": all(report.clean or report.works_through_clew for report in reports),
        "conversations": [_conversation(report) for report in reports],
    }
    if transcript:
        value["other_lines"] = {**transcript.other}
        value["broken_lines"] = [
            {"line": number, "column": fault.column, "reason": fault.reason} for number, fault in transcript.broken
        ]
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _conversation(report: Report) -> JsonObject:
    targets = [each.target for each in report.judged]
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
        "violations": {each.target: [_violation(violation) for violation in each.violations] for each in report.judged},
        "rules_known": {each.target: each.known for each in report.judged},
        "cannot_be_said": {each.target: each.unsaid for each in report.judged if each.unsaid},
        "not_checkable": list(report.unchecked),
        "duplicate_keys": list(report.doubled),
        "not_json": report.fault
        and {"line": report.fault.line, "column": report.fault.column, "reason": report.fault.reason},
    }


def _violation(violation: Violation) -> JsonObject:
    return {"rule": violation.rule, "path": violation.path, "words": violation.words, "right": violation.right}
