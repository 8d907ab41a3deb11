"""OpenRouter's `reasoning_details`, and LiteLLM's `thinking_blocks`: what of them is shown, and how their pieces join.

An entry goes back to its maker as it came, so pieces are joined only where the stream had cut one entry: texts and summaries
that follow each other under the same index and id, or in turns with others of their kind. A signature comes last, alone or
with the whole text once more, and belongs to the text before it. Encrypted entries, records of tools and types that nobody
knows are whole; they show nothing.
"""

from __future__ import annotations

from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import text_of

__all__ = ["DetailTexts", "join_entry", "without_told"]

_MEMBERS: Final = {"reasoning.text": "text", "reasoning.summary": "summary", "thinking": "thinking"}
"""The member that grows, by the type of the entry. Other types are whole."""
_IN_TURNS: Final = 16
"""How many entries may grow in turns."""


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
        text = text_of(entry.get(_MEMBERS.get(kind, "")))
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
        member = _MEMBERS.get(text_of(entry.get("type")), "")
        text = text_of(entry.get(member))
        new.append({**entry, member: text[count:]} if text and count else entry)
        count = max(0, count - len(text))
    return new


def join_entry(entries: list[JsonObject], entry: JsonObject) -> None:
    """Adds an entry to those before it, or to the one of them that it continues."""
    member = _MEMBERS.get(text_of(entry.get("type")))
    last = _continued(entries, entry)
    if member is None or last is None:
        entries.append(dict(entry))
        return
    before, more = text_of(last.get(member)), text_of(entry.get(member))
    repeats = bool(entry.get("signature")) and more == before
    known = {name for name, value in last.items() if value not in (None, "")}
    last.update({name: value for name, value in entry.items() if name not in known and name != member})
    if not repeats:
        last[member] = ""  # nobody else holds the text now, so it grows in place: there may be a delta for each word of it
        before += more
        last[member] = before


def _continued(entries: list[JsonObject], entry: JsonObject) -> JsonObject | None:
    """The last one, or before it, among those of its kind, the one with its very index."""
    index = entry.get("index")
    for at, before in enumerate(reversed(entries[-_IN_TURNS:])):
        if before.get("type") != entry.get("type"):
            return None
        named = at == 0 or (index is not None and before.get("index") == index)
        if named and _continues(before, entry):
            return before
    return None


def _continues(last: JsonObject, entry: JsonObject) -> bool:
    """A signed entry is finished; a member that only one of the two has does not tell them apart."""
    if last.get("signature"):
        return False
    pairs = ((last.get(name), entry.get(name)) for name in ("index", "id"))
    return all(ours == theirs or ours is None or theirs is None for ours, theirs in pairs)
