"""The counts of an answer on one line: backend and model, tokens, cost, the share from the cache, seconds."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from clew.backends.row import Backend
from clew.chat.messages import Message
from clew.chat.metrics import Estimate, anthropic_usage, cache_efficiency, harmless, sum_of_usage, thinking_tokens
from clew.chat.prices import Cost, cost_of_turn, total_cost
from clew.chat.turns import Turn
from clew.model.turn import TokenUsage


class AnswerSummary(Struct, frozen=True, kw_only=True):
    """The counts of one answer; None for unknown values.

    >>> usage = TokenUsage(input=50, output=60, cache_read=900, cache_written=50)
    >>> print(AnswerSummary(backend="claude", model="claude-opus-5-5", usage=usage, thinking=Estimate(40), seconds=2.5).line)
    claude, claude-opus-5-5 · 1,000 tokens in (90 % from the cache), 60 out (≈40 of them thinking) · 2.5 s
    """

    backend: str = ""
    model: str = ""
    usage: TokenUsage | None = None
    thinking: int | Estimate | None = None
    cost: Cost | None = None
    seconds: float | None = None

    @property
    def efficiency(self) -> float | None:
        """The share of the prompt that came from the cache, from 0 to 100 %."""
        return cache_efficiency(anthropic_usage(self.usage)) if self.usage else None

    @property
    def line(self) -> str:
        """The summary as one line of text."""
        parts = (
            f"{self.backend}, {self.model}" if self.backend else None,
            _tokens_text(self.usage, self.efficiency, self.thinking) if self.usage else "tokens not reported",
            None if self.cost is None else str(self.cost),
            None if self.seconds is None else f"{self.seconds:.1f} s",
        )
        return harmless(" · ".join(part for part in parts if part is not None))


def summary_of(turn: Turn, backend: Backend | None, seconds: float | None = None) -> AnswerSummary:
    """The summary of a turn. `backend` is the row of the backend that answered: its vendor's prices count."""
    return AnswerSummary(
        backend=turn.backend,
        model=turn.model,
        usage=turn.usage,
        thinking=thought_tokens(turn.answer, turn.usage),
        cost=cost_of_turn(turn, backend),
        seconds=seconds,
    )


def thought_tokens(answer: Message | None, usage: TokenUsage | None) -> int | Estimate | None:
    """The thinking tokens of an answer, as reported, or else an estimate."""
    if answer is None:
        return None
    reported = answer.usage or {}
    counted = {**anthropic_usage(usage), **reported} if usage else reported
    if usage and usage.estimated:  # counts from before a cut say nothing about the thinking after it
        counted = {name: count for name, count in counted.items() if name != "output_tokens"}
    return thinking_tokens(structs.replace(answer, usage=counted))


def _tokens_text(usage: TokenUsage, efficiency: float | None, thinking: int | Estimate | None) -> str:
    about = "≈" if usage.estimated else ""
    whole = usage.input + usage.cache_read + usage.cache_written
    cache = ""
    if efficiency:  # never rounded to 0 or 100 unless it is that
        share = "<1" if efficiency < 1 else ">99" if 99 < efficiency < 100 else f"{efficiency:.0f}"
        cache = f" ({share} % from the cache)"
    count = f"≈{thinking.tokens:,}" if isinstance(thinking, Estimate) else f"{thinking:,}" if thinking is not None else ""
    thought = f" ({count} of them thinking)" if count else ""
    tokens = "token" if whole == 1 else "tokens"
    return f"{whole:,} {tokens} in{cache}, {about}{usage.output:,} out{thought}"


def total_of(summaries: Sequence[AnswerSummary]) -> AnswerSummary:
    """The sum of the summaries of several answers."""
    thought = [each.thinking for each in summaries if each.thinking is not None]
    tokens = sum(each.tokens if isinstance(each, Estimate) else each for each in thought)
    is_estimate = any(isinstance(each, Estimate) for each in thought)
    return AnswerSummary(
        usage=sum_of_usage([each.usage for each in summaries if each.usage is not None]),
        thinking=(Estimate(tokens) if is_estimate else tokens) if thought else None,
        cost=total_cost(each.cost for each in summaries),
    )
