"""`clew log`: what happened to each request, and why. It reads the store, so it needs no gateway and can follow any."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NoReturn

import click
from msgspec import Struct

from clew.cli.command import principal_option, report_errors
from clew.cli.installation import find_installation, find_thread, store_for_reading, store_for_writing
from clew.cli.output import TextLine, print_page, print_result
from clew.cli.threads import exchange_lines
from clew.exchange.redact import with_redacted_tries
from clew.model.turn import Exchange
from clew.store import Store

EVERY: Final = 0.4
"""Seconds between two looks at the store."""

NOTHING: Final = "No requests yet. Begin with `clew run -- claude`, or point a client at `clew serve`."


@click.command(short_help="Show what happened to each request, and why.")
@click.option(
    "-n", "count", type=click.IntRange(0, 100_000), default=20, show_default=True, help="How many requests to list."
)
@click.option("-f", "--follow", is_flag=True, help="Follow: print new requests as they come, until Ctrl-C.")
@click.option("--thread", metavar="THREAD", help="Only requests of this thread: the beginning of its id, or `last`.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print one line of JSON for each request, with every detail.")
def log(count: int, follow: bool, thread: str | None, principal: str, json_: bool) -> None:
    """List the last requests, the newest at the end.

    For each request: the time, the thread, the model that was asked for, the backend and model that answered, how it ended
    and how long it took. Below it: what happened to the thinking, every change with its reason, the tokens, and calls that
    failed before one succeeded. The conversation itself is in `clew show`.

    \b
    Examples:
      clew log
      clew log -f
      clew log -n 100 --thread last
      clew log --json | jq .changes

    Exit status: 0 ok, 1 the store cannot be read, 2 wrong usage, 5 the config cannot be used (with -f).
    """
    with report_errors(), suppress(KeyboardInterrupt):
        installation = find_installation()
        with store_for_writing(installation) if follow else store_for_reading(installation) as store:
            shown: Sequence[Exchange] = ()
            if store is not None:
                id = find_thread(store, principal, thread).id if thread is not None else None
                query = ExchangeQuery(principal=principal, thread=id)
                if follow:
                    _follow(store, query, count, json_)
                shown = query.last(store, count) if count else ()
                _print(shown, json_)
            if not shown and (count or store is None) and not json_:
                print_page([TextLine(NOTHING, "quiet")])


class ExchangeQuery(Struct, frozen=True, kw_only=True):
    """The exchanges that are asked for: of a principal, and of a thread if one is named."""

    principal: str
    thread: str | None

    def last(self, store: Store, count: int) -> list[Exchange]:
        """The last exchanges, oldest first."""
        return store.exchanges(self.principal, thread=self.thread, limit=count)[::-1]

    def since(self, store: Store, seen: Exchange | None) -> list[Exchange]:
        """The exchanges after `seen`, oldest first. `seen` may have been deleted since."""
        if seen is not None and store.exchange(self.principal, seen.id):
            return store.exchanges(self.principal, thread=self.thread, after=seen.id, limit=1000)
        return [each for each in self.last(store, 1000) if seen is None or each.ended > seen.ended]


def _follow(store: Store, query: ExchangeQuery, count: int, json_: bool) -> NoReturn:
    """Print the last exchanges and then each new one, until Ctrl-C."""
    known = store.data_version()
    before = query.last(store, max(count, 1))
    if not before and not json_:
        click.echo("No requests yet. Waiting for the first one; Ctrl-C stops.", err=True)
    _print(before[len(before) - count :] if count < len(before) else before, json_)
    seen = before[-1] if before else None
    while True:
        if (now := store.data_version()) == known:
            time.sleep(EVERY)
            continue
        known = now
        fresh = query.since(store, seen)
        _print(fresh, json_)
        seen = fresh[-1] if fresh else seen


def _print(exchanges: Sequence[Exchange], json_: bool) -> None:
    for exchange in map(with_redacted_tries, exchanges):
        print_result(exchange, exchange_lines(exchange), as_json=json_)
