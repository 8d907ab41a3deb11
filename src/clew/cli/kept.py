"""What the commands on the store have in common: the home, the settings, the file, and the names that people give.

They work beside a running gateway, by its settings, and without one. A config that cannot be used keeps nobody from looking
at what was recorded: the store is then looked for where it usually is. Keys are never looked up, since nobody is called.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click
from msgspec import Struct

from clew.cli.endings import BadConfig, Failed
from clew.cli.options import principal_option
from clew.errors import SettingsInvalid
from clew.settings.home import USABLE_HOME, Home, check_owner, home_of
from clew.settings.load import Loaded, load
from clew.settings.running import file_in_use
from clew.store import Store
from clew.store.kinds import BODIES, USUAL_URL, location_of
from clew.store.location import StoreLocation
from clew.store.values import Thread

__all__ = ["Place", "opened", "opened_to_write", "place", "principal_option", "thread_named"]


class Place(Struct, frozen=True, kw_only=True):
    """Where this user's clew is. Without `loaded`, `problem` says what is wrong with the config."""

    home: Home
    loaded: Loaded | None
    problem: str = ""

    @property
    def usable(self) -> Loaded:
        """Ends the command where the config cannot be used."""
        if self.loaded is None:
            raise BadConfig(self.problem)
        return self.loaded

    @property
    def store(self) -> StoreLocation | None:
        """Where the store is, None if the settings want none."""
        return location_of(self.loaded.settings.store.url if self.loaded else USUAL_URL, self.home.root)

    @property
    def described_store(self) -> str:
        """The same for people; "" if the settings want none."""
        return self.store.describe() if self.store else ""


def place(file: Path | None = None) -> Place:
    """`file` is the settings file that is meant, where one was named; else that of the gateways which run here."""
    home = home_of(os.environ)
    _check_owner(home)
    try:
        return Place(home=home, loaded=load(file or file_in_use(home, os.environ), os.environ, keys=False))
    except SettingsInvalid as error:
        return Place(home=home, loaded=None, problem=str(error))


def _check_owner(home: Home) -> None:
    try:
        if _is_there(home.root):
            check_owner(home.root, home.root.stat().st_uid)
    except SettingsInvalid as error:
        raise BadConfig(str(error)) from None


def _is_there(place: Path | StoreLocation) -> bool:
    """Ends the command where nobody may look."""
    try:
        return place.exists()
    except OSError as error:
        named = place if isinstance(place, Path) else place.describe()
        raise Failed(f"cannot use {named}: {error.strerror or error}. {USABLE_HOME}.") from None


@contextmanager
def opened(at: Place) -> Generator[Store | None]:
    """The store to look at; None if there is none yet. Nothing is made."""
    location = at.store
    if location is None or not _is_there(location):
        yield None
        return
    with location.open(content=True, bodies=BODIES) as store:
        yield store


@contextmanager
def opened_to_write(at: Place, *, content: bool = True) -> Generator[Store]:
    """The store, made if it is not there."""
    location = at.store
    if location is None:
        raise BadConfig('nothing is kept, because the settings say `url = "off"` under [store]: remove that line')
    at.home.make()
    with location.open(content=content, bodies=BODIES) as store:
        yield store


def thread_named(store: Store | None, principal: str, given: str) -> Thread:
    """The thread of this id, or whose id begins so; `last` is the one that was used last. Ends the command if there is none,
    or several."""
    if not given:  # every id begins with nothing: a variable that is not set would name the only thread
        raise click.UsageError("The name of the thread is empty: `clew show` lists them.")
    found = _threads(store, principal, given) if store else []
    if len(found) == 1:
        return found[0]
    if not found and given == "last":
        raise click.UsageError("No conversation was recorded yet, so there is no last one.")
    if not found:
        raise click.UsageError(f"There is no thread {given!r}: `clew show` lists them.")
    names = ", ".join(thread.id for thread in found[:5])
    raise click.UsageError(f"{given!r} is the beginning of several threads: {names}{'…' if len(found) > 5 else ''}.")


def _threads(store: Store, principal: str, given: str) -> list[Thread]:
    if given == "last":
        return store.threads(principal, limit=1)
    exact = store.thread(principal, given)  # one that was imported may be called as another begins
    return [exact] if exact else store.threads(principal, starting=given, limit=6)
