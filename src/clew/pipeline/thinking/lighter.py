"""A maker that could not read its own entries again gets their text alone, as long as the conversation goes on from there.

The strand of its last answer says so, thought by thought. What it thought since then went whole ahead of that answer, or
came after it, and goes whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from clew.model.blocks import Block, made, payload_of, signature_of, string_of
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Target
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.step import Facts
from clew.pipeline.thinking.outcomes import STEP, AnswerOutcome, newest_made_by
from clew.thinking.history import AnswerPiece
from clew.thinking.keys import key_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.strands import remarks_of

_OPAQUE: Final = frozenset({"reasoning_details", "thinking_blocks", "tool_calls", "message"})
"""Members that only the maker can read."""
_REST: Final = re.compile(r'"rest_of":"[0-9a-f]{32}"\}')
_REST_SIZE: Final = 45

UNREAD = "its maker could not read it when it gave its last answer: only its text goes"


def as_for_the_last(
    found: Sequence[RecognisedAnswer], own: list[AnswerOutcome], target: Target, facts: Facts
) -> list[AnswerOutcome]:
    """Each answer with its thoughts in the form in which they went ahead of this reader's last one."""
    _, last = newest_made_by(found, target)
    row = remarks_of(last, facts.recordings) if last else frozenset[bytes]()
    return [_as_in(row, outcome) for outcome in own] if row else own


def _as_in(row: frozenset[bytes], outcome: AnswerOutcome) -> AnswerOutcome:
    pieces: list[AnswerPiece] = []
    changes: list[Change] = []
    for piece in outcome.pieces:
        light = reduce_thought(piece.block)
        if light is not piece.block and key_of(light) in row:
            piece = AnswerPiece(piece.message, light)
            changes.append(Change(STEP, f"messages.{piece.message}", "replaced", UNREAD))
        pieces.append(piece)
    return AnswerOutcome(tuple(pieces), (*outcome.changes, *changes)) if changes else outcome


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
