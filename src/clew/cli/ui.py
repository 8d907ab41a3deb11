"""`clew ui`: a new link to the web UI of a gateway that runs.

The link comes over the gateway's unix socket, which only its owner can open; it holds a code that works once. No browser
is started without --open: on a server it would be one in the terminal.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from typing import TYPE_CHECKING, Final

import click

from clew.cli.command import Failed, json_option, report_errors
from clew.cli.output import print_json

if TYPE_CHECKING:
    from clew.settings.processes import RegisteredGateway


_SECONDS: Final = 5.0


@click.command(short_help="Print a link to the web UI of a running gateway.")
@click.option("--gateway", metavar="NAME", help="The gateway, as `clew status` lists it. Default: the newest.")
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
@json_option
def ui(gateway: str | None, opens: bool, json_: bool) -> None:
    """Print a link that lets a browser into the web UI: once, within ten minutes, and then for twelve hours.

    \b
    Examples:
      clew ui
      clew ui --open

    Exit status: 0 ok, 1 no gateway runs or it does not answer, 2 no gateway of this name.
    """
    from clew.settings.home import home_of
    from clew.settings.processes import registered_gateways

    with report_errors():
        gateways = [each for each in registered_gateways(home_of(os.environ)) if each.socket]
        if not gateways:
            raise Failed("no gateway with a web UI is running: `clew serve` starts one and prints a link")
        chosen = max(
            (each for each in gateways if gateway in (None, each.name)), key=lambda each: each.started, default=None
        )
        if chosen is None:
            names = ", ".join(each.name for each in gateways)
            raise click.UsageError(f"No gateway {gateway!r} is running. Running: {names}.")
        url = _request_link(chosen)
    print_json({"gateway": chosen.name, "url": url}) if json_ else click.echo(url)
    if opens:
        click.launch(url)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, seconds: float = _SECONDS) -> None:
        super().__init__("clew", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _request_link(gateway: RegisteredGateway) -> str:
    connection = UnixConnection(gateway.socket)
    try:
        connection.request("POST", "/api/login", b"{}", {"content-type": "application/json"})
        return str(json.loads(connection.getresponse().read())["url"])
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        raise Failed(
            f"the gateway {gateway.name} does not answer on {gateway.socket}: {error}; run `clew doctor`"
        ) from error
    finally:
        connection.close()
