"""What an answer took, on one line: who answered, tokens, cost, the share that came from the cache, seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from clew.backends.row import Backend
from clew.chat.counts import Estimate, anthropic_usage, cache_efficiency, thinking_tokens
from clew.chat.messages import Message
from clew.chat.prices import Cost, cost_of, total_cost
from clew.chat.terminal import harmless
from clew.chat.turns import Turn
from clew.store.values import Usage

__all__ = ["Summary", "anthropic_usage", "cost_of_turn", "summary_of", "thought_tokens", "total_of"]


class Summary(Struct, frozen=True, kw_only=True):
    """One answer's counts; None for what is not known.

    >>> usage = Usage(input=50, output=60, cache_read=900, cache_written=50)
    >>> print(Summary(backend="claude", model="claude-opus-5-5", usage=usage, thinking=Estimate(40), seconds=2.5).line)
    claude, claude-opus-5-5 · 1,000 tokens in (90 % from the cache), 60 out (≈40 of them thought) · 2.5 s
    """

    backend: str = ""
    model: str = ""
    usage: Usage | None = None
    thinking: int | Estimate | None = None
    cost: Cost | None = None
    seconds: float | None = None

    @property
    def efficiency(self) -> float | None:
        """The share of the prompt that came from the cache, from 0 to 100 %."""
        return cache_efficiency(anthropic_usage(self.usage)) if self.usage else None

    @property
    def line(self) -> str:
        """For a person."""
        return harmless(" · ".join(self._parts()))

    def _parts(self) -> Iterator[str]:
        if self.backend:
            yield f"{self.backend}, {self.model}"
        yield _tokens(self.usage, self.efficiency, self.thinking) if self.usage else "tokens not reported"
        if self.cost is not None:
            yield str(self.cost)
        if self.seconds is not None:
            yield f"{self.seconds:.1f} s"


def summary_of(turn: Turn, backend: Backend | None, seconds: float | None = None) -> Summary:
    """What is known of a turn. `backend` is the row of who answered: it tells whose prices count."""
    return Summary(
        backend=turn.backend,
        model=turn.model,
        usage=turn.usage,
        thinking=thought_tokens(turn.answer, turn.usage),
        cost=cost_of_turn(turn, backend),
        seconds=seconds,
    )


def cost_of_turn(turn: Turn, backend: Backend | None) -> Cost | None:
    """An answer that was cut costs about as much as was heard of it."""
    return cost_of(turn.model, turn.usage, backend=backend, complete=turn.outcome == "whole", at=turn.at)


def thought_tokens(answer: Message | None, usage: Usage | None) -> int | Estimate | None:
    """How much of an answer was thought: as reported, else about how much."""
    if answer is None:
        return None
    reported = answer.usage or {}
    counted = {**anthropic_usage(usage), **reported} if usage else reported
    if usage and usage.estimated:  # what came before the cut says nothing of what was thought after it
        counted = {name: count for name, count in counted.items() if name != "output_tokens"}
    return thinking_tokens(structs.replace(answer, usage=counted))


def _tokens(usage: Usage, efficiency: float | None, thinking: int | Estimate | None) -> str:
    about = "≈" if usage.estimated else ""
    whole = usage.input + usage.cache_read + usage.cache_written
    cache = f" ({_percent(efficiency)} from the cache)" if efficiency else ""
    thought = f" ({_count(thinking)} of them thought)" if thinking is not None else ""
    tokens = "token" if whole == 1 else "tokens"
    return f"{whole:,} {tokens} in{cache}, {about}{usage.output:,} out{thought}"


def _count(tokens: int | Estimate) -> str:
    return f"{tokens:,}" if isinstance(tokens, int) else f"≈{tokens.tokens:,}"


def _percent(share: float) -> str:
    """Never 100 % of what is not all, and never nothing of something."""
    if 0 < share < 1:
        return "<1 %"
    return ">99 %" if 99 < share < 100 else f"{share:.0f} %"


def total_of(summaries: Sequence[Summary]) -> Summary:
    """All of them together."""
    usages = [each.usage for each in summaries if each.usage is not None]
    thought = [each.thinking for each in summaries if each.thinking is not None]
    return Summary(
        usage=Usage(
            input=sum(each.input for each in usages),
            output=sum(each.output for each in usages),
            cache_read=sum(each.cache_read for each in usages),
            cache_written=sum(each.cache_written for each in usages),
            estimated=any(each.estimated for each in usages),
        ),
        thinking=_sum(thought) if thought else None,
        cost=total_cost(each.cost for each in summaries),
    )


def _sum(thought: Sequence[int | Estimate]) -> int | Estimate:
    tokens = sum(each.tokens if isinstance(each, Estimate) else each for each in thought)
    return Estimate(tokens) if any(isinstance(each, Estimate) for each in thought) else tokens
