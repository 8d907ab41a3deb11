"""Where a thought travels for clients of Chat Completions, and how it comes back.

Clients show `reasoning_content` (or `reasoning`) and few of them return it. The proof of a thought, a maker's own signature
or clew's seal, travels in `reasoning_details`: one entry for each thinking block, once, whole, last, each with an `index`.
(The official Python SDK joins strings of the same index and fails on entries without one; the Node SDK keeps only the last
delta.) The text in an entry is for people: clients cut it, join it and leave it out, so the seal brings the whole block. A
client that returns the proof alone returns the thought, without the store.

Every tool call gets an id of nine letters and digits: some clients cut ids to so many for models of some names, and the
beginnings of vendors' own ids are all alike.

Clients return less: nothing, the plain text alone, or the details as one joined string. Such a thought is unsigned here, and
the store has the rest.
"""

from __future__ import annotations

import string
from hashlib import sha256
from typing import Final

from clew.model.json import JsonObject, JsonValue, objects_of, text_of

_FORMAT: Final = "anthropic-claude-v1"
"""The name under which clients that sort entries by format know text with a signature."""
_LETTERS: Final = string.ascii_letters + string.digits
_ID_LENGTH: Final = 9
_PLAIN: Final = ("reasoning_content", "reasoning")


def tool_id(exchange: str, index: int) -> str:
    """The id of a tool call for the client, of its exchange and its place in the answer. Among a hundred million calls about
    two have the same by chance; then the rest of the answer says which it is, or nothing is found by it."""
    number = int.from_bytes(sha256(f"{exchange}\0{index}".encode()).digest()[:8], "big")
    letters = ""
    for _ in range(_ID_LENGTH):
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return letters


def detail_of(block: JsonObject, index: int) -> JsonObject | None:
    """The entry of `reasoning_details` for a thinking block; None for one without proof: its text says all of it."""
    if block.get("type") == "redacted_thinking":
        return {"type": "reasoning.encrypted", "index": index, "format": _FORMAT, "data": text_of(block.get("data"))}
    signature = text_of(block.get("signature"))
    if not signature:
        return None
    text = text_of(block.get("thinking"))
    return {"type": "reasoning.text", "index": index, "format": _FORMAT, "text": text, "signature": signature}


def thinking_in(message: JsonObject) -> list[JsonObject]:
    """The thinking blocks that an assistant message of a client brings back, in their order."""
    blocks: list[JsonObject] = []
    for entry in objects_of(message.get("reasoning_details")):
        text = text_of(entry.get("text")) or text_of(entry.get("summary"))
        if signature := text_of(entry.get("signature")):
            blocks.append({"type": "thinking", "thinking": text, "signature": signature})
        elif data := text_of(entry.get("data")):
            blocks.append({"type": "redacted_thinking", "data": data})
        elif text:
            blocks.append(_unsigned(text))
    if blocks:
        return blocks
    plain: JsonValue = next((value for name in _PLAIN if (value := message.get(name))), None)
    text = text_of(plain) or text_of(message.get("reasoning_details"))  # some clients join the entries to one string
    return [_unsigned(text)] if text else []


def _unsigned(text: str) -> JsonObject:
    return {"type": "thinking", "thinking": text, "signature": ""}
