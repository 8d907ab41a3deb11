"""The spool: turns that a shared database could not take, in files of this machine until it can.

Each turn is a file of its own. It is written under another name, synced, and renamed: a file is there whole or not at all.
Its name begins with the time of the turn, so the names sort in the order of the turns. Bodies are not kept here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from clew.errors import RecordCorrupt
from clew.model.turn import Charge, Exchange, NativeTurn, TurnRecord
from clew.store.kinds import StoreFinding
from clew.store.rows import columns_of, recording_of_row

_END: Final = ".turn"
UNREADABLE: Final = ".unreadable"
"""The end of the name of a file that was set aside."""
_VERSION: Final = 1


class SpooledTurn(Struct, frozen=True, array_like=True):
    """A turn as it stands in a file. Its recording is packed as for a database: a model's words may be no valid text."""

    version: int
    exchange: Exchange
    recording: bytes | None
    asked: tuple[bytes, ...]
    title: str
    native: NativeTurn | None
    created: float | None
    readable: bool
    charges: tuple[Charge, ...] = ()

    @property
    def turn(self) -> TurnRecord:
        """Raises RecordCorrupt."""
        recording = None if self.recording is None else recording_of_row(tuple(msgspec.msgpack.decode(self.recording)))
        return TurnRecord(
            exchange=self.exchange,
            recording=recording,
            asked=self.asked,
            title=self.title,
            native=self.native,
            created=self.created,
            charges=self.charges,
        )


class Spool:
    """One folder of turns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, turn: TurnRecord, *, readable: bool) -> Path:
        """Write a turn, and return when it survives a power cut. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        recording = None if turn.recording is None else msgspec.msgpack.encode(columns_of(turn.recording))
        said = (turn.asked, turn.title, turn.native, turn.created)
        kept = SpooledTurn(_VERSION, turn.exchange, recording, *said, readable, turn.charges)
        path = self._folder / f"{int(turn.exchange.ended * 1e6):020d}-{turn.exchange.id}{_END}"
        half = path.with_suffix(".half")
        with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(encoded_turn(kept))
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return path

    def waiting(self) -> list[Path]:
        """The files, oldest turn first. Raises OSError."""
        return sorted(self._folder.glob(f"*{_END}")) if self._folder.is_dir() else []

    def read(self, path: Path) -> SpooledTurn:
        """Raises RecordCorrupt and OSError."""
        try:
            kept = msgspec.msgpack.decode(path.read_bytes(), type=SpooledTurn)
        except msgspec.MsgspecError as error:
            raise RecordCorrupt(f"{path} is no turn that can be read: {error}", file=str(path)) from error
        if kept.version != _VERSION:
            raise RecordCorrupt(f"{path} was written by another clew (version {kept.version})", file=str(path))
        return kept

    def drop(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            path.unlink()


def examine_spool(folder: Path) -> Iterator[StoreFinding]:
    """What waits in a spool, for `clew doctor`."""
    if waiting := len(Spool(folder).waiting()):
        says = f"turns on this machine alone: {waiting:,}, in {folder}"
        yield StoreFinding(
            "warning", says, "a running gateway sends them when the database takes them: start one with this home"
        )
    if aside := len([*folder.glob(f"*{UNREADABLE}")]):
        says = f"files in {folder} that are no turns that can be read, and were set aside: {aside:,}"
        yield StoreFinding(
            "warning", says, "keep them if a newer clew wrote them, and start that one; delete them otherwise"
        )


def encoded_turn(kept: SpooledTurn) -> bytes:
    try:
        return msgspec.msgpack.encode(kept)
    except UnicodeEncodeError:  # half a surrogate pair in a name or a reason
        return msgspec.msgpack.encode(_clean(msgspec.to_builtins(kept, builtin_types=(bytes,))))


def _clean(value: Any) -> Any:
    """The same with texts that can be written."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in cast("dict[str, Any]", value).items()}
    return [_clean(each) for each in cast("list[Any]", value)] if isinstance(value, (list, tuple)) else value
