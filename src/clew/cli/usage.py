"""`clew usage`: what was used and what it cost, by key, principal, team, thread, sub-agent, client,
backend, model, day and hour."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click
from msgspec import structs

from clew.backends.row import Backend
from clew.cli.command import json_option, report_errors, report_wrong_usage
from clew.cli.installation import find_installation, store_for_reading
from clew.cli.output import Page, TextLine, TextTable, print_json, print_result, printable_table
from clew.limits.usage import (
    FILTERS,
    NAMELESS,
    UsageField,
    UsageLine,
    UsageQuery,
    read_fields,
    read_since,
    total_line,
    usage_csv,
    usage_entry,
    usage_lines,
)
from clew.store import Store

_TITLE: Final = 40
_EXAMPLES: Final = """\b
Examples:
  clew usage                                 the last 30 days, by backend and model
  clew usage --by key,day --since 7d
  clew usage --by thread --key anna --since 24h
  clew usage --by client --since 7d
  clew usage --by team,model --since 2026-01-01 --csv > usage.csv

\b
Days and hours are in UTC, like the windows of `clew limits`. Costs are list prices. ≈ marks an estimate: a cost that was
calculated later, because no limit on money applied to the calls, or a sum in which some calls have no known price.
"""


@click.command(short_help="Show what was used and what it cost.", epilog=_EXAMPLES)
@click.option(
    "--by",
    "by_",
    metavar="FIELDS",
    default="backend,model",
    show_default=True,
    help="Group by these: key, principal, team, thread, agent, client, backend, model, day, hour; separated by commas.",
)
@click.option("--since", metavar="WHEN", default="30d", show_default=True, help="24h, 7d, 4w, or a day such as 2026-11-01.")
@click.option("--until", metavar="WHEN", help="Up to this time, in the same forms.")
@click.option("--key", help="Only the calls of this key.")
@click.option("--principal", help="Only the calls of this principal.")
@click.option("--team", help="Only the calls of this team.")
@click.option("--thread", help="Only the calls of the thread with this id.")
@click.option("--agent", help="Only the calls of this sub-agent.")
@click.option("--client", help="Only the calls of this program, such as 'Claude Code' or Codex.")
@click.option("--backend", help="Only the calls that this backend answered.")
@click.option("--model", help="Only the calls that this model answered.")
@click.option("--csv", "csv_", is_flag=True, help="Print CSV, money in dollars.")
@json_option
def usage(by_: str, since: str, until: str | None, csv_: bool, json_: bool, **only: str | None) -> None:
    """Show calls, tokens and cost.

    The most expensive line is first; with day or hour, the oldest. The calls of all principals count, unless --principal
    names one. Deleted threads count too, without their title.
    """
    if csv_ and json_:
        raise click.UsageError("Choose one of --csv and --json.")
    now = time.time()
    with report_wrong_usage():
        query = UsageQuery(
            by=read_fields(by_),
            since=read_since(since, now),
            until=read_since(until, now) if until else now,
            only={field: value for field in FILTERS if (value := only[field]) is not None},
        )
    with report_errors():
        installation = find_installation()
        backends: Mapping[str, Backend] = installation.loaded.settings.backends if installation.loaded else {}
        with store_for_reading(installation) as store:
            lines = usage_lines(query, store.usage.groups(query), backends) if store else []
            titles = _titles(store, query) if store and "thread" in query.by and not (csv_ or json_) else {}
    if csv_:
        click.echo(usage_csv(query.by, lines), nl=False)
    elif json_:
        print_json([usage_entry(query.by, line) for line in lines])
    else:
        print_result(None, _page(query, lines, titles), as_json=False)


def _titles(store: Store, query: UsageQuery) -> dict[str, str]:
    """The title of each thread by its id. A deleted thread has none."""
    groups = store.usage.groups(structs.replace(query, by=("thread", "principal")))
    named = ((group.names, store.thread(group.names[1], group.names[0])) for group in groups)
    return {names[0]: thread.title[:_TITLE] for names, thread in named if thread}


def _page(query: UsageQuery, lines: list[UsageLine], titles: Mapping[str, str]) -> Page:
    if not lines:
        return [TextLine("No calls in this time.")]
    total = total_line(lines)
    names = (*query.by, "title") if titles else query.by
    cells = [(*_named(query.by, line.names, titles), *_cells(line)) for line in lines]
    if len(lines) > 1:
        cells.append(("all", *("" for _ in names[1:]), *_cells(total)))
    columns = (*names, "calls", "input", "cache read", "cache written", "output", "cost")
    page: list[TextLine | TextTable] = [printable_table(columns, cells)]
    if total.unpriced:
        page.append(TextLine(f"For {total.unpriced:,} of {total.calls:,} calls no price is known.", "quiet"))
    return page


def _named(fields: Sequence[UsageField], names: Sequence[str], titles: Mapping[str, str]) -> Iterator[str]:
    yield from (name or NAMELESS.get(field, "-") for field, name in zip(fields, names, strict=True))
    if titles:
        yield titles.get(names[fields.index("thread")], "")


def _cells(line: UsageLine) -> tuple[str, ...]:
    usage = line.usage
    about = "≈" if usage.estimated else ""
    counts = (usage.input, usage.cache_read, usage.cache_written)
    return (f"{line.calls:,}", *(f"{each:,}" for each in counts), f"{about}{usage.output:,}", line.cost)
