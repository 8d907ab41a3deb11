"""What `clew serve` says when it listens: how to call it, and where to look.

On a terminal the line to copy holds the key. Anywhere else (a journal, a container's log) it names where the key is: a log
is read by more people than a terminal.
"""

from __future__ import annotations

import os
import shlex
import sys

import msgspec

from clew.cli.active_backend import active_now
from clew.cli.output import visible_json
from clew.gateway.client import line_to_copy
from clew.gateway.plan import WILDCARDS
from clew.settings.gateway_key import KEY_VARIABLE
from clew.settings.home import CONFIG_VARIABLE, HOME_VARIABLE, Home, home_of
from clew.settings.load import Loaded, config_file
from clew.settings.running import Running
from clew.settings.values import Settings

__all__ = ["admin_line", "as_json", "greeting"]


def greeting(loaded: Loaded, url: str, key: str, home: Home, host: str) -> str:
    seen, settings = sys.stdout.isatty(), loaded.settings
    line = line_to_copy(settings, url, key if seen else _reference(key, home), expands=not seen)
    active = active_now(settings, home)
    names = [_named(name, active, settings) for name in (*settings.backends, *settings.disabled)]
    others = f", and on every other address of this machine ({host})" if host in WILDCARDS else ""
    switches = f"`{_command(loaded, home)} use NAME` switches"
    return f"clew listens on {url}{others}\n  {line}\nbackends: {', '.join(names)}; {switches}"


def _named(name: str, active: str, settings: Settings) -> str:
    said = [word for word, holds in (("active", name == active), ("disabled", name in settings.disabled)) if holds]
    return f"{name} ({', '.join(said)})" if said else name


def _command(loaded: Loaded, home: Home) -> str:
    """`clew`, with what a second shell has to be told: a demo may have a home of its own, and `--config` names a file."""
    said = {} if home.root == home_of(os.environ).root else {HOME_VARIABLE: str(home.root)}
    usual = config_file({**os.environ, **said})
    if loaded.file and (usual is None or loaded.file.absolute() != usual.absolute()):
        said[CONFIG_VARIABLE] = str(loaded.file.absolute())
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in said.items()), "clew"])


def admin_line(url: str, socket: str) -> str:
    """The link lets one browser in, once."""
    return f"look at it in a browser: {url}" if url else f"admin: {socket}"


def as_json(gateway: Running) -> str:
    """For scripts: where everything is, and no secret."""
    return visible_json(msgspec.json.encode(gateway)).decode()


def _reference(key: str, home: Home) -> str:
    return f"${KEY_VARIABLE}" if os.environ.get(KEY_VARIABLE, "").strip() == key else f"$(cat {shlex.quote(str(home.key))})"
