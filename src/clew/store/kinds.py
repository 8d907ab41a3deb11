"""The kinds of store, and the one place that knows them: `[store] url` in, a store out.

A URL names its kind up to the first colon; behind it is what that kind calls an address. `off` is no store. A kind is a
module with the value `KIND`. It is imported when a store of it is asked for, so that a quick command does not load the code
that writes. To add a kind is one folder and one line in `KINDS`; the contract suite (`tests/store/contract`) then runs over
it too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from clew.store.location import StoreKind, StoreLocation
    from clew.store.protocols import Store


KINDS: Final[Mapping[str, str]] = {"sqlite": "clew.store.sqlite"}
"""Each kind's name, and the module that has its `KIND`."""

USUAL_URL: Final = "sqlite"
OFF: Final = "off"
BODIES: Final = 50
"""Of how many exchanges of each principal the bodies are kept by default, the last ones."""

URLS: Final = "sqlite, sqlite:PATH or off"
URL_PATTERN: Final = rf"^({'|'.join(f'{name}|{name}:.+' for name in KINDS)}|{OFF})$"


def is_url(url: str) -> bool:
    return re.match(URL_PATTERN, url) is not None


def kind_named(name: str) -> StoreKind:
    kind: StoreKind = import_module(KINDS[name]).KIND
    return kind


def location_of(url: str, root: Path) -> StoreLocation | None:
    """Where the store of this URL is, None for `off`. A relative path in it begins at `root`."""
    name, _, address = url.partition(":")
    return None if name == OFF else kind_named(name).locate(address, root)


def open_store(url: str, root: Path, *, content: bool = True, bodies: int | None = BODIES) -> Store | None:
    """The store of this URL, made or brought to the present schema; None for `off`. Raises StoreError where that fails.

    With `content=False` nothing is kept for people to read: no questions, no titles, no tool inputs, no bodies. `bodies` is
    of how many exchanges of each principal the bodies are kept, the last ones; None is all of them.
    """
    location = location_of(url, root)
    return location.open(content=content, bodies=bodies) if location else None
