"""What became of the thinking in a request, in numbers: for a header of the reply, the log and the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clew.model.blocks import THINKING_TYPES
from clew.model.change import THINKING_STEPS, Change, count_of, tally
from clew.model.past import Fold, folded
from clew.model.request import Request, RequestMessage


class ThinkingCounts(NamedTuple):
    """How many thinking blocks were kept, restored, left out, handed over, healed."""

    kept: int = 0
    restored: int = 0
    left_out: int = 0
    handed_over: int = 0
    healed: int = 0

    def __str__(self) -> str:
        """As the header says it."""
        return (
            f"kept={self.kept}, restored={self.restored}, left-out={self.left_out}, "
            f"handed-over={self.handed_over}, healed={self.healed}"
        )


_NONE = ThinkingCounts()


def is_unsaid_thought(change: Change) -> bool:
    """Among the changes of a dialect: a thinking block that it has no words for."""
    return change.step == "thinking" and change.what == "left out"


def thinking_counts(going: Request, changes: Sequence[Change], unsaid: int = 0, *, native: bool = False) -> ThinkingCounts:
    """What became of the thinking.

    Of what is in `going`, the dialect had no words for `unsaid`; with `native`, what was handed over is there too.
    """
    if not changes:
        return ThinkingCounts(folded(going.messages, _THINKING)) if len(going.messages) > 1 else _NONE
    counts = tally(change for change in changes if change.step in THINKING_STEPS)
    restored, handed_over = counts.get("restored", 0), counts.get("handed over", 0)
    stand_ins = [change for change in changes if change.step == "thinking" and change.what == "added"]  # nobody said them
    others = restored + unsaid + count_of(stand_ins) + (handed_over if native else 0)
    return ThinkingCounts(
        kept=max(0, folded(going.messages, _THINKING) - others),
        restored=restored,
        left_out=counts.get("left out", 0),
        handed_over=handed_over,
        healed=counts.get("healed", 0),
    )


def _counted(before: int, messages: Sequence[RequestMessage], at: int) -> int:
    return before + sum(
        1
        for message in messages
        if message.role == "assistant" and isinstance(message.content, tuple)
        for block in message.content
        if block.type in THINKING_TYPES
    )


_THINKING = Fold(0, _counted)


def kept_paths(going: Request) -> list[str]:
    """Where thinking stands in what goes out."""
    return [
        f"messages.{i}.content.{j}"
        for i, message in enumerate(going.messages)
        if message.role == "assistant" and isinstance(message.content, tuple)
        for j, block in enumerate(message.content)
        if block.type in THINKING_TYPES
    ]
