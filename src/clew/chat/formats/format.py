"""A format: its name, its writer, its reader if it has one, and what it loses.

A writer is a pure function from a thread and its turns to bytes. A reader goes from lines to turns, one by one, so that a
file of any size needs no more memory than its largest answer. What a format cannot hold is data (`losses`): the help, the
docs and the export command show the same sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from clew.model.recording import Recording, Recordings
from clew.model.turn import TurnRecord
from clew.store.values import Thread
from clew.thinking.seal import Sealer

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions of a decoder for bytes that are not what they should be."""

KNOWN: Final = "known already"
"""The kind of a skipped answer that was recorded before."""


class NumberedLine(NamedTuple):
    """A line of a file, counted from 1, without its line break."""

    number: int
    raw: bytes


class BrokenLine(Struct, frozen=True):
    """A line that cannot be read, and why. The rest of its file is still read."""

    line: int
    why: str


class Skipped(Struct, frozen=True):
    """Something that adds nothing to a conversation, and its kind."""

    kind: str


ReadItem: TypeAlias = Thread | TurnRecord | BrokenLine | Skipped
"""One result of a reader. A thread comes before its turns, if the format names threads."""


class ImportContext(Struct, frozen=True, kw_only=True):
    """For which principal a file is read, and what is recorded already."""

    principal: str
    known: Recordings
    thread_of: Callable[[str, str], str | None]
    """The thread with this session and agent."""
    at: float
    """The time for everything in the file that has no time of its own."""
    sealer: Sealer | None = None
    """Opens seals; without it a seal counts as absent."""
    followers: Callable[[str, str], Sequence[Recording]] = lambda thread, answer: ()
    """The answers of a thread that followed this one."""


Write: TypeAlias = Callable[[Thread, Sequence[TurnRecord]], Iterator[bytes]]
Read: TypeAlias = Callable[[Iterable[NumberedLine], ImportContext], Iterator[ReadItem]]


class Format(Struct, frozen=True, kw_only=True):
    """One way to write a conversation to a file."""

    name: str
    suffix: str
    does: str
    losses: tuple[str, ...]
    write: Write
    read: Read | None = None
    fits: Callable[[bytes], bool] | None = None
    """Do the first bytes of a file look like this format?"""
    head: bytes = b""
    """Written once, before all threads."""
    foot: bytes = b""
