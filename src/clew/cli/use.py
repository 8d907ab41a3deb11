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
from clew.backends.row import Backend
from clew.cli.active import SETTING, Active, active_of, chosen_in, said_by_settings, said_of, said_unknown
from clew.cli.endings import Failed, told
from clew.cli.followed import end_behind, followed_line
from clew.cli.json_output import say_json
from clew.cli.kept import Place, opened, opened_to_write, place, principal_option, thread_named
from clew.cli.pages import Line, Page, Table, printable, show
from clew.cli.pins import Pin, pin_lines, pins_in
from clew.engine.choices import ACTIVE, AGENTS, family_choice
from clew.settings.following import Followed, choice_followed, pin_followed
from clew.settings.load import Loaded
from clew.settings.running import Running, running
from clew.settings.values import Disabled, Rule
from clew.store import Store

__all__ = ["use"]

WRITE_SECONDS: Final = 10.0


class Switched(Struct, frozen=True, kw_only=True):
    """What `use` did, and who has applied it. `thread` and `gateway` are "" where it was for all."""

    active: str
    before: str
    source: str
    thread: str = ""
    gateway: str = ""
    family: str = ""
    agents: bool = False
    pins: tuple[Pin, ...] = ()
    """Threads that do not follow, where it was for all."""
    followed: Followed = Followed()
    disabled: str = ""
    """Why the backend cannot be called from here, where no gateway runs that could have what is missing."""


class Part(Struct, frozen=True, kw_only=True):
    """For whom: for all that comes, unless one of these is said."""

    thread: str | None = None
    gateway: str | None = None
    family: Family = ""
    agents: bool = False

    @property
    def setting(self) -> str:
        """What the store calls the choice."""
        return AGENTS if self.agents else family_choice(self.family) if self.family else ACTIVE


