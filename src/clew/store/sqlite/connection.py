"""Connections to the file: who may touch it, and how every one of them is set.

The file holds people's words, so it is 0600 in a directory that only its owner can write to (made 0700); SQLite gives its
`-wal` and `-shm` files the same mode. A file that others can read is refused and not repaired: it may have been read
already.

WAL lets readers and one writer of any number of processes work at once. `synchronous=FULL` makes a commit survive a power
cut. `secure_delete` overwrites what is deleted, because deleting a thread must delete it. Checkpoints are made by the writer
after its commits are acknowledged, never inside one. A SQLite before 3.51.3 can damage such a file when one connection makes
a checkpoint while another writes, so it is refused (apsw brings a newer one, unless it was built with another).
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import apsw

from clew.errors import StoreError
from clew.store.sqlite.database import Database
from clew.store.sqlite.foreign import mapped

__all__ = ["BUSY", "connect", "immediate", "locked", "prepare_file"]

BUSY = 5.0
"""Seconds to wait for another process's transaction. Ours take a millisecond; this is for a machine that is stuck."""

OLDEST_SQLITE = (3, 51, 3)

_JOURNAL_LIMIT = 16 << 20
_CACHE_KILOBYTES = 512
"""For each connection. A turn touches eighteen pages; SQLite's own 2,000 make no commit cheaper, and stay once filled."""


def prepare_file(path: Path) -> None:
    """Make directory and file if they are not there, private from the first moment; refuse those that are not private."""
    _check_version(apsw.sqlite_lib_version(), path)
    with mapped(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        if not path.is_file():
            raise StoreError(
                f"{path} is a directory or a device, not a file: move it away, or name another file in `[store] url`",
                file=str(path),
            )
        _check(path, path.stat().st_mode, stat.S_IRWXG | stat.S_IRWXO, "600")
        _check(path.parent, path.parent.stat().st_mode, stat.S_IWGRP | stat.S_IWOTH, "700")


def _check_version(linked: str, path: Path) -> None:
    if tuple(int(part) for part in linked.split(".")) < OLDEST_SQLITE:
        raise StoreError(
            f"{path} is not opened with SQLite {linked}, which can damage it (fixed in 3.51.3): "
            "install apsw from its wheel, which brings a newer one",
            file=str(path),
        )


def _check(path: Path, mode: int, forbidden: int, better: str) -> None:
    if mode & forbidden:
        raise StoreError(
            f"{path} can be used by others (mode {stat.S_IMODE(mode):04o}), and what it holds is private: "
            f"run `chmod {better} {path}`",
            file=str(path),
        )


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Only one process at a time sets up a file: the switch to WAL does not wait for its turn by itself."""
    with mapped(path):
        descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def connect(path: Path, *, read_only: bool = False, busy: float = BUSY, vfs: str | None = None) -> Database:
    """A connection with everything set. `vfs` is a layer under SQLite, by which tests make disks fail."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    connection = cast(Database, apsw.Connection(str(path), flags=flags, vfs=vfs))
    connection.set_busy_timeout(int(busy * 1000))
    connection.pragma("cache_size", -_CACHE_KILOBYTES)
    if not read_only:
        _set_up(connection)
    return connection


def _set_up(connection: Database) -> None:
    if connection.pragma("page_count") == 0:
        connection.pragma("auto_vacuum", 2)  # incremental: what retention frees can be given back bit by bit
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", 2)
    connection.pragma("secure_delete", 1)
    connection.pragma("temp_store", 2)  # in memory: no file besides these ever holds a word
    connection.pragma("journal_size_limit", _JOURNAL_LIMIT)


@contextmanager
def immediate(connection: Database) -> Generator[None]:
    """A transaction that is a writer's from its start, so that it cannot find itself overtaken in the middle."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some failures have rolled back by themselves
            connection.execute("ROLLBACK")
        raise
