"""Joining: events whose texts are whole characters.

Some vendors write a character outside the basic plane as two escapes, and cut between them. Bytes may pass on like that; but
half a character is no text, and a program that prints or sends it fails. So a half at the end of a delta waits for the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from clew.model.events import BlockDelta, BlockStop, Event, altered
from clew.model.json import whole_text

_MEMBERS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_FIRST_HALF: Final = re.compile("[\ud800-\udbff]\\Z")
_MARK: Final = "\ufffd"


class Joining:
    """`feed` it the events of one answer: blocks come one after another."""

    def __init__(self) -> None:
        self._half = ""
        self._last: BlockDelta | None = None

    def feed(self, event: Event) -> Iterator[Event]:
        """The event, or what it is with what waited. A half that stays alone is the replacement mark."""
        if isinstance(event, BlockDelta) and event.kind in _MEMBERS:
            event = self._joined(event)
        elif isinstance(event, BlockStop) and self._half and self._last is not None:
            self._half = ""
            yield _saying(self._last, _MARK)
        yield event

    def _joined(self, event: BlockDelta) -> BlockDelta:
        own = str(event.delta[_MEMBERS[event.kind]])
        text = self._half + own
        self._half, self._last = (text[-1], event) if _FIRST_HALF.search(text) else ("", None)
        whole = whole_text(text[: len(text) - len(self._half)])
        return event if whole == own else _saying(event, whole)


def _saying(event: BlockDelta, text: str) -> BlockDelta:
    return altered(event, delta={**event.delta, _MEMBERS[event.kind]: text})
