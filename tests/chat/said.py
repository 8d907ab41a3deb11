"""Answers and loggers in few words."""

from __future__ import annotations

from typing import Any

from tests.build import Json, redacted, text, thinking, tool_use

T = thinking("Let me look around.", "c2lnbmVk")
T2 = thinking("One more look.", "YWdhaW4=")
R = redacted("ZW5jcnlwdGVk")
X = text("I found it.")
CALL = tool_use("toolu_1", "read_file", path="src/a.py")


def answer(*content: Json, **more: Any) -> Json:
    """An answer as the API gives it."""
    usage = {"input_tokens": 10, "output_tokens": 20}
    fields = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": list(content)}
    return {**fields, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage, **more}


def thought(content: str) -> Json:
    """A thinking block as it is shown."""
    return {"type": "thinking", "content": content}


HIDDEN_BY_VENDOR = {"type": "redacted_thinking"}


class Lines:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def info(self, msg: str, /) -> None:
        self.said.append(msg)
