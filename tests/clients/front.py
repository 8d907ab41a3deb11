"""A front end with the real AI SDK, in a Node of its own: told what to do, line by line."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any, Self

from tests.clients.installed import HERE, NODE

MOST_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the front end has after something was done: its state, its messages, and every chunk that came."""

    status: str
    error: str | None
    messages: list[Any]
    finishes: list[Any]
    chunks: list[Any]
    invalid: str | None

    @property
    def kinds(self) -> list[str]:
        """The types of the chunks, a run of the same once."""
        found = [chunk["type"] for chunk in self.chunks]
        return [kind for at, kind in enumerate(found) if at == 0 or kind != found[at - 1]]


class Front:
    """Enter it, then let it do things. `body` goes along with each request; with `wait` it runs no tool by itself."""

    def __init__(self, api: str, key: str = "", *, wait: bool = False, **body: Any) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._told = json.dumps({"api": api, "headers": headers, "body": body, "wait": wait})

    def __enter__(self) -> Self:
        self._node = subprocess.Popen(
            [NODE, HERE / "sdks" / "ai_chat.mjs", self._told],
            cwd=HERE,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._node.communicate(timeout=MOST_SECONDS)

    def do(self, what: str, chat: str, **more: Any) -> Seen:
        """One thing, to its end."""
        assert self._node.stdin and self._node.stdout
        self._node.stdin.write(json.dumps({"do": what, "chat": chat, **more}) + "\n")
        self._node.stdin.flush()
        seen = Seen(**json.loads(self._node.stdout.readline()))
        assert seen.invalid is None
        return seen
