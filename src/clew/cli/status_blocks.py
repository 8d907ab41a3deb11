"""`clew status --blocks`: the table that decides under `policy = "session"`, as each process of a gateway has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.cli.output import Page, TextLine, TextTable, plural, printable, printable_table
from clew.settings.registry_reports import RegisteredBlock, RegistryReport
from clew.store.text import format_time

NONE = (
    'No gateway has such a table: only `policy = "session"` under [thinking] makes one. With the default policy the store '
    "decides, and `clew status` counts its blocks."
)


def blocks_page(reports: Sequence[RegistryReport]) -> Page:
    return [line for each in reports for line in _table_lines(each)] or [TextLine(NONE, "quiet")]


def _table_lines(report: RegistryReport) -> Iterator[TextLine | TextTable]:
    stats = report.stats
    head = f"gateway {report.gateway}, process {report.pid}: session {report.session}, {report.backend or 'no backend yet'}"
    yield TextLine(printable(head), "head")
    counts = f"{stats.confirmed} confirmed, {stats.unconfirmed} unconfirmed; "
    sessions = f"{stats.current_session} of this session, {stats.old_session} of older ones"
    yield TextLine(f"{plural(stats.total, 'block')}: {counts}{sessions}")
    if report.blocks:
        rows = [(each.hash, str(each.session), _state_of(each), format_time(each.registered)) for each in report.blocks]
        yield printable_table(("hash", "session", "state", "registered"), rows)
    if stats.total > len(report.blocks):
        yield TextLine(f"the newest {len(report.blocks)} of {stats.total} are listed", "quiet")


def _state_of(block: RegisteredBlock) -> str:
    if not block.complete:
        return "cut off, never sent to the client"
    return "confirmed" if block.confirmed else "unconfirmed"
