"""The events of an answer: pieces of thinking and text, calls, and the end.

A call is one event, a `ToolCall`, when it is complete. The end comes when the turn is in the store.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from clew.chat.messages import Message, ToolCall
from clew.chat.turns import Turn


class TextDelta(Struct, frozen=True):
    """A piece of the answer's text.

    >>> TextDelta("Hello").text
    'Hello'
    """

    text: str


class ThinkingDelta(Struct, frozen=True):
    """A piece of the model's thinking, if the model shows it.

    >>> ThinkingDelta("Let me see.").text
    'Let me see.'
    """

    text: str


class Ended(Struct, frozen=True):
    """The answer is whole and stored: the last event.

    >>> from clew import Message
    >>> Ended(Message(role="assistant", content="Hello"), None).message.content
    'Hello'
    """

    message: Message
    turn: Turn | None


class Compacted(Struct, frozen=True):
    """The conversation was too long, and continues from a summary: the following events belong to a new line.

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
"""Every event of an answer."""
