"""What runs now: the gateways, the ports, the clock."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from clew.admin.checkup.findings import CheckFinding, Circumstances, broken, fine, warning
from clew.errors import SettingsInvalid, StoreError
from clew.gateway.plan import gateway_on, owner_of
from clew.settings.processes import running_gateways
from clew.settings.rollout import how_to_apply, unknown_backend
from clew.settings.values import GatewaySettings
from clew.store.reports import ClockDoubt

ANSWER_SECONDS: Final = 3.0
MOST_BYTES: Final = 1 << 20
OLDEST: Final = 1_780_000_000.0
"""Spring 2026: a clock before this is older than this program."""


def gateways(at: Circumstances) -> Iterator[CheckFinding]:
    """Each that is registered answers, knows the backend that was chosen, and has taken the newest settings."""
    try:
        found = running_gateways(at.home)
    except SettingsInvalid as error:
        yield broken(str(error), "mend the rights of that directory")
        return
    if not found:
        yield fine("none runs")
    for each in found:
        ready = _readiness(each.url)
        if ready is None:
            yield broken(
                f"{each.name} (pid {each.pid}) does not answer at {each.url}", f"kill {each.pid}, and start it again"
            )
            continue
        used = sorted(filter(None, each.in_use))
        sends_to = f" and sends to {' and '.join(used)}" if used else ""
        yield fine(f"{each.name} (pid {each.pid}) answers at {each.url}{sends_to}")
        for process in each.processes:
            if (applied := process.applied) and not applied.in_use:
                says = f"{each.name} (pid {process.pid}) answers 503: {unknown_backend(applied, applied.active)}"
                yield broken(says, how_to_apply(applied, applied.active))
        if ready.problem:
            yield broken(
                f"{each.name} (pid {each.pid}) goes on with its last settings: {ready.problem}",
                "repair the settings file; the gateway reads it again by itself",
            )


class _Readiness(Struct):
    status: str
    problem: str = ""


def _readiness(url: str) -> _Readiness | None:
    """What a gateway says of itself; None if it does not answer."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return msgspec.json.decode(connection.getresponse().read(MOST_BYTES), type=_Readiness)
    except (OSError, http.client.HTTPException, msgspec.MsgspecError):
        return None
    finally:
        connection.close()


def ports(at: Circumstances) -> Iterator[CheckFinding]:
    """Free, or a gateway's own."""
    settings = at.loaded.settings.gateway if at.loaded else GatewaySettings()
    for name, port in {"port": settings.port, "admin_port": settings.admin_port}.items():
        if port == 0:
            yield fine(f"{name}: a free one is taken")
        elif owner := gateway_on(port, at.home):
            yield fine(f"{port} is the gateway {owner.name}'s")
        elif _is_free(settings.host if name == "port" else "127.0.0.1", port):
            yield fine(f"{port} is free")
        else:
            option = f"--{name.replace('_', '-')}"
            yield warning(
                f"{port} is used by {owner_of(port, at.home)}", f"choose another: `[gateway] {name} = …`, or `{option}`"
            )


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def clock(at: Circumstances) -> Iterator[CheckFinding]:
    """Certificates, retention and `retry-after` need a clock that is about right."""
    if at.now < OLDEST:
        yield broken("this machine's clock is years behind", "set it, or let it be set over the network")
        return
    doubt: ClockDoubt | None = None
    with suppress(StoreError):  # a store that cannot be read has a check of its own
        doubt = at.store.clock_doubt(at.now) if at.store is not None and at.store.is_readable() else None
    if doubt is not None:
        yield warning(str(doubt), "set this machine's clock; if it is right, there is nothing to do")
    else:
        yield fine("plausible")
