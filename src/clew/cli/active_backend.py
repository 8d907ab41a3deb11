"""Which backend is active and where the choice comes from: for all requests, for one gateway, for a part, for a thread."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from msgspec import Struct, structs

from clew.cli.installation import Installation
from clew.cli.output import TextLine, printable
from clew.engine.choices import ACTIVE, rules_chosen
from clew.errors import StoreError
from clew.settings.home import Home
from clew.settings.load import Loaded
from clew.settings.processes import RunningGateway, registered_gateways
from clew.settings.values import RoutingRule, Settings
from clew.store import Store
from clew.store.kinds import location_of

_OWN_CHOICES: Final = ("clew use --gateway", "clew run --backend")
_MOST_PINS: Final = 10
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
    """What is active when nothing was chosen."""
    return ActiveBackend(backend=loaded.settings.active, source=loaded.origins.get(ACTIVE, "default"))


def active_in_use(active: ActiveBackend, gateways: Iterable[RunningGateway]) -> ActiveBackend:
    """The backend that these gateways report, whatever was chosen."""
    used = frozenset[str]().union(*(gateway.in_use for gateway in gateways))
    if used <= {active.backend}:
        return active
    return structs.replace(active, backend=next(iter(used)) if len(used) == 1 else "", requested=active.backend)


def active_now(settings: Settings, home: Home) -> str:
    """What `clew use` chose, as far as a quick look at the store tells; else what the settings say."""
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
        lines.append(TextLine(printable(f"{named}: `clew use --reset --thread {pin.thread}` lets it go.")))
    if (more := len(pins) - _MOST_PINS) > 0:
        lines.append(TextLine(f"and {more} more threads: --json lists them all", "quiet"))
    return lines
