"""OpenRouter's `reasoning_details`, and LiteLLM's `thinking_blocks`: what of them is shown, and how their pieces join.

An entry goes back to its maker as it came, so pieces are joined only where the stream had cut one entry: texts and summaries
that follow each other under the same index and id, or in turns with others of their kind. A signature comes last, alone or
with the whole text once more, and belongs to the text before it. Encrypted entries, records of tools and types that nobody
knows are whole; they show nothing.
"""

from __future__ import annotations

from clew.dialects.openai_chat.payloads import TEXT_MEMBERS
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import text_of

__all__ = ["DetailTexts", "without_told"]


class DetailTexts:
    """The visible text of entries as they come. Parts of a summary come without anything between them: a blank line is."""

    __slots__ = ("_part", "_unsigned")

    def __init__(self) -> None:
        self._part: tuple[JsonValue, JsonValue] | None = None
        self._unsigned: list[str] = []

    def of(self, entries: list[JsonObject]) -> str:
        return "".join(map(self._text, entries))

    def _text(self, entry: JsonObject) -> str:
        kind = text_of(entry.get("type"))
        text = text_of(entry.get(TEXT_MEMBERS.get(kind, "")))
        if self._repeats(entry, text):
            return ""
        return self._parted(entry, text) if kind == "reasoning.summary" and text else text

    def _repeats(self, entry: JsonObject, text: str) -> bool:
        """Whether the entry that signs a text says all of it again."""
        if not entry.get("signature"):
            self._unsigned.append(text)
            return False
        before, self._unsigned = "".join(self._unsigned), []
        return bool(text) and text == before

    def _parted(self, entry: JsonObject, text: str) -> str:
        part = (entry.get("index"), entry.get("id"))
        changed = self._part is not None and part != self._part
        self._part = part
        return "\n\n" + text if changed else text


def without_told(entries: list[JsonObject], count: int) -> list[JsonObject]:
    """The entries without the first `count` characters that they show, which a snapshot has only repeated."""
    new: list[JsonObject] = []
    for entry in entries:
        member = TEXT_MEMBERS.get(text_of(entry.get("type")), "")
        text = text_of(entry.get(member))
        new.append({**entry, member: text[count:]} if text and count else entry)
        count = max(0, count - len(text))
    return new
