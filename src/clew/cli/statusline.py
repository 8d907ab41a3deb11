"""A line for the status bar of Claude Code: who really answers, what became of the thinking, and who is next.

Claude Code runs the command up to three times a second, with its session as JSON on standard input, and shows the first line
that it prints; nothing if it fails. So the command is quick, says something in every case, and never fails. The settings
with all their tables and the store with all that writes it take long to load. They are loaded only where a quick look at the
file and the store is not enough.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import click
import msgspec
from msgspec import Struct

from clew.cli.command import principal_option
from clew.cli.output import printable
from clew.model.turn import Exchange
from clew.settings.home import CONFIG_VARIABLE, home_of
from clew.settings.processes import running_gateways
from clew.store.kinds import USUAL_URL, is_url, location_of
from clew.store.text import thinking_counts

if TYPE_CHECKING:
    from clew.store.kinds import StoreLocation


_USUAL_BACKEND: Final = "claude"
_ACTIVE: Final = "active"
"""The setting in the store that says which backend was chosen for all. The engine's own constant takes long to load."""
_GATEWAY_SECONDS: Final = 0.5
_MOST_BYTES: Final = 1024 * 1024


class _Session(Struct):
    """The field that is used of what Claude Code says about itself."""

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
        try:
            session = "" if sys.stdin.isatty() else msgspec.json.decode(sys.stdin.buffer.read(), type=_Session).session_id
        except (msgspec.MsgspecError, UnicodeDecodeError):
            session = ""
        parts = _quick_parts(principal, session) or _thorough_parts(principal, session)
        click.echo(printable(" · ".join(parts)))
    except Exception as error:  # a traceback would blank the bar, or fill somebody's prompt
        click.echo(printable(f"clew: {error}").splitlines()[0])


def _quick_parts(principal: str, session: str) -> Iterator[str] | None:
    """The line without loading the settings; None where they must be loaded."""
    plain = _plain_settings(os.environ)
    found = _look_up(plain.store, principal, session) if plain else None
    if plain is None or found is None:
        return None
    active = found.chosen or plain.active
    if found.pin:
        return _parts(found.last, found.pin)
    return _parts(found.last, _backend_in_use(active)) if active in plain.backends else None


def _thorough_parts(principal: str, session: str) -> Iterator[str]:
    """The same with the settings and the store as every other command loads them."""
    from clew.cli.installation import active_of, find_installation, store_for_reading

    installation = find_installation()
    found = _look_up(installation.store, principal, session) or _StoreView()
    if installation.store is not None and installation.store.is_shared:
        settings = installation.loaded.settings if installation.loaded else None
        chosen = found.chosen or (settings.active if settings else "")
        yield from _parts(found.last, found.pin or _backend_in_use(chosen))
        return
    with store_for_reading(installation, says_problem=False) as store:
        active = active_of(installation, store)
    yield from _parts(found.last, found.pin or (_backend_in_use(active.backend) if active else ""))
    if installation.problem:
        yield "the config cannot be used: `clew config check`"


class _PlainSettings(NamedTuple):
    """What the file says without doubt: where the store is (None: none is wanted), and which backends can be active."""

    store: StoreLocation | None
    active: str
    backends: frozenset[str]


def _plain_settings(environ: Mapping[str, str]) -> _PlainSettings | None:
    """The settings, where they are plain: there is no file, and then Claude answers; or the file has the name, and the
    backend of that name. None for everything else."""
    home = home_of(environ)
    file = Path(named).expanduser() if (named := environ.get(CONFIG_VARIABLE, "").strip()) else home.config
    if not named and not file.is_file():
        return _PlainSettings(location_of(USUAL_URL, home.root), _USUAL_BACKEND, frozenset({_USUAL_BACKEND}))
    try:
        raw = tomllib.loads(file.read_bytes()[:_MOST_BYTES].decode())
    except (OSError, ValueError, RecursionError):
        return None
    backends, active, store = raw.get("backends", {}), raw.get("active", ""), raw.get("store", {})
    if not (isinstance(backends, dict) and isinstance(active, str) and isinstance(store, dict)):
        return None
    url = cast("Mapping[str, object]", store).get("url", USUAL_URL)
    if not isinstance(url, str) or "$" in url or not is_url(url):
        return None
    names = frozenset(cast("Mapping[str, object]", backends))
    return _PlainSettings(location_of(url, home.root), active or _USUAL_BACKEND, names)


class _StoreView(Struct, frozen=True):
    """What the store says: the last exchange, the backend that its thread stays with, the backend that was chosen."""

    last: Exchange | None = None
    pin: str = ""
    chosen: str = ""


def _look_up(location: StoreLocation | None, principal: str, session: str) -> _StoreView | None:
    """What the store has of the session; None if the store must first be migrated."""
    if location is not None and location.is_shared:
        return _ask_gateway(principal, session)
    if location is None or not location.exists():
        return _StoreView()
    with location.quick_look() as store:
        if not store.is_current:
            return None
        last = store.last(principal, session) if session else None
        pin = store.pin_of(principal, last.thread) if last else ""
        return _StoreView(last, pin, store.settings().get(_ACTIVE, ""))


def _ask_gateway(principal: str, session: str) -> _StoreView:
    """What a gateway of this home knows of the session; nothing where none runs, or none answers at once."""
    from http.client import HTTPException
    from urllib.parse import urlencode

    from clew.cli.ui import UnixConnection

    for gateway in running_gateways(home_of(os.environ)):
        connection = UnixConnection(gateway.socket, _GATEWAY_SECONDS)
        try:
            connection.request("GET", f"/api/status/session?{urlencode({'session': session, 'principal': principal})}")
            return msgspec.json.decode(connection.getresponse().read(), type=_StoreView)
        except (OSError, HTTPException, msgspec.MsgspecError):
            continue
        finally:
            connection.close()
    return _StoreView()


def _backend_in_use(chosen: str) -> str:
    """The backend that the gateway of this client reports, found by the address that the client has, or that all gateways
    report; and the chosen one, where that is another. No gateway is asked: the reports are files."""
    gateways = running_gateways(home_of(os.environ))
    of_client = [each for each in gateways if each.url == os.environ.get("ANTHROPIC_BASE_URL", "").rstrip("/")]
    used = frozenset[str]().union(*(each.in_use for each in of_client or gateways))
    if used <= {chosen}:
        return chosen
    return f"{' or '.join(sorted(name or 'none (503)' for name in used))} (chosen: {chosen})"


def _parts(last: Exchange | None, following: str) -> Iterator[str]:
    if last is None:
        yield f"clew → {following or 'no backend'}"
        return
    yield f"{last.asked_model} → {last.backend} {last.model}"
    counts = {name: count for name, count in thinking_counts(last).items() if count}
    if counts:
        yield "thinking " + ", ".join(f"{count} {name}" for name, count in counts.items())
    usage = last.usage
    if usage and usage.prompt:
        yield f"cache {100 * usage.cache_read // usage.prompt} %"
    if following and following != last.backend:
        yield f"next: {following}"
