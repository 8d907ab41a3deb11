"""The store in a PostgreSQL database: a kind of store, and where such a store is.

The driver (psycopg) comes with the extra `clew[postgres]`. The code that connects is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from clew.errors import SettingsInvalid, StoreError
from clew.store.kinds import QuickLook, StoreFinding

if TYPE_CHECKING:
    from clew.model.turn import Exchange
    from clew.store.postgres.database import PostgresDatabase
    from clew.store.postgres.store import PostgresStore
    from clew.store.postgres.tables import PostgresTables
    from clew.store.values import ClockDoubt

__all__ = ["KIND", "PostgresKind", "PostgresLocation"]

_INSTALL: Final = "install clew with its extra, `uv tool install 'clew[postgres]'`, or `pip install 'psycopg[binary]'`"


class PostgresLocation(NamedTuple):
    """A `StoreLocation`: an address, behind which a server may be or not."""

    url: str
    spool: Path
    """A folder of this machine for turns that the server does not take in time."""

    def describe(self) -> str:
        from clew.store.postgres.database import describe_url

        return describe_url(self.url)

    def exists(self) -> bool:
        """Whether clew's tables are in the database. True also if the server does not answer: opening the store then says
        why."""
        from clew.store.postgres.schema import schema_version

        try:
            with self._connected() as database:
                return schema_version(database) is not None
        except StoreError:
            return True

    def is_readable(self) -> bool:
        return self.exists()

    @property
    def is_shared(self) -> bool:
        return True

    def files(self) -> tuple[Path, ...]:
        return ()

    def open(
        self, *, content: bool, bodies: int | None, serves: bool = False, seal_keys: Sequence[str] = ()
    ) -> PostgresStore:
        check_driver()
        from clew.store.postgres.store import PostgresStore

        spool = self.spool if serves else None
        return PostgresStore(self.url, content=content, keep=bodies, spool=spool, seal_keys=seal_keys)

    def tables(self) -> AbstractContextManager[PostgresTables]:
        check_driver()
        from clew.store.postgres.tables import open_tables

        return open_tables(self.url)

    def quick_look(self) -> QuickLook:
        raise StoreError(f"{self.describe()} is shared: a gateway knows what is in it")

    def examine(self, now: float) -> Iterator[StoreFinding]:
        from clew.store.postgres.examine import examine_server
        from clew.store.spool import examine_spool

        yield from examine_spool(self.spool)
        try:
            with self._connected() as database:
                yield from examine_server(database, self.describe())
        except StoreError as error:
            yield StoreFinding("broken", str(error), "start the server, or correct `[store] url`")

    def has_answers(self) -> bool:
        try:
            with self._connected() as database:
                return database.value("SELECT 1 FROM clew.recordings LIMIT 1") is not None
        except StoreError:
            return True

    def clock_doubt(self, now: float) -> ClockDoubt | None:
        from clew.store.postgres.retention import clock_doubt

        with self._connected() as database:
            return clock_doubt(database, now)

    def last_exchanges(self, principals: Iterable[str], limit: int) -> list[Exchange]:
        from clew.store.postgres.queries import exchanges
        from clew.store.postgres.schema import NEWEST, schema_version

        with self._connected() as database:
            if schema_version(database) != NEWEST:
                return []
            return [each for principal in principals for each, _ in exchanges(database, principal, None, limit)]

    def _connected(self) -> OpenDatabase:
        return OpenDatabase(self.url, self.describe())


class OpenDatabase:
    """A connection that is closed behind the block; what fails in the block is a StoreError."""

    def __init__(self, url: str, where: str) -> None:
        self._url = url
        self._where = where
        self._database: PostgresDatabase | None = None

    def __enter__(self) -> PostgresDatabase:
        check_driver()
        from clew.store.postgres.database import PostgresDatabase, raising_store_errors

        with raising_store_errors(self._where):
            self._database = PostgresDatabase(self._url)
        return self._database

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        from clew.store.postgres.database import store_error

        if self._database is not None:
            self._database.close()
        if isinstance(error, Exception) and not isinstance(error, StoreError):
            raise store_error(error, self._where) from error


def check_driver() -> None:
    """Raises SettingsInvalid if psycopg is not installed."""
    if find_spec("psycopg") is None:
        raise SettingsInvalid(f"`[store] url` names PostgreSQL, and its driver is not installed: {_INSTALL}")


class PostgresKind:
    """The kind of store that a database in PostgreSQL is: see `StoreKind`."""

    program: Final = "The driver for PostgreSQL is there, if the store is one."

    def examine_program(self) -> Iterator[StoreFinding]:
        """A store that needs the driver says so itself when it is opened."""
        if find_spec("psycopg") is None:
            yield StoreFinding("ok", "psycopg is not installed; only a store in PostgreSQL needs it")
            return
        import psycopg

        yield StoreFinding("ok", f"psycopg {psycopg.__version__}")

    def locate(self, address: str, root: Path) -> PostgresLocation:
        """`address` is what follows `postgresql:` in the URL."""
        return PostgresLocation(f"postgresql:{address}", root / "spool")


KIND: Final = PostgresKind()
