"""A real PostgreSQL for tests: one server for each test process, one database for each test.

The binaries are those that `CLEW_TEST_PG` names (a folder), those on the machine, or those on the PATH. A server does not run
as root, so there it runs as the user `postgres`. Its files are in a temporary folder, its socket too: no port is opened.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Final

import psycopg

from clew.store.postgres.store import PostgresStore
from tests.waiting import until

HOW: Final = (
    "these tests need the programs of PostgreSQL 14 or newer: install them (Debian: `apt-get install postgresql`), "
    "or name their folder in CLEW_TEST_PG"
)
_NUMBERS = count()
_SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "max_wal_size": "200MB",
}
_UNSAFE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For tests that kill no server: a commit then waits for no disk."""


class PostgresServer:
    """A server of our own, from `start` to `stop`."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._settings = _SETTINGS | settings
        self._user = _unprivileged_user()

    def make(self) -> None:
        """Make the files of an empty server."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._user:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        lines = [f"{name} = '{value}'" for name, value in self._settings.items()]
        lines.append(f"unix_socket_directories = '{self.folder}'")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Returns when it takes connections."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is as if it had been killed."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", mode, "stop")

    def kill(self) -> None:
        """`kill -9` of the server. Returns when its processes are gone, which end by themselves when they miss it."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        until(lambda: not any(map(self._is_ours, Path("/proc").glob("[0-9]*/cwd"))))
        for lock in (self.data / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
            lock.unlink()  # where nobody asks how the process ended, its number counts as that of a living one

    def _is_ours(self, directory: Path) -> bool:
        """All processes of a server work in the folder of its data."""
        try:
            return directory.readlink() == self.data
        except OSError:
            return False

    def configure(self, **settings: str) -> None:
        """Change settings that need no restart."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            connection.execute("SELECT pg_reload_conf()")

    @contextmanager
    def standby(self) -> Generator[PostgresServer]:
        """A second server that follows this one, until it is promoted."""
        second = PostgresServer(self.folder.with_name("standby"))
        second.folder.mkdir()
        if self._user:
            shutil.chown(second.folder, self._user)
        self._run("pg_basebackup", "-h", str(self.folder), "-U", "postgres", "-D", str(second.data), "-R", "-X", "stream")
        with (second.data / "postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{second.folder}'\n")
        second.start()
        try:
            yield second
        finally:
            with suppress(AssertionError):
                second.stop("immediate")

    def stop_following(self) -> None:
        """A standby gets nothing any more from its primary, as where the network between them is gone."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
            until(lambda: not connection.execute("SELECT pid FROM pg_stat_wal_receiver").fetchall())

    def promote(self) -> None:
        """Returns when it is a primary."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "promote")

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def create(self, template: str = "template0") -> str:
        """The URL of a new database: an empty one, or a copy of another of this server."""
        name = f"test_{next(_NUMBERS)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def _run(self, program: str, *arguments: str) -> None:
        prefix: Sequence[str] = ()
        if self._user:
            prefix = ("setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--clear-groups")
        command = [*prefix, str(binaries() / program), *arguments]
        done = subprocess.run(command, capture_output=True, cwd=self.folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: {(done.stderr or done.stdout).decode()}")


@lru_cache
def binaries() -> Path:
    """The folder of the programs. Fails with what to do where there are none."""
    if named := os.environ.get("CLEW_TEST_PG"):
        return Path(named)
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if installed:
        return installed[-1]
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    raise AssertionError(HOW)


@contextmanager
def private_server(**settings: str) -> Generator[PostgresServer]:
    """One that a test may stop and kill, with commits that wait for the disk. (Not in a folder of pytest's, which other users
    may not enter.)"""
    with tempfile.TemporaryDirectory(prefix="clew-pg-") as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder) / "server", **settings)
        server.make()
        server.start()
        try:
            yield server
        finally:
            with suppress(AssertionError):  # it may be stopped already
                server.stop("immediate")


@lru_cache
def shared_server() -> PostgresServer:
    """The one of this test process, stopped at its end. It does not outlive a crash of the machine."""
    folder = Path(tempfile.mkdtemp(prefix="clew-pg-"))
    folder.chmod(0o755)
    server = PostgresServer(folder / "server", **_UNSAFE)
    server.make()
    server.start()

    def end() -> None:
        server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return server


@lru_cache
def _template() -> str:
    """A database of the shared server that has clew's tables, and nothing in them."""
    url = shared_server().create()
    PostgresStore(url).close()
    return url.split("/")[3].partition("?")[0]


def prepared_url() -> str:
    """The URL of a new database that has clew's tables: a copy is made sooner than tables are."""
    return shared_server().create(_template())


def _unprivileged_user() -> str:
    """As whom the server runs; "" for the user that runs the tests."""
    if os.geteuid() != 0:
        return ""
    names = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
