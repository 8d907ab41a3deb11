"""Some vendors want the thinking of every tool call back, and say so in words of their own.

Not a rule of the book: a row of `vendors.toml` has the words.
"""

from __future__ import annotations

from clew.simulator.interfaces import Violation
from clew.simulator.judge.case import Case
from clew.simulator.judge.history import Message

__all__ = ["check_passed_back"]


def check_passed_back(case: Case) -> Violation | None:
    """The first call that lost its thinking. An empty thought counts; with thinking off nothing is asked for."""
    if not case.vendor.missing or not case.thinking_on:
        return None
    lost = next((message for message in case.messages if _lost_its_thinking(message)), None)
    return lost and _violation(case.vendor.missing, lost.path)


def _lost_its_thinking(message: Message) -> bool:
    return message.role == "assistant" and message.has("tool_use") and not message.has("thinking")


def _violation(words: str, path: str) -> Violation:
    return Violation(
        rule="vendor.thinking-missing",
        grade="B",
        status=400,
        error_type="invalid_request_error",
        message=words,
        path=path,
    )
