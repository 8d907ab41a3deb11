"""Which backend is active, for all or for one gateway, and who said so."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from clew.cli.kept import Place
from clew.engine.choices import rules_chosen
from clew.settings.load import Loaded
from clew.settings.running import running
from clew.settings.values import Rule
from clew.store import SqliteStore

__all__ = ["SETTING", "Active", "active_of", "chosen_in", "said_by_settings", "said_of"]

SETTING: Final = "active"
_OWN: Final = ("clew use --gateway", "clew run --backend")


class Active(Struct, frozen=True, kw_only=True):
    """A backend and where the choice comes from. `gone` is one that was chosen and is not in the settings any more."""

    backend: str
    source: str
    gone: str = ""

    @property
    def is_its_own(self) -> bool:
        """Whether a gateway was told it alone, and so does not follow when all are told something."""
        return self.source in _OWN


def active_of(at: Place, store: SqliteStore | None, gateway: str = "") -> Active | None:
    """What a gateway of this name sends to; without a name, what all do that were told nothing else.

    None where neither the store nor a usable config says anything.
    """
    chosen, source = _chosen(at, store, gateway)
    if at.loaded is None:
        return Active(backend=chosen, source=source) if chosen else None
    if chosen in at.loaded.settings.backends:
        return Active(backend=chosen, source=source)
    usual = said_by_settings(at.loaded)
    return Active(backend=usual.backend, source=usual.source, gone=chosen)


def said_by_settings(loaded: Loaded) -> Active:
    """What is active when nobody says otherwise."""
    return Active(backend=loaded.settings.active, source=loaded.origins.get(SETTING, "default"))


def _chosen(at: Place, store: SqliteStore | None, gateway: str) -> tuple[str, str]:
    """In the order in which a gateway goes by it."""
    for name, source in zip((_told_it(store, gateway), _begun_with(at, gateway)), _OWN, strict=True):
        if name:
            return name, source
    return (store.settings().get(SETTING, ""), "clew use") if store else ("", "")


def _told_it(store: SqliteStore | None, gateway: str) -> str:
    return store.settings(gateway).get(SETTING, "") if store and gateway else ""


def _begun_with(at: Place, gateway: str) -> str:
    return next((each.choice for each in running(at.home) if each.name == gateway), "")


def chosen_in(at: Place, store: SqliteStore | None) -> tuple[Rule, ...]:
    """What was chosen for a part, by `--family` and `--agents`."""
    return rules_chosen(store.settings(), at.loaded.settings) if store and at.loaded else ()


def said_of(rule: Rule) -> str:
    whose, option = (f"requests for {rule.family}", "--family") if rule.family else ("sub-agents", "--agents")
    return f"{whose} go to {rule.backend} (clew use {option})"
