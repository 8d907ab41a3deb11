"""What Claude Code says around its messages: its head, its system prompt, its tools and the rest, after a capture of it.

The capture tells of what it leaves out only how long it was. There are words of that length in its place, the same in every
run. What the mock is to say stands at the end of the system prompt, where a conversation does not grow.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

__all__ = ["CAPTURE", "PATH", "ClaudeCode", "marked"]

CAPTURE = Path(__file__).parent.parent / "tests/fixtures/captures/cc_tool_loop_thinking_returned.json"
PATH = "/v1/messages?beta=true"
_OWN = ("x-api-key", "host", "content-length", "connection")
"""Headers of the connection, and the target's own key."""
_PROPERTY = 160
"""Letters of a parameter's description, so that the whole is as long as what was captured."""
_WORDS = ["file", "the", "command", "when", 'a "path"', "returns", "line\n", "tool", "only", "naïve", "use", "agent"]
_CHARS = re.compile(r"<redacted (\d+) chars>")
_COUNT = re.compile(r"<redacted (\d+)>")
_HEX = "<64 hex>"


class ClaudeCode:
    """One client. `answer` is what its backend is to say."""

    def __init__(self, answer: str) -> None:
        captured = json.loads(CAPTURE.read_text("utf-8"))
        self._chance = random.Random(11)
        self._session = captured["body"]["metadata"]["user_id"].rpartition(':"')[2].removesuffix('"}')
        self._headers = [line for line in captured["headers"] if line.split(":")[0].lower() not in _OWN]
        self._body = self._filled(captured["body"])
        self._body["system"][-1]["text"] += f" answer:{answer} pace:0"

    def headers(self, session: str) -> tuple[str, ...]:
        return tuple(line.replace(self._session, session) for line in self._headers)

    def opening(self, question: str) -> list[dict[str, Any]]:
        """The messages before the first answer: reminders and a question, and the second part of the system prompt."""
        asked, system, *_ = self._body["messages"]
        return [{**asked, "content": [*asked["content"][:-1], {"type": "text", "text": question}]}, system]

    def body(self, session: str, messages: bytes) -> bytes:
        """All of a request, around messages that are JSON already."""
        metadata = {"user_id": self._body["metadata"]["user_id"].replace(self._session, session)}
        shell = json.dumps({**self._body, "messages": [], "metadata": metadata}, separators=(",", ":"), ensure_ascii=False)
        return shell.encode().replace(b'"messages":[]', b'"messages":[%b]' % messages, 1)

    def _filled(self, value: Any) -> Any:
        """With words where the capture has left some out."""
        if isinstance(value, dict):
            return {name: self._filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, value: str) -> Any:
        if left_out := _CHARS.fullmatch(value):
            return self.words(int(left_out[1]))
        if left_out := _COUNT.fullmatch(value):
            told = range(int(left_out[1]))
            return {f"parameter_{number}": {"type": "string", "description": self.words(_PROPERTY)} for number in told}
        return value.replace(_HEX, self._chance.randbytes(32).hex())

    def words(self, length: int) -> str:
        """A text of so many letters."""
        text = ""
        while len(text) < length:
            text += self._chance.choice(_WORDS) + " "
        return text[:length]


def marked(message: dict[str, Any]) -> dict[str, Any]:
    """A message with the cache mark that the last one has."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]}
