"""Stores before they are opened: the kinds of store, where one is, and what can be said of it from outside.

A URL (`[store] url`) names its kind up to the first colon; behind it is what that kind calls an address. `off` is no store.
A kind is a module with the value `KIND`. It is imported when a store of it is asked for, so that a quick command does not
load the code that writes. To add a kind is one folder and one line in `KINDS`; the contract suite (`tests/store/contract`)
then runs over it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self

from msgspec import Struct

from clew.store.prepared_types import prepare_types

if TYPE_CHECKING:
    from clew.model.turn import Exchange
    from clew.store.moving import TableAccess
    from clew.store.protocols import Store
    from clew.store.values import ClockDoubt

KINDS: Final[Mapping[str, str]] = {"sqlite": "clew.store.sqlite", "postgresql": "clew.store.postgres"}
"""Each kind's name, and the module that has its `KIND`."""

_SHARED: Final = frozenset({"postgresql"})
"""The kinds that are a server, which several machines share."""

USUAL_URL: Final = "sqlite"
OFF: Final = "off"
BODIES: Final = 50
"""Of how many exchanges of each principal the bodies are kept by default, the last ones."""

URLS: Final = "sqlite, sqlite:PATH, postgresql://USER@HOST/DATABASE or off"
URL_PATTERN: Final = rf"^({'|'.join(f'{name}|{name}:.+' for name in KINDS)}|{OFF})$"


class StoreFinding(Struct, frozen=True):
    """The result of one check. `repair` says what to do where it is not ok, and `says` does not."""

    state: Literal["ok", "warning", "broken"]
    says: str
    repair: str = ""


class QuickLook(Protocol):
    """A read-only view of a store for a command that must be over in a moment. A context manager."""

    @property
    def is_current(self) -> bool:
        """Whether the store has the present schema. Other stores are not read: opening one properly migrates it."""
        ...

    def last(self, principal: str, session: str) -> Exchange | None:
        """The last exchange of the main thread with this session."""
        ...

    def pin_of(self, principal: str, thread: str) -> str: ...
    def settings(self, scope: str = "") -> Mapping[str, str]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class StoreLocation(Protocol):
    """Where one store is, or will be."""

    def describe(self) -> str:
        """In the store's own words, for people: its file, or its address without a password."""
        ...

    def exists(self) -> bool:
        """Whether there is anything. Raises OSError where this user may not look."""
        ...

    def is_readable(self) -> bool:
        """Whether there is a store that could be read."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether it is a server that several machines share: then a quick command asks a gateway, and not the store."""
        ...

    def files(self) -> tuple[Path, ...]:
        """The files on this machine that hold its text, there or not: only their owner may read them."""
        ...

    def open(self, *, content: bool, bodies: int | None, serves: bool = False, seal_keys: Sequence[str] = ()) -> Store:
        """Make it, or bring it to the present schema. Raises StoreError where that fails. `serves`: for a process that
        answers requests, which goes on while a shared store is away. `seal_keys` are the ids of its sealing keys, the
        current one first: those who share a store share one of them."""
        ...

    def tables(self) -> AbstractContextManager[TableAccess]:
        """Its tables, row by row, for a move; made, or brought to the present schema. Raises StoreError."""
        ...

    def quick_look(self) -> QuickLook:
        """Raises StoreError where it cannot be read, or is shared."""
        ...

    def examine(self, now: float) -> Iterator[StoreFinding]:
        """Whether it has a schema that this clew knows, is sound, and is consistent."""
        ...

    def has_answers(self) -> bool:
        """Whether anything was ever recorded in it. True also where it cannot be read."""
        ...

    def clock_doubt(self, now: float) -> ClockDoubt | None:
        """Why the clock may be wrong, by the times that the store has seen. Raises StoreError."""
        ...

    def last_exchanges(self, principals: Iterable[str], limit: int) -> list[Exchange]:
        """The last exchanges of each of these principals; none from a store of another schema. Raises StoreError."""
        ...


class StoreKind(Protocol):
    """A kind of store."""

    @property
    def program(self) -> str:
        """What must be right about the database program, in one sentence, as `clew doctor` lists it."""
        ...

    def examine_program(self) -> Iterator[StoreFinding]:
        """Whether the database program can be used."""
        ...

    def locate(self, address: str, root: Path) -> StoreLocation:
        """The place that an address means; "" is the usual one below `root`."""
        ...


def shown_url(url: str) -> str:
    """The URL for people: without a password."""
    return re.sub(r"([?&]password=)[^&]*", r"\1…", re.sub(r"(//[^:@/]*):[^@/]+@", r"\1:…@", url))


def is_shared(url: str) -> bool:
    """Whether it is a server that several machines share."""
    return url.partition(":")[0] in _SHARED


def is_url(url: str) -> bool:
    return re.match(URL_PATTERN, url) is not None


def kind_named(name: str) -> StoreKind:
    kind: StoreKind = import_module(KINDS[name]).KIND
    return kind


def location_of(url: str, root: Path) -> StoreLocation | None:
    """Where the store of this URL is, None for `off`. A relative path in it begins at `root`."""
    name, _, address = url.partition(":")
    return None if name == OFF else kind_named(name).locate(address, root)


def open_store(
    url: str,
    root: Path,
    *,
    content: bool = True,
    bodies: int | None = BODIES,
    serves: bool = False,
    seal_keys: Sequence[str] = (),
) -> Store | None:
    """The store of this URL, made or brought to the present schema; None for `off`. Raises StoreError where that fails.

    With `content=False` nothing is kept for people to read: no questions, no titles, no tool inputs, no bodies. `bodies` is
    of how many exchanges of each principal the bodies are kept, the last ones; None is all of them. `serves` is for a
    process that answers requests: it goes on while a shared store is away, and shares one of its `seal_keys` (ids, the
    current one first) with all that have this store open.
    """
    location = location_of(url, root)
    store = location.open(content=content, bodies=bodies, serves=serves, seal_keys=seal_keys) if location else None
    prepare_types()  # several threads will read it
    return store
