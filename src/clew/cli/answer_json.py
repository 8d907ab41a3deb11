"""An answer as `clew ask --json` prints it: the text exactly as it was said, and all that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from clew.cli.talk import Talk
from clew.model.change import Change
from clew.model.json import JsonObject

if TYPE_CHECKING:
    from clew.chat.messages import Message, ToolCall
    from clew.chat.turns import Turn

__all__ = ["answer_json"]


class Price(Struct, frozen=True):
    """What it cost. `estimated`: the list price of what is known of the usage."""

    usd: float
    estimated: bool


class Told(Struct, frozen=True, kw_only=True):
    """One answer. `error` says why `outcome` is not `whole`."""

    answer: str
    thinking: str | None
    calls: Sequence[ToolCall]
    outcome: str
    error: str | None
    stop_reason: str | None
    backend: str
    model: str
    usage: JsonObject | None
    cache_efficiency: float | None
    cost: Price | None
    thread: str
    turn: str | None
    changes: Sequence[Change]


def answer_json(talk: Talk, turn: Turn | None, error: str = "") -> bytes:
    """One object, on one line."""
    answer = turn.answer if turn else None
    summary = talk.summary(turn) if turn else None
    cost = summary.cost if summary else None
    told = Told(
        answer=(answer.content if answer else None) or "",
        thinking=_thinking(answer),
        calls=answer.tool_calls if answer else (),
        outcome=turn.outcome if turn else "failed",
        error=error or None,
        stop_reason=answer.stop_reason if answer else None,
        backend=turn.backend if turn else talk.conversation.backend,
        model=turn.model if turn else "",
        usage=_usage(turn) if turn else None,
        cache_efficiency=summary.efficiency if summary else None,
        cost=Price(float(cost.usd), cost.estimated) if cost else None,
        thread=talk.conversation.thread,
        turn=turn.id if turn else None,
        changes=turn.changes if turn else (),
    )
    return msgspec.json.encode(told)


def _thinking(answer: Message | None) -> str | None:
    """What can be read of it; None where nothing was thought, "" where it is hidden."""
    from clew.chat.thoughts import extract_thinking_blocks

    thoughts = extract_thinking_blocks(answer.raw_content) if answer else []
    return "\n\n".join(filter(None, (thought.get("content", "") for thought in thoughts))) if thoughts else None


def _usage(turn: Turn) -> JsonObject | None:
    """Under the names of Anthropic's API. A count of what was thought is a number where it is reported, else about one."""
    from clew.chat.counts import Estimate
    from clew.chat.display.summary import anthropic_usage, thought_tokens

    if turn.usage is None:
        return None
    thought = thought_tokens(turn.answer, turn.usage)
    tokens = thought.tokens if isinstance(thought, Estimate) else thought
    more: JsonObject = {"thinking_tokens": tokens, "thinking_tokens_estimated": isinstance(thought, Estimate)}
    counts = anthropic_usage(turn.usage)
    return {**counts, **(more if thought is not None else {}), "estimated": turn.usage.estimated}
