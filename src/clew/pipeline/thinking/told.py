"""Leave out what somebody else decided: the step of a policy that keeps a table of its own (`policy = "session"`)."""

from __future__ import annotations

from collections.abc import Mapping

from clew.model.blocks import Block
from clew.model.change import Change
from clew.model.request import Request, blocks_of
from clew.model.target import Target
from clew.pipeline.step import Facts, Step
from clew.pipeline.thinking.pieces import applied, filtered
from clew.thinking.history import answers_of
from clew.thinking.recognise import RecognisedAnswer

__all__ = ["leave_out"]


def leave_out(reasons: Mapping[str, str]) -> Step:
    """A step that leaves out the thinking blocks at these paths, each for its reason."""

    def step(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
        found = [RecognisedAnswer(answer.pieces, None, answer.messages) for answer in answers_of(request.messages)]
        against = _by_block(request, reasons)
        return applied(request, found, [filtered(request, each, lambda block: against.get(id(block), "")) for each in found])

    return step


def _by_block(request: Request, reasons: Mapping[str, str]) -> dict[int, str]:
    return {
        id(block): reason
        for i, message in enumerate(request.messages)
        for j, block in enumerate[Block](blocks_of(message))
        if (reason := reasons.get(f"messages.{i}.content.{j}"))
    }
