"""What a check finds, and what it may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.settings.home import Home, home_of
from clew.settings.load import Loaded, load
from clew.settings.processes import config_in_use
from clew.store.kinds import USUAL_URL, StoreLocation, location_of

State: TypeAlias = Literal["ok", "warning", "broken"]


class CheckFinding(Struct, frozen=True):
    """One result of a check. `fix` says what to do if it is not ok, unless `says` does."""

    state: State
    says: str
    fix: str = ""


class Circumstances(Struct, frozen=True, kw_only=True):
    """What the checks look at: read once, before the first check."""

    environ: Mapping[str, str]
    home: Home
    cwd: Path
    now: float
    online: bool = False
    loaded: Loaded | None = None
    problem: str = ""
    """Why the settings could not be loaded."""

    @property
    def store(self) -> StoreLocation | None:
        """Where the store is; None where the settings want none."""
        return location_of(self.loaded.settings.store.url if self.loaded else USUAL_URL, self.home.root)


class Check(Struct, frozen=True):
    """A check of `clew doctor`: its name, what it does, and its function."""

    name: str
    does: str
    run: Callable[[Circumstances], Iterable[CheckFinding]]


def read_circumstances(
    environ: Mapping[str, str], cwd: Path, now: float, *, online: bool = False, file: Path | None = None
) -> Circumstances:
    """`file` is the settings file that is meant, where it is known; else that of the gateways which run here."""
    home = home_of(environ)
    loaded, problem = None, ""
    try:
        loaded = load(file or config_in_use(home, environ), environ)
    except SettingsInvalid as error:
        problem = str(error)
    return Circumstances(environ=environ, home=home, cwd=cwd, now=now, online=online, loaded=loaded, problem=problem)


def fine(says: str) -> CheckFinding:
    return CheckFinding("ok", says)


def warning(says: str, fix: str) -> CheckFinding:
    return CheckFinding("warning", says, fix)


def broken(says: str, fix: str) -> CheckFinding:
    return CheckFinding("broken", says, fix)
