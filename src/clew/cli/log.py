"""`clew log`: what befell each request, and why. Reads the store, so it needs no gateway, and follows any that runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import click
from msgspec import Struct

from clew.cli.endings import told
from clew.cli.exchange_lines import lines_of
from clew.cli.json_output import say_json
from clew.cli.kept import opened, opened_to_write, place, principal_option, thread_named
from clew.cli.pages import Line, show
from clew.engine.told_tries import with_told_tries
from clew.store import Store
from clew.store.values import Exchange

__all__ = ["log"]

EVERY: Final = 0.4
"""Seconds between two glances at the store."""

NOTHING: Final = "Nothing was asked yet. Begin with `clew run -- claude`, or point a client at `clew serve`."


@click.command(short_help="Say what befell each request, and why.")
@click.option("-n", "count", type=click.IntRange(0, 100_000), default=20, show_default=True, help="How many of the last.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--thread", metavar="THREAD", help="Only of this thread; the beginning of its id, or `last`.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="One line of JSON for each, with all that is known.")
def log(count: int, follow: bool, thread: str | None, principal: str, json_: bool) -> None:
    """List the last requests, the newest at the end.

    Of each: when, in which thread, the model that was asked for and the backend and model that answered, how it ended, how
    long it took. Below it what became of the thinking, with every change and its reason, the tokens, and the calls that
    failed before one succeeded. No words of the conversation: `clew show` has those.

    \b
    Examples:
      clew log
      clew log -f
      clew log -n 100 --thread last
      clew log --json | jq .changes

    Exit status: 0 ok, 1 the store cannot be read, 2 wrong usage.
    """
    with told(), suppress(KeyboardInterrupt):
        at = place()
        with opened_to_write(at) if follow else opened(at) as store:
            if store is None:
                _say_nothing(json_)
                return
            wanted = Wanted(
                principal=principal, thread=thread_named(store, principal, thread).id if thread is not None else None
            )
            if follow:
                _follow(store, wanted, count, json_)
            elif count and not _say(wanted.last(store, count), json_):
                _say_nothing(json_)


class Wanted(Struct, frozen=True, kw_only=True):
    """Which exchanges."""

    principal: str
    thread: str | None

    def last(self, store: Store, count: int) -> list[Exchange]:
        """The last so many, oldest first."""
        return store.exchanges(self.principal, thread=self.thread, limit=count)[::-1]

    def since(self, store: Store, seen: Exchange | None) -> list[Exchange]:
        """What came after this one, oldest first; also if it was deleted meanwhile."""
        if seen is not None and store.exchange(self.principal, seen.id):
            return store.exchanges(self.principal, thread=self.thread, after=seen.id, limit=1000)
        return [each for each in self.last(store, 1000) if seen is None or each.ended > seen.ended]


def _follow(store: Store, wanted: Wanted, count: int, json_: bool) -> None:
    changed = store.changed()
    [*before] = wanted.last(store, max(count, 1))
    if not before and not json_:
        click.echo("Nothing yet. Waiting; Ctrl-C ends it.", err=True)
    _say(before[len(before) - count :] if count < len(before) else before, json_)
    seen = before[-1] if before else None
    for _ in _changes(store, changed):
        fresh = wanted.since(store, seen)
        _say(fresh, json_)
        seen = fresh[-1] if fresh else seen


def _changes(store: Store, seen: int) -> Iterator[int]:
    """Each time that something was committed by anybody; never ends by itself."""
    while True:
        if (now := store.changed()) != seen:
            yield now
        else:
            time.sleep(EVERY)
        seen = now


def _say(exchanges: Iterable[Exchange], json_: bool) -> bool:
    """Print them. Whether there were any."""
    said = False
    for exchange in exchanges:
        said = True
        shown = with_told_tries(exchange)
        if json_:
            say_json(shown)
        else:
            show(lines_of(shown))
    return said


def _say_nothing(json_: bool) -> None:
    if not json_:
        show([Line(NOTHING, "quiet")])
