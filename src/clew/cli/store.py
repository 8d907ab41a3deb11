"""`clew store`: what is recorded, moved as a whole from one store to another."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from clew.cli.command import Failed, json_option, report_errors
from clew.cli.installation import find_installation
from clew.cli.output import TextLine, plural, print_result, printable, printable_table, progress_bar

if TYPE_CHECKING:
    from clew.settings.home import Home
    from clew.store.kinds import StoreLocation


_MANY: Final = 5_000
"""A move of so many rows has a progress bar on a terminal."""


_AGAIN: Final = "Run the same command again: it continues where it stopped. Nothing was changed in the old store."


@click.group(short_help="Move everything that is recorded to another store.")
def store() -> None:
    """Move the store, in which clew keeps conversations, usage and settings."""


@store.command("move")
@click.option("--from", "source", required=True, metavar="URL", help="The store to read. It is not changed.")
@click.option(
    "--to", "target", required=True, metavar="URL", help="An empty store, or one that an earlier move began to fill."
)
@json_option
def move_store(source: str, target: str, json_: bool) -> None:
    """Copy everything from one store to another, and check it.

    URL is `sqlite` (the usual file), `sqlite:PATH` or `postgresql://USER@HOST/DATABASE`, as in `[store] url`. Stop all
    gateways first: nothing may write to either store meanwhile. After Ctrl-C or a failure, run the same command again: it
    continues where it stopped. At the end it compares the number of rows and a hash of every table on both sides. The first
    searches make the search index again. Then write the new URL into `[store] url`, and start the gateways.

    \b
    Examples:
      clew store move --from sqlite --to postgresql://clew@db.example/clew
      clew store move --from sqlite:/var/lib/clew/clew.db --to postgresql://clew@db.example/clew
      clew store move --from postgresql://clew@db.example/clew --to sqlite:back.db

    A password can come from the variable PGPASSWORD or from ~/.pgpass, so that it need not stand on the command line.

    Exit status: 0 moved and checked, 1 failed, 2 wrong usage, 5 the config cannot be used, 130 Ctrl-C.
    """
    from clew.store.moving import is_begun, move, rows_to_move

    home = find_installation().home
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # at Ctrl-C it warns of the transaction that ends with it
    with report_errors(), ExitStack() as stack:
        home.make()
        here, there = _locate(source, "--from", home), _locate(target, "--to", home)
        _check(here, there, home)
        reading, writing = stack.enter_context(here.tables()), stack.enter_context(there.tables())
        resumed = is_begun(writing)
        try:
            with progress_bar("moving", rows_to_move(reading, writing), _MANY) as advance:
                checked = move(reading, writing, lambda _, count: advance(count))
        except KeyboardInterrupt:
            click.echo(f"\nInterrupted. {_AGAIN}", err=True)
            raise
    result = {"from": here.describe(), "to": there.describe(), "resumed": resumed, "tables": checked}
    rows = [(each.table, str(each.rows), each.digest[:16]) for each in checked if each.rows]
    went_on = " (an earlier move was continued)" if resumed else ""
    page = [
        TextLine(printable(f"{here.describe()} was moved to {there.describe()} and checked{went_on}."), "good"),
        printable_table(("table", "rows", "digest"), rows),
        TextLine("Now write the new URL into `[store] url` of the settings. The old store was not changed.", "quiet"),
    ]
    print_result(result, page, as_json=json_)


def _locate(url: str, option: str, home: Home) -> StoreLocation:
    from clew.store.kinds import URLS, is_url, location_of

    root = Path.cwd() if ":" in url else home.root  # a path that is typed begins here
    location = location_of(url, root) if is_url(url) else None
    if location is None:
        raise click.BadParameter(f"a store is one of {URLS.removesuffix(' or off')}", param_hint=option)
    return location


def _check(here: StoreLocation, there: StoreLocation, home: Home) -> None:
    """Ends the command if there is nothing to move, or if a gateway of this machine may still write."""
    from clew.settings.processes import registered_gateways
    from clew.store.spool import Spool

    if here.describe() == there.describe():
        raise click.UsageError("--from and --to are the same store.")
    if not here.is_readable():
        raise Failed(f"there is no store at {here.describe()}")
    if running := registered_gateways(home):
        pids = ", ".join(str(each.pid) for each in running)
        raise Failed(f"a gateway runs here (pid {pids}) and may write to the store: end it first, then run this again")
    if waiting := len(Spool(home.root / "spool").waiting()):
        raise Failed(
            f"{plural(waiting, 'turn')} of this machine could not be sent to the database yet ({home.root / 'spool'}): "
            "start the gateway with that store once, so that they are sent; then end it and run this again"
        )
