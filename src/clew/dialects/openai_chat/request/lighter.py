"""Lighter: a thought without what only its maker can read, after the maker could not.

What remains is its text and the field that it came in, and a word that says of which thought it is the rest. So the strand
of the answer that followed tells for each thought whether it went whole or lighter, and the next request repeats that.
"""

from __future__ import annotations

import re
from hashlib import sha256

from clew.dialects.openai_chat.answer.payloads import payload_of, proof
from clew.model.blocks import Block, made, string_of
from clew.model.json import JsonObject
from clew.model.request import Message, Request, blocks_of, with_blocks

__all__ = ["all_lighter", "lighter", "lighter_in"]

_HEAVY = frozenset({"reasoning_details", "thinking_blocks", "tool_calls", "message"})
_REST = re.compile(r'"rest_of":"[0-9a-f]{32}"\}')
_REST_SIZE = 45


def lighter(block: Block) -> Block:
    """The same without entries and without what stood on its call or message; the very same where it carries none."""
    signature = block.signature if isinstance(block.signature, str) else ""
    payload = payload_of(signature) if block.type == "thinking" else None
    if payload is None or not _HEAVY & payload.keys():
        return block
    rest: JsonObject = {name: value for name, value in payload.items() if name not in _HEAVY}
    rest["rest_of"] = sha256(signature.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return made({"type": "thinking", "thinking": string_of(block.thinking), "signature": proof(rest)})


def all_lighter(request: Request) -> Request:
    """Every thought of a request."""
    return request.with_messages(tuple(_lighter(message) for message in request.messages))


def _lighter(message: Message) -> Message:
    if message.role != "assistant" or isinstance(message.content, str):
        return message
    return with_blocks(message, tuple(lighter(block) for block in blocks_of(message)))


def lighter_in(request: Request) -> list[Block]:
    """The thoughts of a request that are only the rest of one."""
    return [
        block
        for message in request.messages
        if message.role == "assistant"
        for block in blocks_of(message)
        if block.type == "thinking" and isinstance(block.signature, str) and _REST.fullmatch(block.signature[-_REST_SIZE:])
    ]
