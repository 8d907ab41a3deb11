"""Which backend is active, for all or for one gateway, and who said so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, structs

from clew.cli.kept import Place
from clew.engine.choices import rules_chosen
from clew.settings.load import Loaded
from clew.settings.processes import RunningGateway
from clew.settings.running import running
from clew.settings.values import Rule
from clew.store import Store

__all__ = [
    "SETTING",
    "Active",
    "active_of",
    "chosen_in",
    "in_use",
    "said_by_settings",
    "said_in_use",
    "said_of",
    "said_unknown",
]

SETTING: Final = "active"
_OWN: Final = ("clew use --gateway", "clew run --backend")


class Active(Struct, frozen=True, kw_only=True):
    """A backend and where the choice comes from. `is_unknown`: it is not in the settings, so requests for it get a 503."""

    backend: str
    source: str
    is_unknown: bool = False
    requested: str = ""
    """What was chosen, where the gateways that run use another: then `backend` is theirs, or "" where that is not one."""

    @property
    def is_its_own(self) -> bool:
        """Whether a gateway was told it alone, and so does not follow when all are told something."""
        return self.source in _OWN


def active_of(at: Place, store: Store | None, gateway: str = "") -> Active | None:
    """What was chosen for the gateway of this name; without a name, for all that were told nothing else.

    None where neither the store nor a usable config says anything.
    """
    chosen, source = _chosen(at, store, gateway)
    if at.loaded is None:
        return Active(backend=chosen, source=source) if chosen else None
    if not chosen:
        return said_by_settings(at.loaded)
    return Active(backend=chosen, source=source, is_unknown=chosen not in at.loaded.settings.backends)


def in_use(active: Active, gateways: Iterable[RunningGateway]) -> Active:
    """As these gateways report it, whatever was chosen."""
    used = frozenset[str]().union(*(gateway.in_use for gateway in gateways))
    if used <= {active.backend}:
        return active
    return structs.replace(active, backend=next(iter(used)) if len(used) == 1 else "", requested=active.backend)


def said_in_use(active: Active) -> str:
    if not active.requested:
        return f"{active.backend} ({active.source})"
    now = f"{active.backend} is in use" if active.backend else "no backend is in use everywhere"
    return f"{now}; chosen is {active.requested} ({active.source})"


def said_by_settings(loaded: Loaded) -> Active:
    """What is active when nobody says otherwise."""
    return Active(backend=loaded.settings.active, source=loaded.origins.get(SETTING, "default"))


def _chosen(at: Place, store: Store | None, gateway: str) -> tuple[str, str]:
    """In the order in which a gateway goes by it."""
    for name, source in zip((_told_it(store, gateway), _begun_with(at, gateway)), _OWN, strict=True):
        if name:
            return name, source
    return (store.settings().get(SETTING, ""), "clew use") if store else ("", "")


def _told_it(store: Store | None, gateway: str) -> str:
    return store.settings(gateway).get(SETTING, "") if store and gateway else ""


def _begun_with(at: Place, gateway: str) -> str:
    return next((each.choice for each in running(at.home) if each.name == gateway), "")


def chosen_in(store: Store | None) -> tuple[Rule, ...]:
    """What was chosen for a part, by `--family` and `--agents`."""
    return rules_chosen(store.settings()) if store else ()


def said_unknown(active: Active) -> str:
    return f"{active.backend} is not in the settings, so requests get a 503: `clew use NAME` chooses another."


def said_of(rule: Rule) -> str:
    whose, option = (f"requests for {rule.family}", "--family") if rule.family else ("sub-agents", "--agents")
    return f"{whose} go to {rule.backend} (clew use {option})"
