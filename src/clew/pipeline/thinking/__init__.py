"""Which thinking goes: keep, restore, hand over or leave out each block, for one reader.

There are two kinds of reader. A *binding* one (realm `anthropic`) may check that nothing before a block changed; an *open*
one takes all of its own blocks back. A block goes as the bytes that came, whole answers at a time, or not at all; so does
one that the client changed (`as_recorded`). A decision depends on the message, on the recordings of this history's answers
and on the reader, never on the distance from the end.
"""

from __future__ import annotations

from collections.abc import Mapping

from clew.model.change import Change
from clew.model.origin import Origin, Target
from clew.model.recording import Recording, Strand
from clew.model.request import Request, blocks_of
from clew.pipeline.step import Facts, Step
from clew.pipeline.thinking.binding import for_binding, is_whole, last_answer
from clew.pipeline.thinking.open import for_open
from clew.pipeline.thinking.opened import as_recorded, changes_that_stay, with_opened
from clew.pipeline.thinking.outcomes import apply_outcomes, leave_out_blocks, without_refused_blocks
from clew.thinking.history import AnswerPiece, answers_of, thoughts_of
from clew.thinking.keys import answer_content, keys_of
from clew.thinking.recognise import RecognisedAnswer, recognise
from clew.wire.requests import raw_of

__all__ = ["found_in", "keep_known", "keep_thinking", "last_answer", "leave_out"]

STRIPPED = "the policy is to send no thinking"


def keep_thinking(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    if not any(message.role == "assistant" for message in request.messages):
        return request, ()
    if facts.options.policy == "strip":
        found = found_in(request, facts)
        return apply_outcomes(request, found, [leave_out_blocks(request, each, lambda block: STRIPPED) for each in found])
    thoughts = thoughts_of(request.messages)
    if thoughts.sealed:
        request = with_opened(request, thoughts.sealed, facts)
        thoughts = thoughts_of(request.messages)
    if target.binding and is_whole(request.messages, thoughts, target, facts):
        # A whole copy goes as it is, without the blocks that no maker of this realm made
        if not thoughts.strays:
            return request, ()
        request, _ = as_recorded(request, target, facts, thoughts.strays)
        alone: list[RecognisedAnswer] = []
        for index in thoughts.strays:
            pieces = [AnswerPiece(index, block) for block in blocks_of(request.messages[index])]
            alone.append(RecognisedAnswer(tuple(pieces), None, (index,)))
        return apply_outcomes(request, alone, [without_refused_blocks(request, each, target, facts) for each in alone])
    request, restored = as_recorded(request, target, facts)
    found = found_in(request, facts)
    decide = for_binding if target.binding else for_open
    going, changes = apply_outcomes(request, found, decide(request, found, target, facts))
    return going, (*changes_that_stay(restored, changes), *changes)


def found_in(request: Request, facts: Facts) -> tuple[RecognisedAnswer, ...]:
    """The answers of the client's history, with their recordings."""
    return recognise(answers_of(request.messages), facts.recordings, facts.context)


def leave_out(reasons: Mapping[str, str]) -> Step:
    """A step that leaves out the thinking blocks at these paths, each for its reason.

    For a policy that keeps a table of its own (`policy = "session"`).
    """

    def step(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
        found = [RecognisedAnswer(answer.pieces, None, answer.messages) for answer in answers_of(request.messages)]
        against: dict[int, str] = {}
        for i, message in enumerate(request.messages):
            for j, block in enumerate(blocks_of(message)):
                against[id(block)] = reasons.get(f"messages.{i}.content.{j}", "")
        outcomes = [leave_out_blocks(request, each, lambda block: against.get(id(block), "")) for each in found]
        return apply_outcomes(request, found, outcomes)

    return step


def keep_known(makers: Mapping[int, Origin]) -> Step:
    """A step that keeps thinking by who made each message, by the message's index: for a library that noted the makers.

    Nothing has to be recognised, and nothing restored: a library keeps its messages whole. So the step only decides who may
    read what. For a reader that may check what came before a block, its own realm's blocks go as they stand, and only
    another realm's are left out: that depends on each message alone, so what such a reader gets only ever grows.
    """

    def step(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
        found = [
            RecognisedAnswer(
                tuple(piece for piece in answer.pieces if piece.message == index),
                _as_recording(request, index, makers.get(index), target, facts),
                (index,),
            )
            for answer in answers_of(request.messages)
            for index in answer.messages
        ]
        decide = for_binding if target.binding else for_open
        return apply_outcomes(request, found, decide(request, found, target, facts))

    return step


def _as_recording(request: Request, index: int, maker: Origin | None, target: Target, facts: Facts) -> Recording | None:
    """The message as a recording of its own; None where its strand would matter, which no library notes."""
    if maker is None or (target.binding and maker.realm == target.realm):
        return None
    blocks = blocks_of(request.messages[index])
    return Recording(
        id=f"message {index}",
        principal=facts.context.principal,
        origin=maker,
        blocks=tuple(raw_of(request, block) for block in blocks),
        keys=keys_of(blocks),
        said=answer_content(blocks),
        place=b"",
        strand=Strand(),
    )
