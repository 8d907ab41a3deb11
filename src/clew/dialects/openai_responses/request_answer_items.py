"""The items of one answer, in the order in which the model said them.

Neighbouring texts are one message. A thought goes once something follows it: alone it would be refused. A message says
whether it is a comment before calls or the final answer (`phase`), where the backend's messages have that: as its maker
said it, if the thought before it tells, and else by what follows.
"""

from __future__ import annotations

from msgspec import Raw

from clew.dialects.openai.parts import Part
from clew.model.json import JsonObject


class AnswerItems:
    """Takes what one answer says, and puts it behind the items before."""

    def __init__(self, phases: bool, items: list[object], last_call: int) -> None:
        self.start = len(items)
        self.has_thought = False
        self.has_call = False
        self._items = items
        self._phases = phases
        self._last_call = last_call
        self._texts: list[Part] = []
        self._text_at = 0
        self._pending: list[tuple[JsonObject | Raw, str]] = []
        self._phase = ""

    @property
    def is_empty(self) -> bool:
        return len(self._items) == self.start

    def think(self, item: JsonObject | Raw | None, phase: str, path: str) -> None:
        self.flush()
        self._phase = phase
        if item is not None:
            self._pending.append((item, path))

    def say(self, text: str, at: int) -> None:
        self._text_at = at
        if text:
            self._texts.append({"type": "output_text", "text": text})

    def add(self, item: object, *, is_call: bool) -> None:
        self.flush()
        self._send_thoughts()
        self._items.append(item)
        self.has_call = self.has_call or is_call

    def flush(self) -> None:
        """Ends the message."""
        if not self._texts:
            return
        self._send_thoughts()
        message = message_item("assistant", self._texts)
        if self._phases:
            message["phase"] = self._phase or ("commentary" if self._text_at < self._last_call else "final_answer")
        self._items.append(message)
        self._texts, self._phase = [], ""

    def end(self) -> list[str]:
        """Ends the answer; the paths of thoughts that nothing followed."""
        self.flush()
        others = [isinstance(item, dict) and item.get("type") != "reasoning" for item, _ in self._pending]
        alone = [path for (_, path), is_other in zip(self._pending, others, strict=True) if not is_other]
        self._items += [item for (item, _), is_other in zip(self._pending, others, strict=True) if is_other]
        self._pending = []
        return alone

    def _send_thoughts(self) -> None:
        self.has_thought = self.has_thought or bool(self._pending)
        self._items += [item for item, _ in self._pending]
        self._pending = []


def message_item(role: str, parts: list[Part]) -> dict[str, object]:
    return {"type": "message", "role": role, "content": list(parts)}
