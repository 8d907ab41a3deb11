"""Thinking for a reader that takes its own back, whatever came before.

Every block of its realm goes back, unsealed, into its own message: from the recording, or from the seal itself where there
is no recording. For an answer that has none, the backend's row says what it accepts in its place. Another realm's thinking
is left out, or handed over in the way that the target's policy names.

A block that a vendor of the Anthropic dialect refused does not go to it again, as long as the conversation goes on from
there: if the strand of the reader's last answer bears the mark of a repair, blocks that are not in it were refused, and only
later ones go besides it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from itertools import compress
from typing import Final

from msgspec import UNSET

from clew.model.blocks import Block, Made, is_thinking, made, payload_of, signature_of, string_of
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Target
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.step import Facts
from clew.pipeline.thinking.opened import RecordedThoughts, whole_block
from clew.pipeline.thinking.outcomes import (
    STEP,
    AnswerOutcome,
    changes_of_restoring,
    leave_out_blocks,
    newest_made_by,
    open_seal,
    reason_against,
)
from clew.thinking.history import AnswerPiece, align, holds_all
from clew.thinking.keys import key_of, proof_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.strands import LEFT_OUT, remarks_of, strand_keys

UNRECORDED = "made by an unknown backend"

_PLACEHOLDERS = {"empty": "", "space": " "}

REFUSED_BEFORE = "its maker refused it in an earlier request"
MISSING = "this backend needs reasoning in every answer, and this one has none"


def for_open(request: Request, found: Sequence[RecognisedAnswer], target: Target, facts: Facts) -> list[AnswerOutcome]:
    """For a reader that takes blocks of its realm anywhere: the thinking that each answer of the history goes with."""
    own = [in_its_dialect(_own_thinking(request, each, target, facts), target) for each in found]
    if target.dialect != ANTHROPIC_DIALECT:
        return as_for_the_last(found, own, target, facts)
    return [_with_missing(each, target) for each in without_refused(found, own, target, facts)]


def _own_thinking(request: Request, each: RecognisedAnswer, target: Target, facts: Facts) -> AnswerOutcome:
    recording = each.recording
    # Not by its keys alone: thinking that was hidden from the client has none.
    thinks = recording is not None and (recording.keys or any(is_thinking(made(raw)) for raw in recording.blocks))
    if recording and thinks and recording.origin.realm == target.realm:
        may_restore = facts.options.restore or holds_all(each.pieces, recording)
        pieces = align(each.pieces, recording) if may_restore else None
        if pieces is not None:
            return AnswerOutcome(pieces, changes_of_restoring(each, recording, pieces))
    # Without a recording that fits: what the seals themselves carry.
    own = {id(piece.block): _unsealed(piece.block, target, facts) for piece in each.pieces if is_thinking(piece.block)}

    def reason(block: Block) -> str:
        if own[id(block)] or _goes_as_it_is(block, each, target, facts):
            return ""
        # A vendor's own signature without a recording is Anthropic's, or from before clew: never another realm's.
        return reason_against(block, each, target, facts) or UNRECORDED

    rest = leave_out_blocks(request, each, reason, target=target, facts=facts)
    pieces = tuple(AnswerPiece(piece.message, own.get(id(piece.block)) or piece.block) for piece in rest.pieces)
    return AnswerOutcome(pieces, rest.changes)


def _goes_as_it_is(block: Block, each: RecognisedAnswer, target: Target, facts: Facts) -> bool:
    """Whether a thought goes as the client has it. One without a signature: only if asked, and only where unsigned thinking
    is taken. One that a vendor made before there was a gateway, whose client speaks the vendor's own dialect: to that
    dialect. Nobody knows whose it is, and who cannot read it says so."""
    if block.type != "thinking":
        return False
    if proof := proof_of(block):
        payload = payload_of(proof) if each.recording is None else None
        return payload is not None and payload.get("dialect") == target.dialect
    asked = facts.options.thinking_first == "reorder" and target.takes_unsigned
    return asked and bool(string_of(block.thinking).strip())


def _unsealed(block: Block, target: Target, facts: Facts) -> Made | None:
    """The block as its maker wants it back; None if its seal is not of this realm, or refers to a lost recording."""
    seal = open_seal(block, facts)
    if seal is None or seal.origin.realm != target.realm:
        return None
    if seal.reference:
        # From the recording under this very seal, whatever became of the answer around it.
        thoughts, key = RecordedThoughts(facts), key_of(block)
        recording = thoughts.recording(key)
        return thoughts.thought(recording, key) if recording else None
    if seal.kind:
        return whole_block(seal)
    field = "signature" if block.type == "thinking" else "data"
    value: JsonObject = {"type": block.type}
    if block.thinking is not UNSET:
        value["thinking"] = string_of(block.thinking)
    return made({**value, field: seal.payload.decode("utf-8", "surrogatepass")})


def without_refused(
    found: Sequence[RecognisedAnswer], own: list[AnswerOutcome], target: Target, facts: Facts
) -> list[AnswerOutcome]:
    """Each answer ahead of this reader's last one with the thinking that went ahead of that."""
    at, last = newest_made_by(found, target)
    if last is None or LEFT_OUT not in remarks_of(last, facts.recordings):
        return own
    row = frozenset(strand_keys(last, facts.recordings))
    out: list[AnswerOutcome] = []
    for outcome in own[:at]:
        # A block without a proof has no key, and is never refused for one.
        went = [(key := key_of(piece.block)) is None or key in row for piece in outcome.pieces]
        refused = [piece for piece, is_kept in zip(outcome.pieces, went, strict=True) if not is_kept]
        changes = [Change(STEP, f"messages.{piece.message}", "left out", REFUSED_BEFORE) for piece in refused]
        pieces = tuple(compress(outcome.pieces, went))
        out.append(AnswerOutcome(pieces, (*outcome.changes, *changes)) if refused else outcome)
    return [*out, *own[at:]]


