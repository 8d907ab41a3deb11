"""`clew use`: switch the backend while everything runs, or list what there is.

The choice goes into the store. Then every gateway of this home is woken, and the command ends when each of their processes
has applied it, or says which has not. A thread can stay with a backend, a gateway can have a choice of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec import Struct, structs

from clew.backends.names import FAMILIES, Family
from clew.cli.command import (
    Failed,
    fail_if_behind,
    followed_line,
    json_option,
    operator,
    principal_option,
    report_errors,
    unknown_backend,
)
from clew.cli.installation import (
    ActiveBackend,
    Installation,
    ThreadPin,
    active_by_settings,
    active_of,
    chosen_rules,
    find_installation,
    find_thread,
    pin_lines,
    pins_in,
    rule_text,
    store_for_reading,
    store_for_writing,
    unknown_text,
)
from clew.cli.output import Page, TextLine, print_result, printable, printable_table
from clew.engine.choices import ACTIVE, AGENTS, choice_target, family_choice
from clew.settings.processes import RegisteredGateway, registered_gateways
from clew.settings.rollout import Rollout, roll_out_choice, roll_out_pin, roll_out_shared
from clew.settings.values import RoutingRule
from clew.store import Store

WRITE_SECONDS: Final = 10.0


class Switched(Struct, frozen=True, kw_only=True):
    """What `use` did, and which gateways have applied it. `thread` and `gateway` are "" where it was for all."""

    active: str
    before: str
    source: str
    thread: str = ""
    gateway: str = ""
    family: str = ""
    agents: bool = False
    pins: tuple[ThreadPin, ...] = ()
    """Threads that do not follow, where it was for all."""
    followed: Rollout = Rollout()
    disabled: str = ""
    """Why the backend cannot be called from here, where no gateway runs that could have what is missing."""


class UseScope(Struct, frozen=True, kw_only=True):
    """For which requests: for all, unless one of these is given."""

    thread: str | None = None
    gateway: str | None = None
    family: Family = ""
    agents: bool = False

    @property
    def setting(self) -> str:
        """The name of the choice in the store."""
        return AGENTS if self.agents else family_choice(self.family) if self.family else ACTIVE


@click.command(short_help="Switch the backend, for all requests or for some; or list the backends.")
@click.argument("name", required=False)
@click.option("--thread", metavar="THREAD", help="Pin only this thread to it. `last`: the newest.")
@click.option("--gateway", metavar="NAME", help="Only the gateway of this name, as `clew status` lists it.")
@click.option("--family", type=click.Choice(FAMILIES), help="Only requests for a model of this family.")
@click.option("--agents", is_flag=True, help="Only sub-agents.")
@click.option("--reset", is_flag=True, help="Undo the choice: the settings file decides again.")
@principal_option
@json_option
def use(name: str | None, reset: bool, principal: str, json_: bool, family: Family | None, **part: Any) -> None:
    """Send all requests to the backend NAME, from the next one on. Without NAME: list the backends, and show where the
    thread, gateway, family or the sub-agents go.

    The command waits, two seconds at most, until every running gateway has applied the choice, and names each process that
    has not, with the reason. A gateway that does not know the backend answers 503; it never uses another one instead.

    Running requests are not interrupted, and conversations continue: each model gets its own reasoning back, and never
    another model's. The choice overrides the config file until --reset, also after a restart.

    \b
    Examples:
      clew use                      list the backends, and show the active one
      clew use glm                  send everything to glm
      clew use claude --thread last pin the newest conversation to claude
      clew use glm --agents         send only sub-agents to glm
      clew use grok --family haiku  send requests for a small model to grok
      clew use --reset              undo: the config file decides again

    Exit status: 0 done, 1 failed or a gateway has not applied it, 2 wrong usage or unknown name, 5 the config is unusable.
    """
    scope = UseScope(family=family or "", **part)
    if name is not None and reset:
        raise click.UsageError("--reset undoes a choice: use it without NAME.")
    given = [f"--{field}" for field in UseScope.__struct_fields__ if getattr(scope, field) not in (None, "", False)]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} are different choices: use one of them.")
    with report_errors():
        installation = find_installation()
        if name is None and not reset:
            listed = _list_backends(installation, scope, principal)
            print_result(listed, _list_page(listed, scope), as_json=json_)
            return
        done = _switch(installation, name, scope, principal)
        if not done.followed.gateways and (
            missing := (installation.loaded and installation.loaded.disabled.get(done.active))
        ):
            done = structs.replace(done, disabled=missing.says)  # a gateway that runs has said itself what it lacks
        print_result(done, _switched_page(done, installation), as_json=json_)
        fail_if_behind(done.followed)


# Switching


def _switch(installation: Installation, name: str | None, scope: UseScope, principal: str) -> Switched:
    if name is not None:
        known = {*installation.usable.settings.backends, *installation.usable.disabled}
        if name not in known:
            raise unknown_backend(name, known)
    with store_for_writing(installation) as store:
        if scope.thread is not None:
            thread, pin = find_thread(store, principal, scope.thread), name or ""
            if not store.pin(principal, thread.id, pin).result(WRITE_SECONDS):
                raise Failed("the thread was just deleted: `clew show` lists the threads")
            target = choice_target(thread=thread.id)
            store.audit.note(operator(), "thread pinned", target, thread.pin, pin).result(WRITE_SECONDS)
            followed = roll_out_pin(installation.home, pin, store.refresh_pins())
            followed = roll_out_shared(installation.home, store, followed)
            source = "clew use --thread"
            return Switched(active=pin, before=thread.pin, source=source, thread=thread.id, followed=followed)
        if scope.gateway is not None and name is not None:
            _check_gateway(scope.gateway, registered_gateways(installation.home))
        return _choose(installation, store, name, scope, principal)


def _choose(installation: Installation, store: Store, name: str | None, scope: UseScope, principal: str) -> Switched:
    gateway, part_before = scope.gateway or "", store.settings(scope.gateway or "").get(scope.setting, "")
    before = active_of(installation, store, gateway)
    store.set(scope.setting, name, scope=gateway, at=time.time()).result(WRITE_SECONDS)
    target = choice_target(gateway=gateway, family=scope.family, agents=scope.agents)
    store.audit.note(operator(), "backend chosen", target, part_before, name or "").result(WRITE_SECONDS)
    if scope.setting != ACTIVE:
        followed = roll_out_choice(installation.home, store.settings, of_part=name or "")
        followed = roll_out_shared(installation.home, store, followed)
        return Switched(
            active=name or "",
            before=part_before,
            source="clew use",
            family=scope.family,
            agents=scope.agents,
            followed=followed,
        )
    now = active_of(installation, store, gateway)
    followed = roll_out_choice(installation.home, store.settings, gateway=gateway)
    return Switched(
        active=now.backend if now else "",
        before=before.backend if before else "",
        source=now.source if now else "",
        gateway=gateway,
        pins=pins_in(store, principal),
        followed=followed if gateway else roll_out_shared(installation.home, store, followed),
    )


def _check_gateway(name: str, gateways: Sequence[RegisteredGateway]) -> None:
    names = [gateway.name for gateway in gateways]
    if name not in names:
        there = f"Running: {', '.join(names)}" if names else "Start one with `clew serve`"
        raise click.UsageError(f"No gateway {name!r} is running. {there}.")


def _switched_page(done: Switched, installation: Installation) -> Page:
    was = f"; before: {done.before}" if done.before and done.before != done.active else ""
    if done.thread:
        now = f"stays with {done.active}" if done.active else "follows the active backend again"
        back = f" `clew use --reset --thread {done.thread}` removes the pin." if done.active else ""
        page = [TextLine(printable(f"thread {done.thread} {now}{was}.{back}"))]
    elif done.family or done.agents:
        now = f"{_requests_text(done)} go to {done.active}" if done.active else _unchosen_text(done)
        page = [TextLine(printable(f"{now}{was}.")), TextLine(followed_line(done.followed), "quiet")]
    else:
        whose = f" for gateway {done.gateway}" if done.gateway else ""
        was = f"before: {done.before}" if done.before != done.active else "as before"
        state = "chosen" if done.followed.behind else "active"  # "active" is only what every process uses
        apart: list[TextLine] = []
        if not done.gateway:  # gateways with a choice of their own do not follow a choice for all
            with store_for_reading(installation) as store:
                names = [each.name for each in registered_gateways(installation.home)]
                own = [(each, active_of(installation, store, each)) for each in names]
            stays = "Gateway {0} stays with {1.backend} ({1.source}): `clew use NAME --gateway {0}` switches it."
            lines = [stays.format(each, active) for each, active in own if active and active.is_its_own]
            apart = [TextLine(printable(line), "quiet") for line in lines]
        page = [
            TextLine(printable(f"{done.active} is {state}{whose} ({done.source}); {was}.")),
            TextLine(followed_line(done.followed, len(apart)), "quiet"),
            *apart,
            *pin_lines(done.pins),
        ]
    if done.disabled:
        until = "a gateway that starts here answers 503 for this backend, until it is set"
        page.append(TextLine(printable(f"Here, {done.disabled}: {until}."), "bad"))
    return page


def _unchosen_text(part: Switched | UseScope) -> str:
    return f"{_requests_text(part)} go to the active backend, or where the rules of the config send them"


def _requests_text(part: Switched | UseScope) -> str:
    return "sub-agents" if part.agents else f"requests for {part.family}"


# Listing


class ListedBackend(Struct, frozen=True, kw_only=True):
    """A backend in the list that `clew use` prints."""

    name: str
    active: bool
    realm: str = ""
    dialect: str = ""
    model: str = ""
    auth: str = ""
    url: str = ""
    disabled: str = ""
    """Why it cannot be called from here; a gateway that runs may have what is missing."""


class BackendList(Struct, frozen=True, kw_only=True):
    """The backends, and what is chosen."""

    active: ActiveBackend
    backends: tuple[ListedBackend, ...]
    chosen: tuple[RoutingRule, ...] = ()
    pins: tuple[ThreadPin, ...] = ()
    """Threads that stay with a backend, whatever is active."""
    thread: str = ""
    pin: str = ""


def _list_backends(installation: Installation, scope: UseScope, principal: str) -> BackendList:
    loaded = installation.usable
    with store_for_reading(installation) as store:
        active = active_of(installation, store, scope.gateway or "") or active_by_settings(loaded)
        chosen = [
            rule
            for rule in chosen_rules(store)
            if scope.setting in (ACTIVE, AGENTS if rule.agent else family_choice(rule.family))
        ]
        pinned = find_thread(store, principal, scope.thread) if scope.thread is not None else None
        pins = pins_in(store, principal) if scope == UseScope() else ()
    if scope.gateway is not None and not active.is_its_own:
        _check_gateway(scope.gateway, registered_gateways(installation.home))
    rows: list[ListedBackend] = []
    for name, each in loaded.settings.backends.items():
        known = {field: getattr(each, field) for field in ("realm", "dialect", "model", "auth", "url")}
        why = loaded.disabled[name].says if name in loaded.disabled else ""
        rows.append(ListedBackend(name=name, active=name == active.backend, disabled=why, **known))
    for each in loaded.settings.disabled.values():  # their addresses are not known here either
        rows.append(ListedBackend(name=each.name, active=each.name == active.backend, disabled=each.says))
    return BackendList(
        active=active,
        backends=tuple(rows),
        chosen=tuple(chosen),
        pins=pins,
        thread=pinned.id if pinned else "",
        pin=pinned.pin if pinned else "",
    )


def _list_page(listed: BackendList, scope: UseScope) -> Page:
    rows = [("→" if row.active else "", row.name, row.model or "as asked", row.realm, row.url) for row in listed.backends]
    lines = [TextLine(printable(f"{listed.active.backend} is active ({listed.active.source})."))]
    if listed.active.is_unknown:
        lines.append(TextLine(printable(unknown_text(listed.active)), "bad"))
    lines += [TextLine(printable(f"{rule_text(rule)}.")) for rule in listed.chosen]
    if scope.setting != ACTIVE and not listed.chosen:
        lines.append(TextLine(f"{_unchosen_text(scope)}."))
    lines += pin_lines(listed.pins)
    if listed.thread:
        where = f"stays with {listed.pin}." if listed.pin else "follows the active backend."
        lines.append(TextLine(printable(f"thread {listed.thread} {where}")))
    lines += [TextLine(printable(f"Here, {row.disabled}."), "bad") for row in listed.backends if row.disabled]
    return [
        printable_table(("", "backend", "model", "realm", "url"), rows),
        TextLine(""),
        *lines,
        TextLine("Switch with `clew use NAME`; running conversations continue.", "quiet"),
    ]
