"""What needs a backend, so that it cannot be removed: lines of the settings file, choices, gateways and pinned threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from clew.backends.names import FAMILIES
from clew.engine.choices import ACTIVE, AGENTS, family_choice
from clew.limits.keys import LOCAL
from clew.settings.home import Home
from clew.settings.load import Loaded
from clew.settings.named_keys import known_keys
from clew.settings.problems import key_lines, line_of
from clew.settings.processes import registered_gateways
from clew.store import Store

_ALL: Final = 1_000_000


class BackendUse(Struct, frozen=True):
    """A place that needs the backend, and what frees it."""

    where: str
    free: str


def backend_uses(name: str, loaded: Loaded, raw: Mapping[str, Any], home: Home, store: Store | None) -> list[BackendUse]:
    """Every place that needs the backend. `raw` is the file as TOML."""
    is_chosen = bool(store and store.settings().get(ACTIVE))
    return [*_uses_in_file(name, loaded, raw, is_chosen=is_chosen), *_uses_by_choice(name, home, store)]


def _uses_in_file(name: str, loaded: Loaded, raw: Mapping[str, Any], *, is_chosen: bool) -> Iterator[BackendUse]:
    lines, edit = key_lines(loaded.text.reveal() if loaded.text else ""), "change that line"
    if raw.get("active") == name:
        yield BackendUse(f'active = "{name}" ({loaded.file}:{line_of(("active",), lines)})', edit)
    elif not raw.get("active") and loaded.settings.active == name and not is_chosen:
        yield BackendUse(f"it is active, because {loaded.file} names no other backend", 'write `active = "NAME"` at its top')
    if name in raw.get("failover", ()):
        yield BackendUse(f"failover ({loaded.file}:{line_of(('failover',), lines)})", edit)
    for place, rule in enumerate(raw.get("rules", ())):
        if rule.get("backend") == name:
            line = line_of(("rules", place, "backend"), lines)
            yield BackendUse(f"a rule ({loaded.file}:{line})", "change or remove it")


def _uses_by_choice(name: str, home: Home, store: Store | None) -> Iterator[BackendUse]:
    """Gateways that were started with it, and what `clew use` put into the store."""
    for gateway in registered_gateways(home):
        if gateway.choice == name:
            yield BackendUse(f"`clew run --backend {name}` (pid {gateway.pid})", "end it")
        if store and store.settings(gateway.name).get(ACTIVE) == name:
            yield BackendUse(f"active for the gateway {gateway.name}", f"`clew use --reset --gateway {gateway.name}`")
    if store is None:
        return
    settings = store.settings()
    parts = {ACTIVE: "", AGENTS: " --agents"} | {family_choice(each): f" --family {each}" for each in FAMILIES}
    for setting, option in parts.items():
        if settings.get(setting) == name:
            yield BackendUse(f"active by `clew use{option}`", f"`clew use --reset{option}`")
    for principal in sorted({LOCAL, *(row.principal for row in known_keys(home))}):
        for thread in store.threads(principal, limit=_ALL):
            if thread.pin == name:
                whose = "" if principal == LOCAL else f" --principal {principal}"
                reset = f"`clew use --reset --thread {thread.id}{whose}`"
                yield BackendUse(f"the thread {thread.id} is pinned to it", reset)
