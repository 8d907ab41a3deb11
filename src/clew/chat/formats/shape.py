"""What a format is: a name, a writer, perhaps a reader, and what it loses.

A writer is a pure function from a thread and its turns to bytes; a reader goes from lines to turns, one by one, so that a
file of any size needs no more memory than its largest answer. What a format cannot say is data (`losses`): the help, the
docs and the command itself tell it in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from clew.model.recording import Recording, Recordings
from clew.store.values import Thread, Turn
from clew.thinking.seal import Sealer

__all__ = ["KNOWN", "UNREADABLE", "Broken", "Format", "Found", "Numbered", "Passed", "Read", "Reading", "Write"]

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises for bytes that are not what they should be."""

KNOWN: Final = "known already"
"""The kind of what is passed over because it was recorded before."""


class Numbered(NamedTuple):
    """A line of a file, counted from 1, without its end."""

    number: int
    raw: bytes


class Broken(Struct, frozen=True):
    """A line that cannot be read, and why. Everything else of its file is."""

    line: int
    why: str


class Passed(Struct, frozen=True):
    """Something that adds nothing to a conversation, and its kind."""

    kind: str


Found: TypeAlias = Thread | Turn | Broken | Passed
"""What a reader finds. A thread stands before its turns, where the format knows of it."""


class Reading(Struct, frozen=True, kw_only=True):
    """For whom a file is read, and what is known already."""

    principal: str
    known: Recordings
    thread_of: Callable[[str, str], str | None]
    """The thread that has this session and agent."""
    at: float
    """The time of what says no time of its own."""
    sealer: Sealer | None = None
    """Opens seals; without it a seal counts as absent."""
    followers: Callable[[str, str], Sequence[Recording]] = lambda thread, answer: ()
    """The answers of a thread that followed this one."""


Write: TypeAlias = Callable[[Thread, Sequence[Turn]], Iterator[bytes]]
Read: TypeAlias = Callable[[Iterable[Numbered], Reading], Iterator[Found]]


class Format(Struct, frozen=True, kw_only=True):
    """One way to write a conversation down."""

    name: str
    suffix: str
    does: str
    losses: tuple[str, ...]
    write: Write
    read: Read | None = None
    fits: Callable[[bytes], bool] | None = None
    """Whether the first bytes of a file look like it."""
    head: bytes = b""
    """What stands once, before all threads."""
    foot: bytes = b""
