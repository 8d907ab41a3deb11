"""What was chosen for all requests, and for which threads, as this machine read it last: for a gateway that starts while the
database is away. It has nothing in memory then, and would otherwise send a pinned thread to any backend, or none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, structs

NAME: Final = "choices-known.json"


class PinnedThread(NamedTuple):
    principal: str
    thread: str
    backend: str
    session: str
    agent: str


class _Kept(Struct, frozen=True, kw_only=True):
    where: str
    """The database. What was chosen in another one says nothing."""
    settings: Mapping[str, str] = {}
    pins: tuple[PinnedThread, ...] = ()


class KnownChoices:
    """One file. Any thread may use it."""

    def __init__(self, file: Path, where: str) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._kept = _Kept(where=where)
        with suppress(OSError, msgspec.MsgspecError):
            kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
            self._kept = kept if kept.where == where else self._kept

    @property
    def settings(self) -> Mapping[str, str]:
        return self._kept.settings

    @property
    def pins(self) -> Sequence[PinnedThread]:
        return self._kept.pins

    def note_settings(self, settings: Mapping[str, str]) -> None:
        with self._lock:
            self._keep(structs.replace(self._kept, settings=dict(settings)))

    def note_pins(self, pins: Sequence[PinnedThread]) -> None:
        with self._lock:
            self._keep(structs.replace(self._kept, pins=tuple(pins)))

    def _keep(self, kept: _Kept) -> None:
        """A disk that is full costs no more than the file."""
        if kept == self._kept:
            return
        self._kept = kept
        half = self._file.with_suffix(".half")
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(kept))
            half.replace(self._file)
