"""Who answers next, for those who cannot wait until the settings are read properly.

To read them takes the tables of all vendors, and longer than the rest of a quick command. But nearly always they say it in
plain words: there is no file, and then Claude answers; or the file has the name, and the backend of that name. Whatever is
not that plain is None here, and is to be read as ever.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from clew.errors import StoreError
from clew.settings.home import CONFIG_VARIABLE, Home, home_of
from clew.store.kinds import USUAL_URL, is_url, location_of

if TYPE_CHECKING:
    from clew.settings.values import Settings
    from clew.store.location import StoreLocation

__all__ = ["CHOICE", "Plain", "active_now", "plain_settings"]

USUAL: Final = "claude"
CHOICE: Final = "active"
"""The setting in the store that says who was chosen for all."""

_MOST_BYTES: Final = 1024 * 1024

_Table = Mapping[str, object]


class Plain(NamedTuple):
    """What the settings say without doubt: where the store is (None: none is wanted), and who can be active."""

    store: StoreLocation | None
    active: str
    backends: frozenset[str]

    def answers(self, chosen: str) -> str | None:
        """Who is active, where this was chosen ("": nothing was); None if that cannot be said so easily."""
        name = chosen or self.active
        return name if name in self.backends else None


def active_now(settings: Settings, home: Home) -> str:
    """What `clew use` chose, as far as a glance at the store tells; else what the settings say."""
    location, chosen = location_of(settings.store.url, home.root), ""
    with suppress(StoreError, OSError):
        if location is not None and location.exists():
            with location.quick_look() as store:
                chosen = store.settings().get(CHOICE, "") if store.is_current else ""
    return chosen or settings.active


def plain_settings(environ: Mapping[str, str]) -> Plain | None:
    home = home_of(environ)
    file = Path(named).expanduser() if (named := environ.get(CONFIG_VARIABLE, "").strip()) else home.config
    if not named and not file.is_file():
        return Plain(location_of(USUAL_URL, home.root), USUAL, frozenset({USUAL}))
    try:
        return _plain(tomllib.loads(file.read_bytes()[:_MOST_BYTES].decode()), home)
    except (OSError, ValueError, RecursionError):
        return None


def _plain(raw: _Table, home: Home) -> Plain | None:
    backends, active, store = raw.get("backends", {}), raw.get("active", ""), raw.get("store", {})
    if not (isinstance(backends, dict) and isinstance(active, str) and isinstance(store, dict)):
        return None
    url = cast("_Table", store).get("url", USUAL_URL)
    if not isinstance(url, str) or "$" in url or not is_url(url):
        return None
    return Plain(location_of(url, home.root), active or USUAL, frozenset(cast("_Table", backends)))
