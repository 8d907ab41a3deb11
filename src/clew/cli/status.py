"""`clew status`: what is active and who said so, what runs, what is kept, and how the last requests went.

All of it is read from the home directory: the config, the registry of gateways, what their processes report, the store. No
gateway is asked, so it works when none answers. What is broken is part of the status, and makes the exit code.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final

import click
import msgspec
from msgspec import Struct

from clew.cli.command import json_option, principal_option, report_errors
from clew.cli.installation import (
    ActiveBackend,
    Installation,
    ThreadPin,
    active_in_use,
    active_of,
    active_text,
    chosen_rules,
    find_installation,
    pin_lines,
    pins_in,
    rule_text,
    store_for_reading,
    unknown_text,
)
from clew.cli.output import Page, TextLine, TextTable, plural, print_result, printable, printable_table
from clew.cli.status_blocks import blocks_page
from clew.cli.threads import exchange_lines
from clew.errors import StoreError
from clew.exchange.redact import with_redacted_tries
from clew.model.turn import Exchange
from clew.settings.key_sources import UnsetVariable, unset_variables
from clew.settings.processes import ProcessReport, running_gateways
from clew.settings.registry_reports import registry_reports
from clew.settings.rollout import unknown_backend
from clew.settings.values import RoutingRule
from clew.settings.variables import BuildVariable
from clew.store import Store
from clew.store.spool import Spool
from clew.store.text import format_size, format_time
from clew.store.values import GatewayProcess, Statistics

LAST: Final = 5
LONG_LOG: Final = 64 << 20
"""A log of the store with so many bytes cannot be folded back into it, because a process keeps it in use."""


class StoreStatus(Struct, frozen=True, kw_only=True):
    """The store, seen from outside: `state` is "none", "ok" or "unusable"."""

    file: str
    state: str
    bytes: int = 0
    log_bytes: int = 0
    waiting: int = 0
    """Turns that are on this machine alone, because a shared database has not taken them yet."""
    why: str = ""


class GatewayStatus(Struct, frozen=True, kw_only=True):
    """A gateway that runs, the backend that it sends to, and the settings that its processes have applied."""

    name: str
    pid: int
    url: str
    admin_url: str
    started: float
    active: ActiveBackend | None
    model: str = ""
    """The model that its backend is asked for, where the command that started it says so."""
    processes: tuple[ProcessReport, ...] = ()


class StatusReport(Struct, frozen=True, kw_only=True):
    """The whole status; this is what `--json` prints."""

    active: ActiveBackend | None
    chosen: tuple[RoutingRule, ...] = ()
    """For a part of the requests: a family of models, or all sub-agents."""
    pins: tuple[ThreadPin, ...] = ()
    """Threads that stay with a backend, whatever is active."""
    config: str
    problem: str
    unset: tuple[UnsetVariable, ...] = ()
    """Variables for keys that are not set here: a gateway that starts here has their backends disabled."""
    variables: tuple[BuildVariable, ...] = ()
    """Variables that decide what a gateway that starts here puts into requests."""
    gateways: tuple[GatewayStatus, ...]
    shared: tuple[GatewayProcess, ...] = ()
    """The processes of all gateways that share the store, on whichever machine; none for a store in a file."""
    store: StoreStatus
    thinking: Statistics | None = None
    last: tuple[Exchange, ...] = ()


@click.command(short_help="Show the active backend, the running gateways and the last requests.")
@principal_option
@click.option("--blocks", is_flag=True, help='With `policy = "session"`: show its table of blocks instead.')
@json_option
@click.pass_context
def status(ctx: click.Context, principal: str, blocks: bool, json_: bool) -> None:
    """Show the active backend and where that choice comes from, the running gateways, the store, and the last requests.

    The counts of thinking blocks: "confirmed" blocks came back from a client, "unconfirmed" ones have not yet. A "dormant"
    block was in no request for a while; it is still valid when it comes back. An "unknown" block came in a request, but was
    never recorded. Blocks of other backends are kept until their backend is active again.

    \b
    Examples:
      clew status
      clew status --json | jq .active.backend
      clew status --blocks            with `policy = "session"`: the table of its registry

    Exit status: 0 ok, 1 the store cannot be read, 5 the config cannot be used. A backend whose variable is not set here is
    listed; the others work.
    """
    with report_errors():
        installation = find_installation()
        if blocks:
            tables = tuple(registry_reports(installation.home))
            print_result(tables, blocks_page(tables), as_json=json_)
            return
        try:
            with store_for_reading(installation, says_problem=False) as store:
                found = _read_status(installation, store, principal)
        except StoreError as error:
            kept = StoreStatus(file=installation.described_store, state="unusable", why=str(error))
            found = _without_threads(installation, None, kept)
            found = msgspec.structs.replace(found, active=_as_far_as_known(found.active))
        waiting = len(Spool(installation.home.root / "spool").waiting())
        found = msgspec.structs.replace(found, store=msgspec.structs.replace(found.store, waiting=waiting))
    print_result(found, _page(found), as_json=json_)
    ctx.exit(5 if found.problem else 1 if found.store.state == "unusable" else 0)


def _as_far_as_known(active: ActiveBackend | None) -> ActiveBackend | None:
    """The active backend where the store cannot say what was chosen: what running gateways use, else the settings."""
    if active is None or not active.requested:
        return active and msgspec.structs.replace(active, source=f"{active.source}, unless `clew use` chose another")
    return msgspec.structs.replace(
        active, source="as running gateways say", requested="" if active.backend else active.requested
    )


def _read_status(installation: Installation, store: Store | None, principal: str) -> StatusReport:
    if store is None:
        return _without_threads(installation, None, StoreStatus(file=installation.described_store, state="none"))
    size = store.size()
    kept = StoreStatus(file=store.describe(), state="ok", bytes=size.bytes, log_bytes=size.log_bytes)
    found = _without_threads(installation, store, kept)
    active = (found.active.requested or found.active.backend) if found.active else ""
    return msgspec.structs.replace(
        found,
        shared=tuple(store.gateways()),
        pins=pins_in(store, principal),
        thinking=store.statistics(principal, backend=active, now=time.time()),
        last=tuple(map(with_redacted_tries, store.exchanges(principal, limit=LAST)[::-1])),
    )


def _without_threads(installation: Installation, store: Store | None, kept: StoreStatus) -> StatusReport:
    """The status without what the store holds of conversations."""
    active, loaded = active_of(installation, store), installation.loaded
    gateways = [(each, active_of(installation, store, each.name)) for each in running_gateways(installation.home)]
    following = [each for each, own in gateways if own and not own.is_its_own]
    return StatusReport(
        active=active_in_use(active, following) if active else None,
        chosen=chosen_rules(store),
        config=str(loaded.file or "") if loaded else "",
        problem=installation.problem,
        unset=unset_variables(loaded.file, os.environ) if loaded and loaded.file else (),
        variables=loaded.variables if loaded else (),
        gateways=tuple(
            GatewayStatus(
                name=each.name,
                pid=each.pid,
                url=each.url,
                admin_url=each.admin_url,
                started=each.started,
                active=active_in_use(own, [each]) if own else None,
                model=each.model if own and own.backend == each.choice else "",
                processes=each.processes,
            )
            for each, own in gateways
        ),
        store=kept,
    )


# For people


def _page(found: StatusReport) -> Page:
    last = [TextLine("last requests (`clew log` has more of them)")]
    for exchange in found.last:
        last += [TextLine(f"  {line.text}", line.tone) for line in exchange_lines(exchange)]
    if not found.last:
        none = TextLine("No requests yet. Begin with `clew run -- claude`, or point a client at `clew serve`.", "quiet")
        last = [none] if found.store.state != "unusable" else []
    nothing = "unknown, because the store cannot be read" if found.store.state == "unusable" else "no blocks recorded yet"
    counted, thinking = found.thinking, [TextLine(nothing, "quiet")]
    if counted and (counted.total or counted.unknown):
        thinking = [
            TextLine(f"{plural(counted.total, 'block')}: {counted.confirmed} confirmed, {counted.unconfirmed} unconfirmed"),
            TextLine(f"{counted.current_session} of the active backend, {counted.old_session} of others"),
            TextLine(f"{counted.dormant} dormant, {counted.unknown} unknown"),
        ]
    return [
        *_labelled("active", _active_lines(found)),
        *_labelled("config", _config_lines(found)),
        *_labelled("store", _store_lines(found.store)),
        *_shared_lines(found.shared),
        *_labelled("thinking", iter(thinking)),
        *_gateway_lines(found.gateways),
        *last,
    ]


def _labelled(label: str, lines: Iterator[TextLine]) -> Iterator[TextLine]:
    for index, line in enumerate(lines):
        yield TextLine(f"{label if index == 0 else '':10}{printable(line.text)}", line.tone)


def _active_lines(found: StatusReport) -> Iterator[TextLine]:
    if found.active is None:
        yield TextLine("unknown: the config cannot be used", "bad")
        return
    yield TextLine(active_text(found.active), "bad" if found.active.requested else "head")
    if found.active.is_unknown:
        yield TextLine(unknown_text(found.active), "bad")
    for rule in found.chosen:
        yield TextLine(rule_text(rule))
    yield from pin_lines(found.pins)


def _config_lines(found: StatusReport) -> Iterator[TextLine]:
    if found.problem:
        for line in found.problem.splitlines():
            yield TextLine(line, "bad")
        yield TextLine("running gateways keep the settings that they had; `clew config check` lists the mistakes", "quiet")
    else:
        yield TextLine(found.config or "none, and none is needed: `clew config init` writes one")
    for each in found.unset:
        variable = f"line {each.line}: the variable {each.variable} is not set here"
        yield TextLine(f"{variable}, so {each.backend} is disabled here", "bad")
    for each in found.variables:
        yield TextLine(each.says, "bad" if each.is_bad else "")
    if (found.unset or found.variables) and found.gateways:
        yield TextLine("a running gateway has the variables it was started with", "quiet")


def _store_lines(kept: StoreStatus) -> Iterator[TextLine]:
    if kept.state == "none":
        yield TextLine(f"{kept.file}: nothing is kept yet" if kept.file else "off: nothing is kept", "quiet")
    elif kept.state == "unusable":
        yield TextLine(kept.why, "bad")
    else:
        yield TextLine(f"{kept.file}, {format_size(kept.bytes + kept.log_bytes)}, ok")
    if kept.waiting:
        waiting = f"{plural(kept.waiting, 'turn')} on this machine alone"
        yield TextLine(f"{waiting}; a running gateway sends what waits when the database takes it", "bad")
    if kept.log_bytes > LONG_LOG:
        size = format_size(kept.log_bytes)
        yield TextLine(
            f"its write-ahead log has {size}: another process reads without end; find that process and end it", "bad"
        )


def _shared_lines(shared: tuple[GatewayProcess, ...]) -> Iterator[TextLine | TextTable]:
    if not shared:
        return
    most, configs = max(each.taken for each in shared), {each.config for each in shared}
    rows = [
        (
            each.name,
            each.machine,
            str(each.pid),
            each.address,
            each.active,
            each.version,
            each.config[:8],
            "" if each.taken == most else "behind",
        )
        for each in shared
    ]
    yield TextLine("gateways on this store")
    yield printable_table(("name", "machine", "pid", "address", "active", "version", "config", ""), rows)
    if len(configs) > 1:
        yield TextLine("  their config files differ", "bad")


def _gateway_lines(gateways: tuple[GatewayStatus, ...]) -> Iterator[TextLine | TextTable]:
    if not gateways:
        yield from _labelled("gateways", iter([TextLine("none is running: `clew serve`, or `clew run -- claude`", "quiet")]))
        return
    rows: list[tuple[str, ...]] = []
    problems: dict[str, None] = {}
    for each in gateways:
        active, cell = each.active, "unknown"
        if active is not None:
            now = f"{active.backend or 'none'}, not {active.requested}" if active.requested else active.backend
            cell = now + (f", model {each.model}" if each.model else "") + (" (its own)" if active.is_its_own else "")
        rows.append((each.name, str(each.pid), each.url, cell, format_time(each.started)))
        for applied in (process.applied for process in each.processes if process.applied):
            if not applied.in_use:
                problems[f"  {each.name}: {unknown_backend(applied, applied.active)}"] = None
            elif applied.problem:
                problems[f"  {each.name}: it still uses older settings: {applied.problem}"] = None
    yield TextLine("gateways")
    yield printable_table(("name", "pid", "for clients", "active", "since"), rows)
    yield from (TextLine(printable(problem), "bad") for problem in problems)
