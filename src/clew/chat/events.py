"""What is told of an answer while it comes: pieces of thought and text, calls, and the end.

A call is told when it is whole, as a `ToolCall`. The end is told once the turn is in the store.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from clew.chat.messages import Message, ToolCall
from clew.chat.turns import Turn

__all__ = ["Ended", "Said", "TextDelta", "ThinkingDelta"]


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


Said: TypeAlias = TextDelta | ThinkingDelta | ToolCall | Ended
"""Everything that an answer tells."""
