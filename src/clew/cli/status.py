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

from clew.cli.active import Active, active_of, chosen_in, in_use, said_in_use, said_of, said_unknown
from clew.cli.endings import told
from clew.cli.exchange_lines import at_time, lines_of
from clew.cli.json_output import say_json
from clew.cli.kept import Place, opened, place, principal_option
from clew.cli.pages import Line, Page, Table, printable, show
from clew.cli.pins import Pin, pin_lines, pins_in
from clew.engine.told_tries import with_told_tries
from clew.errors import StoreError
from clew.settings.following import unknown_backend
from clew.settings.processes import ProcessReport, RunningGateway, running_gateways
from clew.settings.unset import Unset, unset_variables
from clew.settings.values import Rule
from clew.store import Store
from clew.store.size import size_in_words
from clew.store.values import Exchange, Statistics

__all__ = ["status"]

LAST: Final = 5
LONG_LOG: Final = 64 << 20
"""Bytes of the store's log from which on something is in its way."""


class Kept(Struct, frozen=True, kw_only=True):
    """The store, seen from outside: `state` is "none", "ok" or "unusable"."""

    file: str
    state: str
    bytes: int = 0
    log_bytes: int = 0
    why: str = ""


class Gateway(Struct, frozen=True, kw_only=True):
    """One that runs, what it sends to, and the settings that its processes have applied."""

    name: str
    pid: int
    url: str
    admin_url: str
    started: float
    active: Active | None
    processes: tuple[ProcessReport, ...] = ()


class Status(Struct, frozen=True, kw_only=True):
    """All of it; this is what `--json` prints."""

    active: Active | None
    chosen: tuple[Rule, ...] = ()
    """For a part of the requests: a family of models, or all sub-agents."""
    pins: tuple[Pin, ...] = ()
    """Threads that stay with a backend, whatever is active."""
    config: str
    problem: str
    unset: tuple[Unset, ...] = ()
    """Variables for keys that are not set here: a gateway that starts here has their backends disabled."""
    gateways: tuple[Gateway, ...]
    store: Kept
    thinking: Statistics | None = None
    last: tuple[Exchange, ...] = ()


