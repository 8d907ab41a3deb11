"""What a vendor thought behind its endpoint in another dialect, on the way to the one in Anthropic's.

What that dialect keeps in place of a signature (`model.payload`) means nothing here. A thought that
was plain text there is its text here, where signatures are not looked at. Any other is left out, and so is one that came
with something which only its maker can read: without that its text proves nothing.
"""

from __future__ import annotations

from clew.model.blocks import Block, made, payload_of, string_of
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Target
from clew.pipeline.thinking.outcomes import STEP, AnswerOutcome
from clew.thinking.history import AnswerPiece
from clew.thinking.keys import proof_of

ELSEWHERE = "its maker wants it back in another dialect alone"


def in_anthropic_words(outcome: AnswerOutcome, target: Target) -> AnswerOutcome:
    """The answer with every thought in a form that this dialect has."""
    payloads = [_payload(piece.block) for piece in outcome.pieces]
    if not any(payloads):
        return outcome
    pairs = list(zip(outcome.pieces, payloads, strict=True))
    lost = tuple(_left_out(piece) for piece, payload in pairs if not _can_be_said(payload, target))
    kept = (_spelt(piece, payload) for piece, payload in pairs if _can_be_said(payload, target))
    return AnswerOutcome(tuple(kept), (*outcome.changes, *lost))


def _payload(block: Block) -> JsonObject:
    """What another dialect keeps in place of a signature; {} for a vendor's own, which is never an object."""
    return (payload_of(proof_of(block)) or {}) if block.type == "thinking" else {}


def _can_be_said(payload: JsonObject, target: Target) -> bool:
    return not payload or (target.takes_unsigned and payload.keys() == {"field"})


def _spelt(piece: AnswerPiece, payload: JsonObject) -> AnswerPiece:
    if not payload:
        return piece
    return AnswerPiece(
        piece.message, made({"type": "thinking", "thinking": string_of(piece.block.thinking), "signature": ""})
    )


def _left_out(piece: AnswerPiece) -> Change:
    return Change(STEP, f"messages.{piece.message}", "left out", ELSEWHERE)
