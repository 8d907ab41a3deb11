"""Which thinking goes: keep, restore, hand over or leave out each block, for one reader.

Two kinds of reader. A *binding* one (realm `anthropic`) may check that nothing before a block changed; an *open* one takes
all of its own back. A block goes as the bytes that came, whole answers at a time, or not at all; so does one that the client
changed (`as_recorded`). What is decided depends on the message, on the recordings of this history's answers and on the
reader, never on the distance from the end.
"""

from __future__ import annotations

from clew.model.change import Change
from clew.model.request import Request, blocks_of
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking.as_recorded import as_recorded, still_told
from clew.pipeline.thinking.binding import for_binding, last_answer
from clew.pipeline.thinking.copies import is_whole, strays_in
from clew.pipeline.thinking.open import for_open
from clew.pipeline.thinking.pieces import applied, filtered, refusal
from clew.thinking.history import AnswerPiece, answers_of
from clew.thinking.recognise import RecognisedAnswer, recognise

__all__ = ["found_in", "keep_thinking", "last_answer"]

STRIPPED = "the policy is to send no thinking"


def keep_thinking(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    if not any(message.role == "assistant" for message in request.messages):
        return request, ()
    if facts.options.policy == "strip":
        found = found_in(request, facts)
        return applied(request, found, [filtered(request, each, lambda block: STRIPPED) for each in found])
    if target.binding and is_whole(request.messages, target, facts):
        return _without_strays(request, target, facts)
    request, restored = as_recorded(request, target, facts)
    found = found_in(request, facts)
    decide = for_binding if target.binding else for_open
    going, changes = applied(request, found, decide(request, found, target, facts))
    return going, (*still_told(restored, changes), *changes)


def _without_strays(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """A copy that is whole goes as it is, less what no maker of this realm made."""
    strays = strays_in(request.messages)
    request, _ = as_recorded(request, target, facts, strays)
    blocks = {index: blocks_of(request.messages[index]) for index in strays}
    found = [RecognisedAnswer(tuple([AnswerPiece(i, block) for block in blocks[i]]), None, (i,)) for i in strays]
    outcomes = [
        filtered(request, each, lambda block, each=each: refusal(block, each, target, facts), target=target, facts=facts)
        for each in found
    ]
    return applied(request, found, outcomes) if strays else (request, ())


def found_in(request: Request, facts: Facts) -> tuple[RecognisedAnswer, ...]:
    """The answers of the client's history, with their recordings."""
    return recognise(answers_of(request.messages), facts.recordings, facts.context)
