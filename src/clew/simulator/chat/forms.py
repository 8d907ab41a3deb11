"""How a vendor writes a thought: in a field of its own, in tagged entries, as a chunk of the content, in tags, or not.

A form is a function that writes one thought into what is said so far, whole and in deltas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from clew.model.json import JsonObject
from clew.simulator.chat.said import Said
from clew.simulator.chat.sealing import seal, sign
from clew.simulator.chat.vendors import Form, Traits
from clew.simulator.values import as_dict

__all__ = ["FORMS", "Thought", "accumulated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """One thought, and what its writing needs to know."""

    text: str
    pieces: Sequence[str]
    redacted: bool
    traits: Traits
    model: str
    secret: bytes
    salt: str
    """Of the answer: equal thoughts of two answers are sealed in two ways."""

    @property
    def data(self) -> str:
        return seal(self.secret, self.text, salt=self.salt)


def accumulated(pieces: Sequence[str]) -> list[str]:
    """Each piece with all before it: how some vendors stream."""
    return list(accumulate(pieces))


def _in_field(name: str) -> Callable[[Said, Thought], None]:
    """`reasoning_content` and its like; the mirrors say the same once more."""

    def write(said: Said, thought: Thought) -> None:
        if thought.redacted:
            return
        said.reasoning += thought.text
        for piece in thought.pieces:
            said.add("reasoning", dict.fromkeys((name, *thought.traits.mirrors), piece))

    return write


def _in_tags(said: Said, thought: Thought) -> None:
    """`<think>` around it, a blank line behind it, all in the content."""
    if thought.redacted:
        return
    said.reasoning += thought.text
    open_tag, close_tag = f"<{thought.traits.tag}>\n", f"\n</{thought.traits.tag}>\n\n"
    said.content += f"{open_tag}{thought.text}{close_tag}"
    pieces = [open_tag, *thought.pieces, close_tag]
    for piece in pieces:
        mirrored = dict.fromkeys(thought.traits.mirrors, piece) if piece in thought.pieces else {}
        said.add("content", {"content": piece, **mirrored})


def _in_chunks(said: Said, thought: Thought) -> None:
    """A chunk of the content that is a list."""
    if thought.redacted:
        return
    said.reasoning += thought.text
    said.chunks.append(_chunk(thought.text))
    for piece in thought.pieces:
        said.add("reasoning", {"content": [_chunk(piece)]})


def _chunk(text: str) -> JsonObject:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _hidden(said: Said, thought: Thought) -> None:
    """The vendor shows nothing of it."""


# Entries of reasoning_details, by whose they are.


def _in_details(said: Said, thought: Thought) -> None:
    _WRITERS[thought.traits.makes](said, thought)


def _text_entry(said: Said, thought: Thought) -> None:
    _entry_in_pieces(said, thought, {"type": "reasoning.text", "format": "unknown", "index": 0}, "text")


def _minimax_entry(said: Said, thought: Thought) -> None:
    number = len(said.details)
    head: JsonObject = {"type": "reasoning.text", "id": f"reasoning-text-{number + 1}", "format": "MiniMax-response-v1"}
    _entry_in_pieces(said, thought, {**head, "index": number}, "text")


def _gemini_entry(said: Said, thought: Thought) -> None:
    head: JsonObject = {"type": "reasoning.text", "format": "google-gemini-v1", "index": 0}
    _entry_in_pieces(said, thought, head, "text")


def _claude_entry(said: Said, thought: Thought) -> None:
    """Text, then its signature in a delta of its own. What was redacted is sealed."""
    head: JsonObject = {"format": "anthropic-claude-v1", "index": len(said.details)}
    if thought.redacted:
        _whole_entry(said, {"type": "reasoning.encrypted", "data": thought.data, **head})
        return
    signature = sign(thought.secret, thought.model, thought.text, salt=f"{thought.salt} {len(said.details)}")
    _entry_in_pieces(said, thought, {"type": "reasoning.text", **head}, "text")
    as_dict(said.details[-1])["signature"] = signature
    said.add("reasoning", {"reasoning_details": [{"type": "reasoning.text", "signature": signature, **head}]})


def _sealed_summary(form: str, prefix: str) -> Callable[[Said, Thought], None]:
    """A summary that is shown, and the whole under seal, with an id."""

    def write(said: Said, thought: Thought) -> None:
        head: JsonObject = {"format": form, "index": len(said.details)}
        if not thought.redacted:
            _entry_in_pieces(said, thought, {"type": "reasoning.summary", **head}, "summary")
        identity = f"{prefix}{thought.salt[-12:]}{len(said.details)}"
        _whole_entry(said, {"type": "reasoning.encrypted", "data": thought.data, "id": identity, **head})

    return write


def _entry_in_pieces(said: Said, thought: Thought, head: JsonObject, key: str) -> None:
    if thought.redacted:
        return
    said.reasoning += thought.text
    _merge(said, head, key, thought.text)
    for piece in accumulated(thought.pieces) if thought.traits.cumulative else thought.pieces:
        flat = dict.fromkeys(thought.traits.mirrors, piece)
        said.add("reasoning", {**flat, "reasoning_details": [{**head, key: piece}]})


def _merge(said: Said, head: JsonObject, key: str, text: str) -> None:
    """Entries of one index that follow each other are one."""
    last = as_dict(said.details[-1]) if said.details else {}
    if last and {name: last.get(name) for name in head} == head and key in last:
        last[key] = f"{last[key]}{text}"
    else:
        said.details.append({**head, key: text})


def _whole_entry(said: Said, entry: JsonObject) -> None:
    said.details.append(entry)
    said.add("reasoning", {"reasoning_details": [dict(entry)]})


_WRITERS: Final[dict[str, Callable[[Said, Thought], None]]] = {
    "text": _text_entry,
    "claude": _claude_entry,
    "openai": _sealed_summary("openai-responses-v1", "rs_"),
    "xai": _sealed_summary("xai-responses-v1", "rs_"),
    "gemini": _gemini_entry,
    "minimax": _minimax_entry,
}
"""How entries are made, by the maker of the model."""

FORMS: Final[dict[Form, Callable[[Said, Thought], None]]] = {
    "reasoning_content": _in_field("reasoning_content"),
    "reasoning": _in_field("reasoning"),
    "details": _in_details,
    "chunks": _in_chunks,
    "tags": _in_tags,
    "hidden": _hidden,
}