def _with_missing(outcome: AnswerOutcome, target: Target) -> AnswerOutcome:
    """The answer with the placeholder that the backend wants where there is no reasoning. Other dialects fill in fields."""
    placeholder = _PLACEHOLDERS.get(target.missing)
    if placeholder is None or not outcome.pieces or any(is_thinking(piece.block) for piece in outcome.pieces):
        return outcome
    at = outcome.pieces[0].message
    block = made({"type": "thinking", "thinking": placeholder, "signature": ""})
    change = Change(STEP, f"messages.{at}.content.0", "added", MISSING)
    return AnswerOutcome((AnswerPiece(at, block), *outcome.pieces), (*outcome.changes, change))


ANTHROPIC_DIALECT: Final = "anthropic"
CHAT_DIALECT: Final = "openai-chat"
"""Of a payload that names none."""
ELSEWHERE = "its maker accepts it back in another dialect only"


def in_its_dialect(outcome: AnswerOutcome, target: Target) -> AnswerOutcome:
    """The answer of a vendor's endpoint in another dialect, on the way to the one in this dialect.

    What a dialect keeps in place of a signature (`payload_of`) means nothing in another one. A thought that was plain text
    there is its text here, where signatures are not looked at. Any other is left out, and so is one that came with something
    which only its maker can read: without that its text proves nothing.
    """
    pieces: list[AnswerPiece] = []
    changes: list[Change] = []
    for piece in outcome.pieces:
        payload = payload_of(proof_of(piece.block)) if piece.block.type == "thinking" else None
        if not payload or payload.get("dialect", CHAT_DIALECT) == target.dialect:
            pieces.append(piece)
        elif target.takes_unsigned and _is_text_alone(payload):
            text = string_of(piece.block.thinking)
            pieces.append(AnswerPiece(piece.message, made({"type": "thinking", "thinking": text, "signature": ""})))
        else:
            changes.append(Change(STEP, f"messages.{piece.message}", "left out", ELSEWHERE))
    return AnswerOutcome(tuple(pieces), (*outcome.changes, *changes))


def _is_text_alone(payload: JsonObject) -> bool:
    """Whether a payload says no more than where the text of a thought stood."""
    item = payload.get("item")
    if isinstance(item, dict):
        return item.get("type") == "reasoning" and not item.get("encrypted_content")
    return payload.keys() == {"field"}


_OPAQUE: Final = frozenset({"reasoning_details", "thinking_blocks", "tool_calls", "message", "item"})
"""Members that only the maker can read."""
_REST: Final = re.compile(r'"rest_of":"[0-9a-f]{32}"\}')
_REST_SIZE: Final = 45

UNREAD = "its maker could not read it in an earlier request: only its text is sent"


def as_for_the_last(
    found: Sequence[RecognisedAnswer], own: list[AnswerOutcome], target: Target, facts: Facts
) -> list[AnswerOutcome]:
    """Each answer with its thoughts in the form in which they went ahead of this reader's last one.

    A maker that could not read its own entries again gets their text alone, as long as the conversation goes on from there.
    The strand of its last answer says so, thought by thought. What it thought since then goes whole.
    """
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
