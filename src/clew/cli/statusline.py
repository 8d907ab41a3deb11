"""A line for the status bar of Claude Code: who really answers, what became of the thinking, and who is next.

Claude Code runs the command up to three times a second, with its session as JSON on standard input, and shows the first line
that it prints; nothing if it fails. So it is quick, says something in every case, and never fails. What takes long to load
(the settings with all their tables, the store with all that writes it) is loaded only where a glance does not do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click
import msgspec
from msgspec import Struct

from clew.cli.exchange_lines import thinking_of
from clew.cli.next_backend import CHOICE, plain_settings
from clew.cli.options import principal_option
from clew.cli.pages import printable
from clew.settings.home import home_of
from clew.settings.processes import running_gateways
from clew.store.location import StoreLocation
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
    except Exception as error:  # a traceback would blank the bar, or fill somebody's prompt
        click.echo(printable(f"clew: {error}").splitlines()[0])


def _session() -> str:
    """The id of the session; "" if nothing says it."""
    try:
        return "" if sys.stdin.isatty() else msgspec.json.decode(sys.stdin.buffer.read(), type=_Session).session_id
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _line(principal: str, session: str) -> str:
    plain = plain_settings(os.environ)
    found = _seen(plain.store, principal, session) if plain else None
    following = (found.pin or plain.answers(found.chosen)) if plain and found else None
    if found is None or following is None:
        return printable(" · ".join(_seen_properly(principal, session)))
    return printable(" · ".join(_parts(found.last, found.pin or _in_use(following))))


def _in_use(chosen: str) -> str:
    """What the gateway of this client reports, by the address that the client has, or what all report; and what was chosen,
    where that is another. Nobody is asked: the reports are files."""
    there = running_gateways(home_of(os.environ))
    of_client = [each for each in there if each.url == os.environ.get("ANTHROPIC_BASE_URL", "").rstrip("/")]
    used = frozenset[str]().union(*(each.in_use for each in of_client or there))
    if used <= {chosen}:
        return chosen
    return f"{' or '.join(sorted(name or 'none (503)' for name in used))} (chosen: {chosen})"


class _Seen(Struct, frozen=True):
    """What the store has to say: the last exchange, the backend that its thread stays with, the one that was chosen."""

    last: Exchange | None = None
    pin: str = ""
    chosen: str = ""


def _seen(location: StoreLocation | None, principal: str, session: str) -> _Seen | None:
    """None of a store that must first be brought up to date."""
    if location is None or not location.exists():
        return _Seen()
    with location.quick_look() as store:
        if not store.is_current:
            return None
        last = store.last(principal, session) if session else None
        pin = store.pin_of(principal, last.thread) if last else ""
        return _Seen(last, pin, store.settings().get(CHOICE, ""))


def _seen_properly(principal: str, session: str) -> Iterator[str]:
    """The same with the settings and the store as every other command has them."""
    from clew.cli.active import active_of
    from clew.cli.kept import opened, place

    at = place()
    with opened(at) as store:
        active = active_of(at, store)
    found = _seen(at.store, principal, session) or _Seen()
    yield from _parts(found.last, found.pin or (_in_use(active.backend) if active else ""))
    if at.problem:
        yield "the config cannot be used: `clew config check`"


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
