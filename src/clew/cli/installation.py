"""This user's clew as the commands find it: the home directory, the settings, the store, threads by their names, and which
backend is active.

The commands on the store work beside a running gateway, by its settings, and without one. A config that cannot be used does
not keep anybody from looking at recordings: the store is then looked for at its usual place. Keys are never looked up, since
no backend is called.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import click
from msgspec import Struct, structs

from clew.cli.command import BadConfig, Failed, operator
from clew.cli.output import TextLine, printable
from clew.engine.choices import ACTIVE, rules_chosen
from clew.errors import SettingsInvalid, StoreError
from clew.settings.asked_backend import NO_BACKEND, AskedBackend
from clew.settings.home import USABLE_HOME, Home, check_owner, home_of
from clew.settings.load import Loaded, load
from clew.settings.processes import RunningGateway, config_in_use, registered_gateways
from clew.settings.values import RoutingRule, Settings
from clew.store import Store
from clew.store.kinds import BODIES, USUAL_URL, StoreLocation, location_of
from clew.store.values import Thread


class Installation(Struct, frozen=True, kw_only=True):
    """The home directory and the settings. Without `loaded`, `problem` says what is wrong with the config."""

    home: Home
    loaded: Loaded | None
    problem: str = ""

    @property
    def usable(self) -> Loaded:
        """The settings. Ends the command if the config cannot be used."""
        if self.loaded is None:
            raise BadConfig(self.problem)
        return self.loaded

    def checked(self) -> Installation:
        """The same. Ends the command if the config cannot be used: it may name another store."""
        if self.loaded is None:
            raise BadConfig(self.problem)
        return self

    @property
    def store(self) -> StoreLocation | None:
        """Where the store is; None if the settings want none."""
        return location_of(self.loaded.settings.store.url if self.loaded else USUAL_URL, self.home.root)

    @property
    def described_store(self) -> str:
        """Where the store is, for people; "" if the settings want none."""
        return self.store.describe() if self.store else ""


def find_installation(file: Path | None = None, *, asked: AskedBackend = NO_BACKEND) -> Installation:
    """The installation with the settings of `file`, if one is named; else of the file that gateways running here use.
    `asked`: the backend that the command names."""
    home = home_of(os.environ)
    try:
        if _exists(home.root):
            check_owner(home.root, home.root.stat().st_uid)
    except SettingsInvalid as error:
        raise BadConfig(str(error)) from None
    try:
        used = file or config_in_use(home, os.environ)
        return Installation(home=home, loaded=load(used, os.environ, keys=False, asked=asked))
    except SettingsInvalid as error:
        return Installation(home=home, loaded=None, problem=str(error))


def _exists(place: Path | StoreLocation) -> bool:
    """Whether the directory or the store exists. Ends the command where this user has no access."""
    try:
        return place.exists()
    except OSError as error:
        named = place if isinstance(place, Path) else place.describe()
        raise Failed(f"cannot use {named}: {error.strerror or error}. {USABLE_HOME}.") from None


@contextmanager
def store_for_reading(installation: Installation, *, says_problem: bool = True) -> Generator[Store | None]:
    """The store; None if there is none yet. Nothing is created. Settings that cannot be used may name another store, which
    is said where nothing else says so."""
    if says_problem and installation.loaded is None:
        click.echo(printable(installation.problem), err=True)
        click.echo(
            f"So this reads the usual store, {installation.described_store}; the settings may name another.", err=True
        )
    location = installation.store
    if location is None or not _exists(location):
        yield None
        return
    with location.open(content=True, bodies=BODIES) as store:
        yield store


@contextmanager
def store_for_writing(installation: Installation, *, content: bool = True) -> Generator[Store]:
    """The store, created if it is not there. Ends the command where the settings cannot be used: they may name another."""
    location = installation.checked().store
    if location is None:
        raise BadConfig('nothing is kept, because the settings say `url = "off"` under [store]: remove that line')
    installation.home.make()
    with location.open(content=content, bodies=BODIES) as store:
        yield store


def note_change(what: str, target: str, *, after: str = "", file: Path) -> None:
    """Add a change of the settings file to the audit, where there is a store. The change is made already, so a store that
    cannot be used is no error."""
    try:
        with store_for_reading(find_installation(file)) as store:
            if store is not None:
                store.audit.note(operator(), what, target, after=after).result(_NOTE_SECONDS)
    except (StoreError, TimeoutError) as error:
        click.echo(printable(f"This change is not in the audit: {error}"), err=True)


def find_thread(store: Store | None, principal: str, given: str) -> Thread:
    """The thread with this id, or with the only id that begins so; `last` is the thread that was used last. Ends the command
    if there is none, or several."""
    if not given:  # every id begins with nothing: a variable that is not set would name the only thread
        raise click.UsageError("The name of the thread is empty: `clew show` lists the threads.")
    if store is None:
        found: list[Thread] = []
    elif given == "last":
        found = store.threads(principal, limit=1)
    else:
        exact = store.thread(principal, given)  # the id of an imported thread may be the beginning of another id
        found = [exact] if exact else store.threads(principal, starting=given, limit=6)
    if len(found) == 1:
        return found[0]
    if not found and given == "last":
        raise click.UsageError("No conversation was recorded yet, so there is no last one.")
    if not found:
        raise click.UsageError(f"There is no thread {given!r}: `clew show` lists the threads.")
    names = ", ".join(thread.id for thread in found[:5])
    raise click.UsageError(f"{given!r} is the beginning of several threads: {names}{'…' if len(found) > 5 else ''}.")


# The active backend: for all requests, for one gateway, for a part, for a thread


_OWN_CHOICES: Final = ("clew use --gateway", "clew run --backend")
_MOST_PINS: Final = 10
_NOTE_SECONDS: Final = 10.0
_TITLE_LENGTH: Final = 40


class ActiveBackend(Struct, frozen=True, kw_only=True):
    """A backend and where the choice comes from. `is_unknown`: it is not in the settings, so requests for it get a 503."""

    backend: str
    source: str
    is_unknown: bool = False
    requested: str = ""
    """What was chosen, where the running gateways use another: then `backend` is theirs, or "" where they differ."""

    @property
    def is_its_own(self) -> bool:
        """Whether this choice is for one gateway alone, which then does not follow a choice for all."""
        return self.source in _OWN_CHOICES


def active_of(installation: Installation, store: Store | None, gateway: str = "") -> ActiveBackend | None:
    """The choice for the gateway of this name; without a name, for all gateways without a choice of their own.

    None where neither the store nor a usable config says anything.
    """
    begun_with = next((each.choice for each in registered_gateways(installation.home) if each.name == gateway), "")
    choices = (
        (store.settings(gateway).get(ACTIVE, "") if store and gateway else "", _OWN_CHOICES[0]),
        (begun_with, _OWN_CHOICES[1]),
        (store.settings().get(ACTIVE, "") if store else "", "clew use"),
    )  # in the order in which a gateway goes by them
    chosen, source = next(((name, source) for name, source in choices if name), ("", ""))
    loaded = installation.loaded
    if loaded is None:
        return ActiveBackend(backend=chosen, source=source) if chosen else None
    if not chosen:
        return active_by_settings(loaded)
    return ActiveBackend(backend=chosen, source=source, is_unknown=chosen not in loaded.settings.backends)


def active_by_settings(loaded: Loaded) -> ActiveBackend:
    """The backend that is active where no other was chosen."""
    return ActiveBackend(backend=loaded.settings.active, source=loaded.origins.get(ACTIVE, "default"))


def active_in_use(active: ActiveBackend, gateways: Iterable[RunningGateway]) -> ActiveBackend:
    """The backend that these gateways report, whatever was chosen."""
    used = frozenset[str]().union(*(gateway.in_use for gateway in gateways))
    if used <= {active.backend}:
        return structs.replace(active, is_unknown=active.is_unknown and not used)
    return structs.replace(active, backend=next(iter(used)) if len(used) == 1 else "", requested=active.backend)


def active_now(settings: Settings, home: Home) -> str:
    """The backend that `clew use` chose, as far as a quick look at the store tells; else the one in the settings."""
    location, chosen = location_of(settings.store.url, home.root), ""
    with suppress(StoreError, OSError):
        if location is not None and location.exists():
            with location.quick_look() as store:
                chosen = store.settings().get(ACTIVE, "") if store.is_current else ""
    return chosen or settings.active


def chosen_rules(store: Store | None) -> tuple[RoutingRule, ...]:
    """What was chosen for a part of the requests, by `--family` and `--agents`."""
    return rules_chosen(store.settings()) if store else ()


def active_text(active: ActiveBackend) -> str:
    if not active.requested:
        return f"{active.backend} ({active.source})"
    now = f"{active.backend} is in use" if active.backend else "no backend is in use everywhere"
    return f"{now}; chosen is {active.requested} ({active.source})"


def unknown_text(active: ActiveBackend) -> str:
    return f"{active.backend} is not in the settings, so requests get a 503: `clew use NAME` chooses another."


def rule_text(rule: RoutingRule) -> str:
    whose, option = (f"requests for {rule.family}", "--family") if rule.family else ("sub-agents", "--agents")
    return f"{whose} go to {rule.backend} (clew use {option})"


# Threads that stay with a backend, whatever is active


class ThreadPin(Struct, frozen=True, kw_only=True):
    """A thread, and the backend that it stays with."""

    thread: str
    title: str
    backend: str


def pins_in(store: Store | None, principal: str) -> tuple[ThreadPin, ...]:
    threads = store.pinned(principal) if store else ()
    return tuple(ThreadPin(thread=each.id, title=each.title, backend=each.pin) for each in threads)


def pin_lines(pins: tuple[ThreadPin, ...]) -> list[TextLine]:
    """The first pins, each with the command that releases the thread."""
    lines: list[TextLine] = []
    for pin in pins[:_MOST_PINS]:
        title = pin.title if len(pin.title) <= _TITLE_LENGTH else pin.title[: _TITLE_LENGTH - 1] + "…"
        named = f"thread {pin.thread}{f' ({title})' if title else ''} stays with {pin.backend}"
        lines.append(TextLine(printable(f"{named}: `clew use --reset --thread {pin.thread}` removes the pin.")))
    if (more := len(pins) - _MOST_PINS) > 0:
        lines.append(TextLine(f"and {more} more threads: --json lists them all", "quiet"))
    return lines
