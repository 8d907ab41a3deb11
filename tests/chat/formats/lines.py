"""Claude Code transcripts in as few words as they deserve."""

from __future__ import annotations

import json
from typing import Any

from tests.build import text

SESSION = "0b5f8a0e-0000-4000-8000-000000000001"


class Scribbler:
    """Writes lines as Claude Code does: each linked to the one before, unless told otherwise."""

    def __init__(self, session: str = SESSION, model: str = "claude-opus-5-5") -> None:
        self.lines: list[bytes] = []
        self._session, self._model, self._last = session, model, None

    def user(self, content: Any, **more: Any) -> str:
        return self.write("user", {"role": "user", "content": content}, more)

    def assistant(self, id: str, *blocks: Any, stop: str | None = "end_turn", model: str = "", **more: Any) -> str:
        """One line for each block."""
        for block in blocks:
            message = {
                "id": id,
                "role": "assistant",
                "model": model or self._model,
                "content": [text(block) if isinstance(block, str) else block],
                "stop_reason": stop,
                "usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30},
            }
            self.write("assistant", message, more)
            more.pop("parentUuid", None)
        assert self._last is not None
        return self._last

    def note(self, type: str, **more: Any) -> str:
        return self.write(type, None, more)

    def broken(self, raw: bytes) -> None:
        self.lines.append(raw)

    @property
    def raw(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def write(self, type: str, message: Any, more: dict[str, Any]) -> str:
        number = len(self.lines)
        line = {
            "parentUuid": self._last,
            "isSidechain": False,
            "sessionId": self._session,
            "type": type,
            "uuid": f"{self._session[:4]}-{number}",
            "timestamp": f"2026-11-16T08:00:{number % 60:02}.500Z",
        } | ({} if message is None else {"message": message})
        self.lines.append(json.dumps(line | more).encode())
        self._last = line["uuid"]
        return self._last
