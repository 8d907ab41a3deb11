"""A line for the status bar of Claude Code: who really answers, what became of the thinking, and who is next.

Claude Code runs the command up to three times a second, with its session as JSON on standard input, and shows the first line
that it prints; nothing if it fails. So it is quick, says something in every case, and never fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import msgspec
from msgspec import Struct

from clew.cli.active import active_of
from clew.cli.exchange_lines import thinking_of
from clew.cli.kept import Place, opened, place, principal_option
from clew.cli.pages import printable
from clew.errors import ClewError
from clew.store import SqliteStore
from clew.store.values import Exchange, Usage

__all__ = ["statusline"]


class _Session(Struct):
    """What is used of what Claude Code says about itself."""

    session_id: str = ""


@click.command()
@principal_option
def statusline(principal: str) -> None:
    """Print a line for Claude Code's status bar: model asked for → backend and model that answered, thinking, cache.

    Put it into ~/.claude/settings.json:

    \b
      {"statusLine": {"type": "command", "command": "clew statusline"}}

    \b
    Examples:
      echo '{"session_id": "…"}' | clew statusline
      clew statusline < /dev/null               # what is active
    """
    try:
        click.echo(_line(principal, _session()))
    except ClewError as error:
        click.echo(printable(f"clew: {error}").splitlines()[0])


def _session() -> str:
    """The id of the session; "" if nothing says it."""
    try:
        return "" if sys.stdin.isatty() else msgspec.json.decode(sys.stdin.buffer.read(), type=_Session).session_id
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _line(principal: str, session: str) -> str:
    at = place()
    with opened(at) as store:
        last = _last(store, principal, session) if store else None
        return printable(" · ".join(_parts(last, _next(at, store, last))))


def _last(store: SqliteStore, principal: str, session: str) -> Exchange | None:
    thread = store.thread_of(principal, session, "") if session else None
    return next(iter(store.exchanges(principal, thread=thread, limit=1)), None) if thread else None


def _next(at: Place, store: SqliteStore | None, last: Exchange | None) -> str:
    pinned = store.pin_of(last.principal, last.thread) if store and last else ""
    active = active_of(at, store)
    return pinned or (active.backend if active else "")


def _parts(last: Exchange | None, following: str) -> Iterator[str]:
    if last is None:
        yield f"clew → {following or 'no backend'}"
        return
    yield f"{last.asked_model} → {last.backend} {last.model}"
    counts = {name: count for name, count in thinking_of(last).items() if count}
    if counts:
        yield "thinking " + ", ".join(f"{count} {name}" for name, count in counts.items())
    yield from _cached(last.usage)
    if following and following != last.backend:
        yield f"next: {following}"


def _cached(usage: Usage | None) -> Iterator[str]:
    whole = usage.input + usage.cache_read + usage.cache_written if usage else 0
    if usage and whole:
        yield f"cache {100 * usage.cache_read // whole} %"
