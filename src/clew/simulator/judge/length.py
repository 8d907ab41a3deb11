"""Whether prompt and answer fit the model's window (R8)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.values import number

__all__ = ["check_length"]


def check_length(case: Case, tokens: int) -> Iterator[Finding]:
    window, answer = case.model.context, number(case.body.get("max_tokens")) or 0
    if not window:
        return
    if tokens > window:
        yield Finding("R8.prompt-too-long", "", {"tokens": tokens, "limit": window})
    elif case.model.overflow == "reject" and tokens + answer > window:
        yield Finding("R8.prompt-and-output-too-long", "", {"tokens": tokens, "max_tokens": answer, "limit": window})
