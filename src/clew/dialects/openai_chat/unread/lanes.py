"""Which words need no reading just now, because they only make the open block longer.

What a delta means depends on what came before it: whether tags count, whether another field said the same, whether a call
waits. Here the decoder is asked for that once, and its answer, a `Lane`, holds until the next event is read. What went by on
a lane is told to the decoder afterwards, so that it knows all that it would know if it had read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct

from clew.dialects.openai_chat.answer.scribes import Kind, front_of
from clew.dialects.openai_chat.answer.snapshots import Snapshots
from clew.dialects.openai_chat.answer.tags import Tags
from clew.dialects.openai_chat.answer.telling import Telling
from clew.dialects.openai_chat.unread.literals import ANY, IN_TAGS, PLAIN, THOUGHT, Literals
from clew.dialects.openai_chat.unread.moulds import Member

__all__ = ["UNBOUND", "Lane", "Lanes", "Note"]

UNBOUND: Final = 1 << 62
_BACK: Final = b'"}}\n\n'


Note: TypeAlias = Callable[[str], None]
"""Hears what was said."""


class Lane(Struct, frozen=True):
    """Where words of one member go. `head` and `tail` stand around each on its way to the client."""

    literals: Literals
    head: bytes
    tail: bytes
    note: Note | None = None
    """Wants to hear afterwards what went by."""
    most: int = UNBOUND
    """The bytes of a word: one that says as much as all arguments so far may be their repetition."""

    @property
    def around(self) -> int:
        """The bytes of a delta besides its word."""
        return len(self.head) + len(self.tail)

    def told(self, words: list[bytes]) -> bytes:
        """The deltas with these words."""
        return b"%b%b%b" % (self.head, (self.tail + self.head).join(words), self.tail)


class Lanes:
    """`snapshots`: where deltas may repeat what came before, what is known about that by channel."""

    def __init__(self, telling: Telling, tags: Tags, snapshots: Mapping[str, Snapshots] | None) -> None:
        self._telling = telling
        self._tags = tags
        self._snapshots = snapshots

    def at(self, member: Member) -> Lane | None:
        """The lane that words of this member take now; None if they have to be read."""
        if member.name == "tool_calls":
            return self._call(member)
        if not self._are_pieces(member.name):
            return None
        return self._content() if member.name == "content" else self._thought(member.name, THOUGHT)

    def _are_pieces(self, channel: str) -> bool:
        if self._snapshots is None:
            return True
        return channel in self._snapshots and self._snapshots[channel].are_pieces

    def _content(self) -> Lane | None:
        match self._tags.settled:
            case "text":
                return self._lane("text", ANY, self._kept("text")) if self._telling.says_on() else None
            case "text for now":
                return self._lane("text", PLAIN, self._kept("text", self._tags.passed)) if self._telling.says_on() else None
            case "thought":
                return self._thought("tags", IN_TAGS)
            case _:
                return None

    def _thought(self, channel: str, literals: Literals) -> Lane | None:
        if not self._telling.thinks_on(channel):
            return None
        return self._lane("thinking", literals, partial(self._telling.thought_on, channel))

    def _call(self, member: Member) -> Lane | None:
        call = self._telling.calls_on(member.place, member.call_id)
        if call is None or not self._tags.is_idle:
            return None
        return self._lane("tool_use", ANY, self._kept("tool_use", call.passed), call.size - 1)

    def _kept(self, kind: Kind, note: Note | None = None) -> Note | None:
        """This note, and that of the open block where what it says is kept."""
        blocks = self._telling.blocks
        if kind not in blocks.keeps:
            return note
        return blocks.passed if note is None else partial(_to_both, note, blocks.passed)

    def _lane(
        self,
        kind: Kind,
        literals: Literals,
        note: Note | None = None,
        most: int = UNBOUND,
    ) -> Lane:
        return Lane(literals, front_of(kind, self._telling.blocks.index) + b'"', _BACK, note, most)


def _to_both(first: Note, second: Note, text: str) -> None:
    first(text)
    second(text)
