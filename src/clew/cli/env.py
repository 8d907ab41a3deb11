"""`clew env`: what a client needs to find a gateway that runs, to be pasted or evaluated.

The key itself is never printed: a shell reads it from where it is.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from clew.cli.command import report_errors

if TYPE_CHECKING:
    from clew.settings.home import Home
    from clew.settings.load import Loaded


_EXAMPLES = """\b
Examples:
  eval "$(clew env --shell)"                        clients started in this shell use the gateway
  clew env --codex >> ~/.codex/config.toml          if that file has no tables yet; otherwise paste the first line at its top
  clew env --opencode                               a provider for opencode.json
  clew env --ide vscode                             for Claude Code in an editor: the lines to paste, and the file

\b
Exit status: 0 ok, 2 no gateway of this name, 5 the config cannot be used.
"""


@click.command(epilog=_EXAMPLES, short_help="Print the settings that connect a client to a running gateway.")
@click.option("--shell", "form", flag_value="shell", default="shell", help="Lines for a shell. This is the default.")
@click.option("--codex", "form", flag_value="codex", help="A provider for Codex, for its config.toml.")
@click.option("--opencode", "form", flag_value="opencode", help="A provider for opencode, for its opencode.json.")
@click.option(
    "--ide",
    type=click.Choice(["vscode", "cursor", "windsurf", "zed", "jetbrains"]),
    help="Settings for Claude Code in this editor.",
)
@click.option("--gateway", metavar="NAME", help="The gateway, as `clew status` lists it. Default: the newest.")
def env(form: str, ide: str | None, gateway: str | None) -> None:
    """Print the settings that connect a client to a gateway: variables for a shell, or a part of the client's configuration.

    If no gateway runs, it is the address at which `clew serve` will listen.
    """
    from clew.gateway.client import codex_config, opencode_config, shell_lines
    from clew.settings.home import home_of
    from clew.settings.load import load
    from clew.settings.own_keys import KEY_VARIABLE

    with report_errors():
        home, loaded = home_of(os.environ), load(None, os.environ, keys=False)
        url = _url(home, loaded, gateway)
    given = os.environ.get(KEY_VARIABLE, "").strip()
    if ide is not None:
        _print_editor(ide, home, loaded, url, given)
        return
    expression = f"${KEY_VARIABLE}" if given else f"$(cat {shlex.quote(str(home.key))})"
    if form == "shell":
        click.echo("\n".join(shell_lines(loaded.settings, url, expression)))
        return
    click.echo((codex_config if form == "codex" else opencode_config)(url, KEY_VARIABLE), nl=False)
    if not given:
        click.echo(f'Start it where its key is: export {KEY_VARIABLE}="{expression}"', err=True)


def _print_editor(ide: str, home: Home, loaded: Loaded, url: str, key: str) -> None:
    from clew.gateway.editors import EDITORS, editor_notes, editor_text
    from clew.settings.own_keys import KEY_VARIABLE

    editor, settings = EDITORS[ide], loaded.settings
    click.echo(editor_text(editor, settings, url, key, home.key, sys.platform), nl=False)
    for note in editor_notes(editor, settings, key, KEY_VARIABLE):
        click.echo(note, err=True)


def _url(home: Home, loaded: Loaded, wanted: str | None) -> str:
    """The address of the newest gateway, or of the gateway that is named; where none runs, of the next `clew serve`.

    Those of `clew run` come last: they end with their clients.
    """
    from clew.settings.processes import registered_gateways

    gateways = sorted(registered_gateways(home), key=lambda each: (not each.name.startswith("run-"), each.started))
    chosen = next((each for each in reversed(gateways) if wanted in (None, each.name)), None)
    if chosen is not None:
        return chosen.url
    if wanted is not None:
        names = ", ".join(each.name for each in gateways) or "none"
        raise click.UsageError(f"No gateway {wanted!r} is running. Running: {names}.")
    click.echo("No gateway is running. `clew serve` starts one at this address.", err=True)
    return f"http://127.0.0.1:{loaded.settings.gateway.port}"
