"""This user's clew as the commands find it: the home directory, the settings, the store, and threads by their names.

The commands on the store work beside a running gateway, by its settings, and without one. A config that cannot be used does
not keep anybody from looking at recordings: the store is then looked for at its usual place. Keys are never looked up, since
no backend is called.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click
from msgspec import Struct

from clew.cli.command import BadConfig, Failed
from clew.errors import SettingsInvalid
from clew.settings.home import USABLE_HOME, Home, check_owner, home_of
from clew.settings.load import Loaded, load
from clew.settings.processes import config_in_use
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

    @property
    def store(self) -> StoreLocation | None:
        """Where the store is; None if the settings want none."""
        return location_of(self.loaded.settings.store.url if self.loaded else USUAL_URL, self.home.root)

    @property
    def described_store(self) -> str:
        """Where the store is, for people; "" if the settings want none."""
        return self.store.describe() if self.store else ""


def find_installation(file: Path | None = None) -> Installation:
    """The installation with the settings of `file`, if one is named; else of the file that gateways running here use."""
    home = home_of(os.environ)
    try:
        if _exists(home.root):
            check_owner(home.root, home.root.stat().st_uid)
    except SettingsInvalid as error:
        raise BadConfig(str(error)) from None
    try:
        return Installation(home=home, loaded=load(file or config_in_use(home, os.environ), os.environ, keys=False))
    except SettingsInvalid as error:
        return Installation(home=home, loaded=None, problem=str(error))


def _exists(place: Path | StoreLocation) -> bool:
    """Ends the command where this user may not look."""
    try:
        return place.exists()
    except OSError as error:
        named = place if isinstance(place, Path) else place.describe()
        raise Failed(f"cannot use {named}: {error.strerror or error}. {USABLE_HOME}.") from None


@contextmanager
def store_for_reading(installation: Installation) -> Generator[Store | None]:
    """The store; None if there is none yet. Nothing is created."""
    location = installation.store
    if location is None or not _exists(location):
        yield None
        return
    with location.open(content=True, bodies=BODIES) as store:
        yield store


@contextmanager
def store_for_writing(installation: Installation, *, content: bool = True) -> Generator[Store]:
    """The store, created if it is not there."""
    location = installation.store
    if location is None:
        raise BadConfig('nothing is kept, because the settings say `url = "off"` under [store]: remove that line')
    installation.home.make()
    with location.open(content=content, bodies=BODIES) as store:
        yield store


def find_thread(store: Store | None, principal: str, given: str) -> Thread:
    """The thread whose id is this or begins so; `last` is the one that was used last. Ends the command if there is none, or
    several."""
    if not given:  # every id begins with nothing: a variable that is not set would name the only thread
        raise click.UsageError("The name of the thread is empty: `clew show` lists them.")
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
        raise click.UsageError(f"There is no thread {given!r}: `clew show` lists them.")
    names = ", ".join(thread.id for thread in found[:5])
    raise click.UsageError(f"{given!r} is the beginning of several threads: {names}{'…' if len(found) > 5 else ''}.")
