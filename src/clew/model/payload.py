"""Payload: what a maker outside the realm `anthropic` needs back of a thought, and only its own dialect can read.

It is a JSON object in the place where Anthropic has a signature, and so becomes what the block's seal carries. A vendor's
own signature is never an object. The pipeline keeps it, drops it, or reduces it to what is not opaque; it looks no further.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

import msgspec

from clew.model.blocks import Block, made, string_of
from clew.model.json import JsonObject
from clew.model.loose_json import read_object
from clew.model.request import Request, blocks_of, with_blocks

_OPAQUE: Final = frozenset({"reasoning_details", "thinking_blocks", "tool_calls", "message"})
"""Members that only the maker can read."""
_REST: Final = re.compile(r'"rest_of":"[0-9a-f]{32}"\}')
_REST_SIZE: Final = 45


def signature_of(payload: JsonObject) -> str:
    """The payload as it stands in the place of a signature."""
    return msgspec.json.encode(payload).decode()


def payload_of(signature: str) -> JsonObject | None:
    """The same read again; None for a vendor's own signature."""
    return read_object(signature.encode("utf-8", "surrogatepass")) if signature.startswith("{") else None


def reduce_thought(block: Block) -> Block:
    """The thinking block without what only its maker can read, after the maker could not; the very same where it carries
    nothing of that kind. What remains is its text, the field that it came in, and a mark that says of which thought it is
    the rest: so the strand of the next answer says for each thought whether it went whole or reduced."""
    signature = block.signature if isinstance(block.signature, str) else ""
    payload = payload_of(signature) if block.type == "thinking" else None
    if payload is None or not _OPAQUE & payload.keys():
        return block
    rest: JsonObject = {name: value for name, value in payload.items() if name not in _OPAQUE}
    rest["rest_of"] = sha256(signature.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return made({"type": "thinking", "thinking": string_of(block.thinking), "signature": signature_of(rest)})


def reduce_thoughts(request: Request) -> Request:
    """The request with every thought reduced."""
    return request.with_messages(
        tuple(
            message
            if message.role != "assistant" or isinstance(message.content, str)
            else with_blocks(message, tuple(reduce_thought(block) for block in blocks_of(message)))
            for message in request.messages
        )
    )


def reduced_thoughts(request: Request) -> list[Block]:
    """The thoughts of a request that are only the rest of one."""
    return [
        block
        for message in request.messages
        if message.role == "assistant"
        for block in blocks_of(message)
        if block.type == "thinking" and isinstance(block.signature, str) and _REST.fullmatch(block.signature[-_REST_SIZE:])
    ]