@click.command(short_help="Say what is active, what runs, and how it goes.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
@click.pass_context
def status(ctx: click.Context, principal: str, json_: bool) -> None:
    """Say which backend is active and who said so, which gateways run, what is kept, and how the last requests went.

    Of the thinking blocks: those that a client sent back (confirmed) and those that none has sent yet; those of the active
    backend and those of others, which wait for it; those that no request held for a while (dormant, and valid when they
    return); and those that came in requests though nobody recorded them (unknown).

    \b
    Examples:
      clew status
      clew status --json | jq .active.backend

    Exit status: 0 ok, 1 the store cannot be read, 5 the config cannot be used. A backend whose variable is not set here is
    named, and does not count: the others work.
    """
    with told():
        found = _status(place(), principal)
    if json_:
        say_json(found)
    else:
        show(_page(found))
    ctx.exit(5 if found.problem else 1 if found.store.state == "unusable" else 0)


def _status(at: Place, principal: str) -> Status:
    try:
        with opened(at) as store:
            return _with(at, store, principal)
    except StoreError as error:
        kept = Kept(file=at.described_store, state="unusable", why=str(error))
        return _without(at, kept, None)


def _with(at: Place, store: Store | None, principal: str) -> Status:
    found = _without(at, _kept(at, store), store)
    if store is None:
        return found
    active = (found.active.requested or found.active.backend) if found.active else ""
    counted = store.statistics(principal, backend=active, now=time.time())
    last = map(with_told_tries, store.exchanges(principal, limit=LAST)[::-1])
    return msgspec.structs.replace(found, pins=pins_in(store, principal), thinking=counted, last=tuple(last))


def _without(at: Place, kept: Kept, store: Store | None) -> Status:
    """All but what the store holds of conversations."""
    active, there = active_of(at, store), [(each, active_of(at, store, each.name)) for each in running_gateways(at.home)]
    common = [each for each, own in there if own and not own.is_its_own]
    return Status(
        active=in_use(active, common) if active else None,
        chosen=chosen_in(store),
        config=str(at.loaded.file or "") if at.loaded else "",
        problem=at.problem,
        unset=unset_variables(at.loaded.file, os.environ) if at.loaded and at.loaded.file else (),
        gateways=tuple(_gateway(each, own) for each, own in there),
        store=kept,
    )


def _gateway(each: RunningGateway, active: Active | None) -> Gateway:
    return Gateway(
        name=each.name,
        pid=each.pid,
        url=each.url,
        admin_url=each.admin_url,
        started=each.started,
        active=in_use(active, [each]) if active else None,
        processes=each.processes,
    )


def _kept(at: Place, store: Store | None) -> Kept:
    if store is None:
        return Kept(file=at.described_store, state="none")
    size = store.size()
    return Kept(file=store.describe(), state="ok", bytes=size.bytes, log_bytes=size.log_bytes)


# For people


def _page(found: Status) -> Page:
    return [
        *_labelled("active", _active(found)),
        *_labelled("config", _config(found)),
        *_labelled("store", _store(found.store)),
        *_labelled("thinking", _thinking(found.thinking)),
        *_gateways(found.gateways),
        *_last(found),
    ]


def _labelled(label: str, lines: Iterator[Line]) -> Iterator[Line]:
    for index, line in enumerate(lines):
        yield Line(f"{label if index == 0 else '':10}{printable(line.text)}", line.tone)


def _active(found: Status) -> Iterator[Line]:
    if found.active is None:
        yield Line("unknown: the config cannot be used", "bad")
        return
    yield Line(said_in_use(found.active), "bad" if found.active.requested else "head")
    if found.active.is_unknown:
        yield Line(said_unknown(found.active), "bad")
    for rule in found.chosen:
        yield Line(said_of(rule))
    yield from pin_lines(found.pins)


def _config(found: Status) -> Iterator[Line]:
    if found.problem:
        for line in found.problem.splitlines():
            yield Line(line, "bad")
        yield Line("gateways that run go on with what they had; `clew config check` says the same", "quiet")
    else:
        yield Line(found.config or "none, and none is needed: `clew config init` writes one")
    for each in found.unset:
        yield Line(
            f"line {each.line}: the variable {each.variable} is not set here, so {each.backend} is disabled here", "bad"
        )
    if found.unset and found.gateways:
        yield Line("gateways that run have what they were started with", "quiet")


def _store(kept: Kept) -> Iterator[Line]:
    if kept.state == "none":
        yield Line(f"{kept.file}: nothing is kept yet" if kept.file else "off: nothing is kept", "quiet")
    elif kept.state == "unusable":
        yield Line(kept.why, "bad")
    else:
        yield Line(f"{kept.file}, {size_in_words(kept.bytes + kept.log_bytes)}, ok")
    if kept.log_bytes > LONG_LOG:
        yield Line(f"its log has {size_in_words(kept.log_bytes)}: a process reads without end, find and end it", "bad")


def _thinking(counted: Statistics | None) -> Iterator[Line]:
    if counted is None or not (counted.total or counted.unknown):
        yield Line("no blocks recorded yet", "quiet")
        return
    blocks = "block" if counted.total == 1 else "blocks"
    yield Line(f"{counted.total} {blocks}: {counted.confirmed} confirmed, {counted.unconfirmed} unconfirmed")
    yield Line(f"{counted.current_session} of the active backend, {counted.old_session} of others")
    yield Line(f"{counted.dormant} dormant, {counted.unknown} unknown")


def _gateways(gateways: tuple[Gateway, ...]) -> Iterator[Line | Table]:
    if not gateways:
        yield from _labelled("gateways", iter([Line("none runs: `clew serve`, or `clew run -- claude`", "quiet")]))
        return
    rows = [(each.name, str(each.pid), each.url, _sends_to(each), at_time(each.started)) for each in gateways]
    yield Line("gateways")
    yield Table(("name", "pid", "for clients", "active", "since"), tuple(tuple(map(printable, row)) for row in rows))
    for each in gateways:
        yield from (Line(printable(f"  {each.name}: {said}"), "bad") for said in dict.fromkeys(_problems(each)))


def _sends_to(gateway: Gateway) -> str:
    active = gateway.active
    if active is None:
        return "unknown"
    now = f"{active.backend or 'none'}, not {active.requested}" if active.requested else active.backend
    return now + (" (its own)" if active.is_its_own else "")


def _problems(gateway: Gateway) -> Iterator[str]:
    """Why it has not applied what was chosen, or the newest settings."""
    for each in gateway.processes:
        if each.applied and not each.applied.in_use:
            yield unknown_backend(each.applied, each.applied.active)
        elif each.applied and each.applied.problem:
            yield f"it goes on with older settings: {each.applied.problem}"


def _last(found: Status) -> Iterator[Line]:
    if not found.last:
        if found.store.state != "unusable":
            yield Line("No requests yet. Begin with `clew run -- claude`, or point a client at `clew serve`.", "quiet")
        return
    yield Line("last requests (`clew log` has more of them)")
    for exchange in found.last:
        yield from (Line(f"  {line.text}", line.tone) for line in lines_of(exchange))
