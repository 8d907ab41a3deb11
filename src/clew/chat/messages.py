"""Messages as an app keeps them: one plain value for every role, and the maker's own blocks beside what they say.

`content` and `tool_calls` are for people and tools to read. `raw_content` is what the model said, block by block, and the
only thing that thinking is ever sent back from: text cannot be turned into a signed block again. `origin` says who made it,
so that it goes back to those who can read it and to nobody else.
"""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import Origin

__all__ = ["Message", "Role", "ToolCall"]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class ToolCall(Struct, frozen=True):
    """A call that a model made. `arguments` is JSON text, as models write it. If what it wrote is no JSON object, that is
    what `arguments` has, at least its beginning: such a call must not be run.

    >>> ToolCall(id="t1", name="weather", arguments='{"city": "Rome"}').name
    'weather'
    """

    id: str
    name: str
    arguments: str = "{}"


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation, as it is kept and shown.

    A `tool` message answers the call `tool_call_id`. `raw_content` is a list of blocks where text and calls do not say all;
    on a user's or a tool's message it may hold pictures and the like. `to_json` and `from_json` lose nothing.

    >>> asked = Message(role="user", content="Why is the sky blue?")
    >>> asked.to_json()
    '{"role": "user", "content": "Why is the sky blue?"}'
    >>> Message.from_json(asked.to_json()) == asked
    True
    """

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    is_error: bool = False
    """Of a tool: it did not work, and `content` says why."""
    raw_content: JsonValue = None
    origin: Origin | None = None
    """Who made it; None if nobody noted it."""
    stop_reason: str | None = None
    usage: JsonObject | None = None

    def to_json(self) -> str:
        """As JSON text, on one line. Raises RequestInvalid for what JSON cannot say."""
        try:
            return json.dumps(msgspec.to_builtins(self), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise RequestInvalid(f"the message cannot be written as JSON: {error}") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Message:
        """The message that `to_json` wrote. Raises RequestInvalid."""
        try:
            return msgspec.convert(json.loads(text), cls)
        except (ValueError, RecursionError) as error:  # a wrong shape is a ValueError too
            raise RequestInvalid(f"this is no message: {error}") from None