@click.command(short_help="Switch the backend, for all or for a part; or list them.")
@click.argument("name", required=False)
@click.option("--thread", metavar="THREAD", help="Only this thread stays with it, whatever is active. `last`: the newest.")
@click.option("--gateway", metavar="NAME", help="Only the gateway of this name, as `clew status` lists it.")
@click.option("--family", type=click.Choice(FAMILIES), help="Only requests for a model of this family.")
@click.option("--agents", is_flag=True, help="Only sub-agents.")
@click.option("--reset", is_flag=True, help="Take the choice back: the settings decide again, or the active backend does.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def use(name: str | None, reset: bool, principal: str, json_: bool, family: Family | None, **part: Any) -> None:
    """Send all that comes to the backend NAME, from the next request on. Without NAME: list the backends, and say where the
    thread, gateway, family or the sub-agents go.

    When the command ends, every gateway that runs here has applied the choice; it waits for two seconds at most, and names
    each process that has not, with the reason. A gateway that does not know the backend answers 503 and asks no other.

    Requests under way are not disturbed, and conversations go on: what each model thought goes back to it, and to nobody
    else. The choice outranks the config file until --reset, and survives a restart.

    \b
    Examples:
      clew use                      what there is, and what is active
      clew use glm                  everything goes to glm
      clew use claude --thread last the newest conversation stays with claude
      clew use glm --agents         sub-agents go to glm, the conversation stays where it is
      clew use grok --family haiku  so do requests for a small model
      clew use --reset              as the config file says

    Exit status: 0 done, 1 failed or a gateway has not applied it, 2 wrong usage or unknown name, 5 the config is unusable.
    """
    only = Part(family=family or "", **part)
    _check(name, only, reset)
    with told():
        at = place()
        if name is None and not reset:
            _list(at, only, principal, json_)
        else:
            _say(_or_disabled(_switched(at, name, only, principal), at), at, json_)


def _check(name: str | None, part: Part, reset: bool) -> None:
    if name is not None and reset:
        raise click.UsageError("--reset takes a choice back: leave the name out.")
    said = [f"--{field}" for field in Part.__struct_fields__ if getattr(part, field) not in (None, "", False)]
    if len(said) > 1:
        raise click.UsageError(f"{' and '.join(said)} are different choices: give one of them.")


# Switching


def _switched(at: Place, name: str | None, part: Part, principal: str) -> Switched:
    known = {*at.usable.settings.backends, *at.usable.disabled} if name is not None else set[str]()
    if name is not None and name not in known:
        raise click.UsageError(f"There is no backend {name!r}. There are: {', '.join(sorted(known))}.")
    with opened_to_write(at) as store:
        if part.thread is not None:
            return _pinned(at, store, principal, part.thread, name or "")
        if part.gateway is not None and name is not None:
            _check_gateway(part.gateway, running(at.home))
        if part.setting != ACTIVE:
            return _chosen_for_part(at, store, name, part)
        return structs.replace(_chosen(at, store, name, part), pins=pins_in(store, principal))


def _pinned(at: Place, store: Store, principal: str, given: str, name: str) -> Switched:
    thread = thread_named(store, principal, given)
    _done(store.pin(principal, thread.id, name).result(WRITE_SECONDS))
    followed = pin_followed(at.home, name, store.refresh())
    return Switched(active=name, before=thread.pin, source="clew use --thread", thread=thread.id, followed=followed)


def _chosen(at: Place, store: Store, name: str | None, part: Part) -> Switched:
    gateway = part.gateway or ""
    before = active_of(at, store, gateway)
    store.set(SETTING, name, scope=gateway, at=time.time()).result(WRITE_SECONDS)
    now = active_of(at, store, gateway)
    return Switched(
        active=now.backend if now else "",
        before=before.backend if before else "",
        source=now.source if now else "",
        gateway=gateway,
        followed=choice_followed(at.home, store.settings, gateway=gateway),
    )


def _chosen_for_part(at: Place, store: Store, name: str | None, part: Part) -> Switched:
    before = store.settings().get(part.setting, "")
    store.set(part.setting, name, at=time.time()).result(WRITE_SECONDS)
    return Switched(
        active=name or "",
        before=before,
        source="clew use",
        family=part.family,
        agents=part.agents,
        followed=choice_followed(at.home, store.settings, of_part=name or ""),
    )


def _or_disabled(done: Switched, at: Place) -> Switched:
    """With what a gateway would lack that starts here. One that runs has said itself what it lacks."""
    missing = at.loaded.disabled.get(done.active) if at.loaded and not done.followed.gateways else None
    return structs.replace(done, disabled=missing.says) if missing else done


def _done(there: bool) -> None:
    if not there:
        raise Failed("the thread was deleted in this moment: `clew show` lists those that there are")


def _check_gateway(name: str, alive: Sequence[Running]) -> None:
    names = [gateway.name for gateway in alive]
    if name not in names:
        there = f"There are: {', '.join(names)}" if names else "None runs: `clew serve` starts one"
        raise click.UsageError(f"No gateway {name!r} runs. {there}.")


def _say(done: Switched, at: Place, json_: bool) -> None:
    if json_:
        say_json(done)
    else:
        show([*_said(done, at), *_said_disabled(done)])
    end_behind(done.followed)


def _said(done: Switched, at: Place) -> Page:
    if done.thread:
        return [Line(_said_of_thread(done))]
    if done.family or done.agents:
        return [Line(_said_of_part(done)), Line(followed_line(done.followed), "quiet")]
    apart = [Line(printable(said), "quiet") for said in _apart(at, done)]
    return [Line(_said_of_all(done)), Line(followed_line(done.followed, len(apart)), "quiet"), *apart, *pin_lines(done.pins)]


def _said_disabled(done: Switched) -> Page:
    until = "a gateway that starts here answers 503 for this backend, until it is set"
    return [Line(printable(f"Here, {done.disabled}: {until}."), "bad")] if done.disabled else []


def _said_of_all(done: Switched) -> str:
    """ "Active" is only what is in use: where a process is behind, it was chosen."""
    whose = f" for gateway {done.gateway}" if done.gateway else ""
    was = f"before: {done.before}" if done.before != done.active else "as before"
    return printable(f"{done.active} is {'chosen' if done.followed.behind else 'active'}{whose} ({done.source}); {was}.")


def _said_of_thread(done: Switched) -> str:
    now = f"stays with {done.active}" if done.active else "follows the active backend again"
    was = f"; before: {done.before}" if done.before and done.before != done.active else ""
    back = f" `clew use --reset --thread {done.thread}` lets it go." if done.active else ""
    return printable(f"thread {done.thread} {now}{was}.{back}")


def _said_of_part(done: Switched) -> str:
    now = f"{_whose(done)} go to {done.active}" if done.active else _usual(done)
    was = f"; before: {done.before}" if done.before and done.before != done.active else ""
    return printable(f"{now}{was}.")


def _usual(part: Switched | Part) -> str:
    return f"{_whose(part)} go where all others go, or the config's rules send them"


def _whose(part: Switched | Part) -> str:
    return "sub-agents" if part.agents else f"requests for {part.family}"


def _apart(at: Place, done: Switched) -> list[str]:
    """The gateways that were told something for themselves, and do not follow what is said to all."""
    if done.gateway:
        return []
    with opened(at) as store:
        own = [(gateway.name, active_of(at, store, gateway.name)) for gateway in running(at.home)]
    return [
        f"Gateway {name} stays with {active.backend} ({active.source}): `clew use NAME --gateway {name}` switches it."
        for name, active in own
        if active and active.is_its_own
    ]


# Listing


class Row(Struct, frozen=True, kw_only=True):
    """A backend of the list."""

    name: str
    active: bool
    realm: str
    dialect: str
    model: str
    auth: str
    url: str
    disabled: str = ""
    """Why it cannot be called from here; a gateway that runs may have what is missing."""


class Listed(Struct, frozen=True, kw_only=True):
    """What there is, and what is chosen."""

    active: Active
    backends: tuple[Row, ...]
    chosen: tuple[Rule, ...] = ()
    pins: tuple[Pin, ...] = ()
    """Threads that stay with a backend, whatever is active."""
    thread: str = ""
    pin: str = ""


def _list(at: Place, part: Part, principal: str, json_: bool) -> None:
    listed = _listed(at, part, principal)
    if json_:
        say_json(listed)
    else:
        show(_page(listed, part))


def _listed(at: Place, part: Part, principal: str) -> Listed:
    loaded = at.usable
    with opened(at) as store:
        active = active_of(at, store, part.gateway or "") or said_by_settings(loaded)
        chosen = tuple(rule for rule in chosen_in(store) if _is_of(rule, part))
        pinned = thread_named(store, principal, part.thread) if part.thread is not None else None
        pins = pins_in(store, principal) if part == Part() else ()
    if part.gateway is not None and not active.is_its_own:
        _check_gateway(part.gateway, running(at.home))
    rows = [_row(each, active, loaded) for each in loaded.settings.backends.values()]
    rows += [_row_without(each, active) for each in loaded.settings.disabled.values()]
    told = {"thread": pinned.id, "pin": pinned.pin} if pinned else {}
    return Listed(active=active, backends=tuple(rows), chosen=chosen, pins=pins, **told)


def _is_of(rule: Rule, part: Part) -> bool:
    """Each is, where no part of the requests is asked about."""
    return part.setting in (ACTIVE, AGENTS if rule.agent else family_choice(rule.family))


def _row(backend: Backend, active: Active, loaded: Loaded) -> Row:
    disabled = loaded.disabled.get(backend.name)
    return Row(
        name=backend.name,
        active=backend.name == active.backend,
        realm=backend.realm,
        dialect=backend.dialect,
        model=backend.model,
        auth=backend.auth,
        url=backend.url,
        disabled=disabled.says if disabled else "",
    )


def _row_without(disabled: Disabled, active: Active) -> Row:
    """Of one whose address is not known here either."""
    is_active = disabled.name == active.backend
    return Row(name=disabled.name, active=is_active, realm="", dialect="", model="", auth="", url="", disabled=disabled.says)


def _page(listed: Listed, part: Part) -> Page:
    rows = [("→" if row.active else "", row.name, row.model or "as asked", row.realm, row.url) for row in listed.backends]
    table = Table(("", "backend", "model", "realm", "url"), tuple(tuple(map(printable, row)) for row in rows))
    lines = [Line(printable(f"{listed.active.backend} is active ({listed.active.source})."))]
    if listed.active.is_unknown:
        lines.append(Line(printable(said_unknown(listed.active)), "bad"))
    lines += [Line(printable(f"{said_of(rule)}.")) for rule in listed.chosen]
    if part.setting != ACTIVE and not listed.chosen:
        lines.append(Line(f"{_usual(part)}."))
    lines += pin_lines(listed.pins)
    if listed.thread:
        lines.append(Line(printable(f"thread {listed.thread} " + _pin_of(listed.pin))))
    lines += [Line(printable(f"Here, {row.disabled}."), "bad") for row in listed.backends if row.disabled]
    return [table, Line(""), *lines, Line("Switch with `clew use NAME`; the running conversation goes on.", "quiet")]


def _pin_of(pin: str) -> str:
    return f"stays with {pin}." if pin else "follows the active backend."
