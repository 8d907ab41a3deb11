"""What an answer holds that the client's dialect has no block for: images, sounds, references, and what nobody knows yet.

It is named to whoever asked (law 6), each kind once. What of it can be read is said: the words of a refusal that stands
among the parts, and the transcript of a sound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.loose_json import object_of, text_of

__all__ = ["Unsaid", "left_out"]

_BESIDE: Final = {"images": "image", "audio": "audio", "annotations": "annotation"}
"""Members of a delta, and what they hold."""
_WORDS: Final = frozenset({"", "text", "output_text", "thinking", "refusal"})
_LONGEST = 40


def left_out(kind: str) -> Change:
    """As the exchange tells it."""
    return Change("openai_chat", "answer", "left out", f"a part of type {kind!r}: the Messages API has no block for it")


class Unsaid:
    """Of one answer. Each kind is told once."""

    __slots__ = ("_seen", "_tell")

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._seen: set[str] = set()

    def beside(self, delta: JsonObject) -> str:
        """Looks through the members of a delta; what is said in them."""
        for name, kind in _BESIDE.items():
            if delta.get(name):
                self._note(kind)
        audio = delta.get("audio")
        return text_of(object_of(audio).get("transcript")) if audio else ""

    def among(self, part: JsonObject) -> None:
        """Looks at one part of a content list."""
        kind = text_of(part.get("type"))
        if kind not in _WORDS:
            self._note(kind)

    def _note(self, kind: str) -> None:
        kind = kind[:_LONGEST]
        if kind not in self._seen and len(self._seen) < _LONGEST:
            self._seen.add(kind)
            self._tell(kind)
