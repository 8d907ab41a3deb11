"""What a delta says of the model's thinking, under any of its names.

One delta may say the same under several names, so the names have an order: the richest that has text is read, the others in
the same delta mirror it. An empty string never hides another field. Entries that show nothing (encrypted ones, signatures)
are kept beside the text.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from clew.dialects.openai_chat.answer.details import DetailTexts
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import object_of, objects_of, text_of

__all__ = ["FIELDS", "THOUGHTS", "Thought", "part_text", "signed_in", "thought_in", "word_of"]

FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Plain names, in the order in which they are believed."""
THOUGHTS: Final = frozenset((*FIELDS, "reasoning_details", "thinking_blocks"))
"""All names."""

_REDACTED: Final = re.compile(r"(?:\s*\[REDACTED\])+\s*")
"""Stands in the flat field for an encrypted entry. It is no text. (A space between two has one place in it: with two, there
are more ways to read a row of them than anybody can try.)"""


class Thought(Struct, frozen=True):
    """What one delta says. `channels` are the names that have text, the believed one first; `empty` is a name with ""."""

    text: str = ""
    channels: list[str] = field(default_factory=list[str])
    entries: dict[str, list[JsonObject]] = field(default_factory=dict[str, list[JsonObject]])
    empty: str = ""


_NOTHING: Final = Thought()


def thought_in(delta: JsonObject, details: DetailTexts, blocks: DetailTexts) -> Thought:
    """`details` and `blocks` remember from delta to delta what was last shown of such entries."""
    said = [name for name in delta.keys() & THOUGHTS if delta[name] is not None]
    if not said:
        return _NOTHING
    if len(said) == 1 and said[0] in FIELDS:
        return word_of(said[0], delta[said[0]])
    lists = {name: objects_of(delta.get(name)) for name in ("reasoning_details", "thinking_blocks")}
    texts = {
        "reasoning_details": details.of(lists["reasoning_details"]),
        **{name: _plain(delta.get(name)) for name in FIELDS},
        "thinking_blocks": blocks.of(lists["thinking_blocks"]),
    }
    channels = [name for name, text in texts.items() if text]
    return Thought(
        text=texts[channels[0]] if channels else "",
        channels=channels,
        entries={name: entries for name, entries in lists.items() if entries},
        empty=next((name for name in FIELDS if delta.get(name) == ""), ""),
    )


def word_of(name: str, said: JsonValue) -> Thought:
    """The same where there is only one plain name, as in most deltas."""
    text = _plain(said)
    return Thought(text, [name] if text else [], {}, name if said == "" else "")


def _plain(said: JsonValue) -> str:
    text = text_of(said)
    return "" if text.endswith("]") and _REDACTED.fullmatch(text) else text


def part_text(chunk: JsonObject) -> str:
    """The text of a thinking chunk in a content list; references in it show nothing."""
    thinking = chunk.get("thinking")
    if isinstance(thinking, str):
        return thinking
    return "".join(text_of(part.get("text")) for part in objects_of(thinking) if part.get("type") == "text")


def signed_in(delta: JsonObject) -> JsonObject:
    """The signature that a whole message bears, as it is to come back. Other members there only say what a delta is."""
    found: JsonObject = {}
    for host, given in object_of(delta.get("extra_content")).items():
        if signature := object_of(given).get("thought_signature"):
            found[host] = {"thought_signature": signature}
    return {"extra_content": found} if found else {}
