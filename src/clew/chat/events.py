"""What is told of an answer while it comes: pieces of thought and text, calls, and the end.

A call is told when it is whole, as a `ToolCall`. The end is told once the turn is in the store.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from clew.chat.messages import Message, ToolCall
from clew.chat.turns import Turn

__all__ = ["AnswerEvent", "Compacted", "Ended", "TextDelta", "ThinkingDelta"]


class TextDelta(Struct, frozen=True):
    """A piece of the answer's text.

    >>> TextDelta("Hello").text
    'Hello'
    """

    text: str


class ThinkingDelta(Struct, frozen=True):
    """A piece of what the model thinks, where it shows that.

    >>> ThinkingDelta("Let me see.").text
    'Let me see.'
    """

    text: str


class Ended(Struct, frozen=True):
    """The answer is whole, and kept: the last that is told.

    >>> from clew import Message
    >>> Ended(Message(role="assistant", content="Hello"), None).message.content
    'Hello'
    """

    message: Message
    turn: Turn | None


class Compacted(Struct, frozen=True):
    """The conversation had become too long, and goes on from a summary: what follows is told of a new line.

    `before` is the question that did not fit, `summary` the turn in which the model wrote it.

    >>> from clew import Turn
    >>> refused = Turn(id="1a", at=0.0, asked=(), answer=None, outcome="refused")
    >>> written = Turn(id="1b", at=1.0, asked=(), answer=None, outcome="whole", is_summary=True)
    >>> Compacted(refused, written).summary.is_summary
    True
    """

    before: Turn
    summary: Turn


AnswerEvent: TypeAlias = TextDelta | ThinkingDelta | ToolCall | Compacted | Ended
"""Everything that an answer tells."""
