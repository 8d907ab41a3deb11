"""Temperature and its kin, by model (R13, R14). Only the older API version has them; the newer schema has none (R2)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.values import number

__all__ = ["check_sampling"]

_OLDER = "2023-06-01"
_LEAST_TOP_P = 0.95


def check_sampling(case: Case) -> Iterator[Finding]:
    if case.version != _OLDER:
        return
    if case.model.sampling == "reject":
        yield from _deprecated(case)
    elif case.thinking_type in ("enabled", "adaptive"):
        yield from _while_thinking(case)
    both = number(case.body.get("temperature")) is not None and number(case.body.get("top_p")) is not None
    if both and not case.model.temperature_and_top_p:
        yield Finding("R14.temperature-and-top-p", "top_p")


def _deprecated(case: Case) -> Iterator[Finding]:
    """The default value says nothing and passes; there is no default `top_k` to say."""
    if number(case.body.get("temperature")) not in (None, 1):
        yield Finding("R14.temperature-deprecated", "temperature")
    if number(case.body.get("top_p")) not in (None, 1):
        yield Finding("R14.top-p-deprecated", "top_p")
    if number(case.body.get("top_k")) is not None:
        yield Finding("R14.top-k-deprecated", "top_k")


def _while_thinking(case: Case) -> Iterator[Finding]:
    top_p = number(case.body.get("top_p"))
    if number(case.body.get("temperature")) not in (None, 1):
        yield Finding("R13.temperature-with-thinking", "temperature")
    if top_p is not None and not _LEAST_TOP_P <= top_p <= 1:
        yield Finding("R13.top-p-with-thinking", "top_p")
    if number(case.body.get("top_k")) is not None:
        yield Finding("R13.top-k-with-thinking", "top_k")
