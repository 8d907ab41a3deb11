"""`clew audit`: who changed what."""

from __future__ import annotations

import time
from typing import Final

import click

from clew.cli.command import json_option, report_errors, report_wrong_usage
from clew.cli.installation import find_installation, store_for_reading
from clew.cli.output import Page, TextLine, print_result, printable_table
from clew.limits.usage import read_since
from clew.store.audit_table import AuditEntry, AuditFilter

_EXAMPLES: Final = """\b
Examples:
  clew audit
  clew audit --what key --since 7d
  clew audit --who anna --of backend:glm
  clew audit --limit 1000 --json

\b
The audit has entries for changes of the active backend, pins of threads, named keys, limits and backends, and for threads
that were deleted one by one. It does not matter if a command, the admin API or a page made the change.
It has no entries for manual edits of the settings file, retention, imports, `clew keys rotate-secret`, and changes by other
programs.
"""


@click.command(short_help="Show who changed what.", epilog=_EXAMPLES)
@click.option("--who", default="", help="Only entries with this in the name of who did it.")
@click.option("--what", default="", help="Only entries with this in what was done: key, limit, backend, pinned, deleted.")
@click.option("--of", "target", default="", help="Only entries about this: key:anna, team:web, backend:glm, thread:….")
@click.option("--since", metavar="WHEN", help="24h, 7d, 4w, or a day such as 2026-11-01 (in UTC).")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many changes.")
@json_option
def audit(who: str, what: str, target: str, since: str | None, limit: int, json_: bool) -> None:
    """Show the last changes, the newest first: when, who, what, of what, before and after. No secrets, and no words of
    conversations."""
    with report_wrong_usage():
        begin = read_since(since, time.time()) if since else 0.0
    with report_errors():
        wanted = AuditFilter(who=who, what=what, target=target, since=begin)
        with store_for_reading(find_installation()) as store:
            entries = store.audit.entries(limit=limit, wanted=wanted) if store else ()
    page: Page = [TextLine("No change matches." if wanted != AuditFilter() else "No changes yet.")]
    if entries:
        page = [printable_table(("when", "who", "what", "of", "before", "after"), [_cells(each) for each in entries])]
    print_result(entries, page, as_json=json_)


def _cells(entry: AuditEntry) -> tuple[str, ...]:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
    return when, entry.who, entry.what, entry.target, entry.before, entry.after
