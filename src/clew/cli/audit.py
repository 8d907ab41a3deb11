"""`clew audit`: who changed which limit."""

from __future__ import annotations

import time

import click

from clew.cli.command import json_option, report_errors
from clew.cli.installation import find_installation, store_for_reading
from clew.cli.output import Page, TextLine, print_result, printable_table
from clew.store.audit_table import AuditEntry


@click.command(short_help="Show who changed limits.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many changes.")
@json_option
def audit(limit: int, json_: bool) -> None:
    """Show the last changes of limits, the newest first: when, who, what, before and after. No secrets.

    \b
    Examples:
      clew audit
      clew audit --limit 1000 --json
    """
    with report_errors(), store_for_reading(find_installation()) as store:
        entries = store.audit.entries(limit=limit) if store else ()
    page: Page = [TextLine("No limit was changed so far.")]
    if entries:
        page = [printable_table(("when", "who", "what", "of", "before", "after"), [_cells(each) for each in entries])]
    print_result(entries, page, as_json=json_)


def _cells(entry: AuditEntry) -> tuple[str, ...]:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
    return when, entry.who, entry.what, entry.target, entry.before, entry.after
