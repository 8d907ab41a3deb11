"""How a vendor writes a thought: in a field of its own, in tagged entries, as a chunk of the content, in tags, or not at
all.

A form is a function that adds one thought to a draft of the message. The draft holds the whole message and the deltas that
add up to it, side by side: what a stream adds up to and what comes whole are the same by construction, and what the vendor
remembers is what it gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, Literal, TypeAlias

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_chat.memory import seal, sign
from clew.simulator.openai_chat.vendors import Form, Traits
from clew.simulator.script import Pause, SendEvent, SendPings
from clew.simulator.values import as_dict

DeltaKind: TypeAlias = Literal["reasoning", "content", "tool_calls"]


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """A piece of a message, and what it is a piece of."""

    kind: DeltaKind
    value: JsonObject


@dataclass(slots=True)
class MessageDraft:
    """An answer that is being written."""

    steps: list[ChatDelta | Pause | SendPings | SendEvent] = field(
        default_factory=list[ChatDelta | Pause | SendPings | SendEvent]
    )
    text: str = ""
    """The visible text."""
    content: str = ""
    """The content as a string, tags included."""
    chunks: list[JsonValue] = field(default_factory=list[JsonValue])
    """The content as a list, for vendors that have it so."""
    reasoning: str = ""
    """All shown thoughts."""
    details: list[JsonValue] = field(default_factory=list[JsonValue])
    calls: list[JsonValue] = field(default_factory=list[JsonValue])
    has_text_calls: bool = False
    """Calls stand in the content."""
    signed: JsonObject = field(default_factory=dict[str, JsonValue])
    """The signature on the message itself, where its text is signed."""

    def add(self, kind: DeltaKind, value: JsonObject) -> None:
        self.steps.append(ChatDelta(kind, value))

    def add_entry(self, entry: JsonObject) -> None:
        """Add an entry of reasoning_details that goes out whole."""
        self.details.append(entry)
        self.add("reasoning", {"reasoning_details": [dict(entry)]})


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtToWrite:
    """A thought of the model, and the request that it is written for."""

    text: str
    pieces: Sequence[str]
    redacted: bool
    traits: Traits
    model: str
    secret: bytes
    salt: str
    """Of the answer: equal thoughts of two answers have different seals."""

    @property
    def sealed(self) -> str:
        return seal(self.secret, self.text, salt=self.salt)


def _in_field(name: str) -> Callable[[MessageDraft, ThoughtToWrite], None]:
    """`reasoning_content` and the like; the mirrors repeat the text."""

    def write(draft: MessageDraft, thought: ThoughtToWrite) -> None:
        if thought.redacted:
            return
        draft.reasoning += thought.text
        for piece in thought.pieces:
            draft.add("reasoning", dict.fromkeys((name, *thought.traits.mirrors), piece))

    return write


def _in_tags(draft: MessageDraft, thought: ThoughtToWrite) -> None:
    """`<think>` around the thought, a blank line behind it, all in the content."""
    if thought.redacted:
        return
    draft.reasoning += thought.text
    open_tag, close_tag = f"<{thought.traits.tag}>\n", f"\n</{thought.traits.tag}>\n\n"
    draft.content += f"{open_tag}{thought.text}{close_tag}"
    draft.add("content", {"content": open_tag})
    for piece in thought.pieces:
        draft.add("content", {"content": piece, **dict.fromkeys(thought.traits.mirrors, piece)})
    draft.add("content", {"content": close_tag})


def _in_chunks(draft: MessageDraft, thought: ThoughtToWrite) -> None:
    """A chunk of a content that is a list."""
    if thought.redacted:
        return
    draft.reasoning += thought.text
    draft.chunks.append(_chunk(thought.text))
    for piece in thought.pieces:
        draft.add("reasoning", {"content": [_chunk(piece)]})


def _chunk(text: str) -> JsonObject:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


# Entries of reasoning_details, by the maker of the model.


def _text_entry(form: str) -> Callable[[MessageDraft, ThoughtToWrite], None]:
    """Plain text in an entry of this format."""
    head: JsonObject = {"type": "reasoning.text", "format": form, "index": 0}
    return lambda draft, thought: _add_in_pieces(draft, thought, head, "text")


def _minimax_entry(draft: MessageDraft, thought: ThoughtToWrite) -> None:
    number = len(draft.details)
    head: JsonObject = {"type": "reasoning.text", "id": f"reasoning-text-{number + 1}", "format": "MiniMax-response-v1"}
    _add_in_pieces(draft, thought, {**head, "index": number}, "text")


def _claude_entry(draft: MessageDraft, thought: ThoughtToWrite) -> None:
    """Text, then its signature in a delta of its own. A redacted thought is sealed."""
    head: JsonObject = {"format": "anthropic-claude-v1", "index": len(draft.details)}
    if thought.redacted:
        draft.add_entry({"type": "reasoning.encrypted", "data": thought.sealed, **head})
        return
    signature = sign(thought.secret, thought.model, thought.text, salt=f"{thought.salt} {len(draft.details)}")
    _add_in_pieces(draft, thought, {"type": "reasoning.text", **head}, "text")
    as_dict(draft.details[-1])["signature"] = signature
    draft.add("reasoning", {"reasoning_details": [{"type": "reasoning.text", "signature": signature, **head}]})


def _sealed_summary(form: str, prefix: str) -> Callable[[MessageDraft, ThoughtToWrite], None]:
    """A summary that is shown, and the whole thought under seal, with an id."""

    def write(draft: MessageDraft, thought: ThoughtToWrite) -> None:
        head: JsonObject = {"format": form, "index": len(draft.details)}
        if not thought.redacted:
            _add_in_pieces(draft, thought, {"type": "reasoning.summary", **head}, "summary")
        id_ = f"{prefix}{thought.salt[-12:]}{len(draft.details)}"
        draft.add_entry({"type": "reasoning.encrypted", "data": thought.sealed, "id": id_, **head})

    return write


def _add_in_pieces(draft: MessageDraft, thought: ThoughtToWrite, head: JsonObject, key: str) -> None:
    if thought.redacted:
        return
    draft.reasoning += thought.text
    last = as_dict(draft.details[-1]) if draft.details else {}
    if last and {name: last.get(name) for name in head} == head and key in last:  # entries of one index in a row are one
        last[key] = f"{last[key]}{thought.text}"
    else:
        draft.details.append({**head, key: thought.text})
    for piece in accumulate(thought.pieces) if thought.traits.cumulative else thought.pieces:
        flat = dict.fromkeys(thought.traits.mirrors, piece)
        draft.add("reasoning", {**flat, "reasoning_details": [{**head, key: piece}]})


_ENTRY_WRITERS: Final[dict[str, Callable[[MessageDraft, ThoughtToWrite], None]]] = {
    "text": _text_entry("unknown"),
    "claude": _claude_entry,
    "openai": _sealed_summary("openai-responses-v1", "rs_"),
    "xai": _sealed_summary("xai-responses-v1", "rs_"),
    "gemini": _text_entry("google-gemini-v1"),
    "minimax": _minimax_entry,
}

THOUGHT_FORMS: Final[dict[Form, Callable[[MessageDraft, ThoughtToWrite], None]]] = {
    "reasoning_content": _in_field("reasoning_content"),
    "reasoning": _in_field("reasoning"),
    "details": lambda draft, thought: _ENTRY_WRITERS[thought.traits.makes](draft, thought),
    "chunks": _in_chunks,
    "tags": _in_tags,
    "hidden": lambda draft, thought: None,
}
