"""MissingUsage: what clients get in an answer whose backend counts nothing.

Clients read usage without asking whether it is there, so it always is. The output is estimated from what came, and marked as
an estimate; the input is not known here. What is recorded stays as the backend said it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clew.model.events import BlockDelta, BlockStart, Event, MessageDelta, MessageStart
from clew.model.json import JsonObject, JsonValue
from clew.model.tokens import OUTPUT_ESTIMATED, TokenTally, tokens_of


def lacks_usage(event: Event) -> bool:
    """Whether it is an event that reports usage, and does not."""
    if isinstance(event, MessageStart):
        return not isinstance(event.message.get("usage"), dict)
    return isinstance(event, MessageDelta) and event.usage is None


class MissingUsage:
    """The usage of one streamed answer whose first event had none."""

    __slots__ = ("_tally",)

    def __init__(self) -> None:
        self._tally = TokenTally()

    def note(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, BlockDelta):
                for member in ("text", "thinking", "partial_json"):
                    if isinstance(text := event.delta.get(member), str):
                        self._tally.add(text)
            elif isinstance(event, BlockStart) and isinstance(name := event.content_block.get("name"), str):
                self._tally.add(name)

    def at_end(self) -> JsonObject:
        return _output(self._tally.total())


def usage_of_uncounted(message: JsonObject) -> JsonObject:
    """The usage of an answer that came whole without one."""
    return {"input_tokens": 0, **_output(heard_tokens(message))}


def _output(about: int) -> JsonObject:
    return {"output_tokens": about, OUTPUT_ESTIMATED: True} if about else {"output_tokens": 0}


def heard_tokens(message: JsonObject) -> int:
    """About how many tokens the words of a message have."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return round(sum(tokens_of(_words_of(block).encode("utf-8", "replace")) for block in blocks))


def _words_of(block: JsonValue) -> str:
    match block:
        case {"type": "text", "text": str(words)} | {"type": "thinking", "thinking": str(words)}:
            return words
        case {"name": str(name), "input": given}:
            return f"{name} {msgspec.json.encode(given).decode()}"
        case _:
            return ""
