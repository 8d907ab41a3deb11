"""A small client in the manner of Claude Code: a history, a tool, streamed answers, and requests by `clew.build_request`.

    ANTHROPIC_API_KEY=… MAX_THINKING_TOKENS=8000 python client.py "What is in notes.txt?" "ultrathink: is it true?"

It needs no gateway and no SDK. `ANTHROPIC_BASE_URL` leads it elsewhere, `CLIENT_MODEL` names another model.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import msgspec

from clew import BudgetRules, BuiltRequest, CacheRules, ClewError, RequestParts, StreamAssembler, build_request

Json = dict[str, Any]

SYSTEM = "You help with the files of one directory. Read a file before you speak of it."
READ: Json = {
    "name": "Read",
    "description": "The text of a file in this directory.",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
}
SUMMARY = "Sum up what we did so far, for somebody who goes on with it."


class Failed(Exception):
    """There is no answer: the API said no, in its own words, or the connection broke."""


class Client:
    """One conversation. `history` holds it in envelopes, as Claude Code keeps it; nothing ever alters what is in there."""

    def __init__(self, environ: Mapping[str, str], directory: Path) -> None:
        self.history: list[Json] = []
        self.model = environ.get("CLIENT_MODEL") or "claude-opus-5-5"
        self._environ = environ
        self._directory = directory

    def ask(self, words: str) -> str:
        """The answer to a question, with as many tool calls as it takes."""
        self._keep("user", words)
        while True:
            answer = self._answer()
            self._keep("assistant", answer["content"], **{name: answer[name] for name in ("id", "model", "usage")})
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            if not calls:
                return "".join(block["text"] for block in answer["content"] if block["type"] == "text")
            self._keep("user", [self._result(call) for call in calls])

    def compact(self) -> None:
        """Go on from a summary. Words that asked for thinking are gone with the rest, so the budget is worked out again."""
        summary = self.ask(SUMMARY)
        self.history = []
        self._keep("user", f"This is what was done so far: {summary}", is_meta=True)

    def build(self) -> BuiltRequest[None]:
        """The next request: history in, body out."""
        return build_request(
            RequestParts(
                model=self.model,
                messages=self.history,
                max_tokens=32_000,
                system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
                tools=[READ],
                budget=BudgetRules.from_variables(self._environ),
                cache=CacheRules.from_variables(self._environ),
                preserve_thinking=True,
            )
        )

    def _answer(self) -> Json:
        built = self.build()
        for warning in built.warnings:
            tell(f"warning: {warning}")
        for event in built.events:
            tell(f"{event.name} {json.dumps(msgspec.to_builtins(event))}")
        for change in built.changes:
            tell(f"{change.path} {change.what}: {change.why}")
        assembler = StreamAssembler()
        for chunk in self._stream(built):
            for done in assembler.feed(chunk):
                if done.block["type"] == "thinking" and done.block["thinking"]:
                    tell(f"thinking: {done.block['thinking']}")
        return assembler.finish()

    def _stream(self, built: BuiltRequest[None]) -> Iterator[bytes]:
        headers = {
            "content-type": "application/json",
            "anthropic-version": "2023-06-01",
            "anthropic-beta": ",".join(built.betas),
            "x-api-key": self._environ.get("ANTHROPIC_API_KEY", ""),
        }
        url = self._environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        body = json.dumps({**built.body, "stream": True}).encode()
        post = Request(f"{url}/v1/messages", body, {name: value for name, value in headers.items() if value})
        try:
            with urlopen(post) as reply:
                while chunk := reply.read1():
                    yield chunk
        except HTTPError as error:
            raise Failed(json.load(error)["error"]["message"]) from None
        except (OSError, HTTPException) as error:
            raise Failed(f"the connection broke: {error}") from None

    def _result(self, call: Json) -> Json:
        try:
            path = (self._directory / call["input"]["file_path"]).resolve()
            if not path.is_relative_to(self._directory.resolve()):
                raise OSError("outside of the directory")
            said, failed = path.read_text(), False
        except (OSError, KeyError) as error:
            said, failed = f"cannot be read: {error}", True
        return {"type": "tool_result", "tool_use_id": call["id"], "content": said, "is_error": failed}

    def _keep(self, role: str, content: Any, *, is_meta: bool = False, **more: Any) -> None:
        message = {"role": role, "content": content, **more}
        self.history.append({"type": role, "uuid": str(uuid4()), "isMeta": is_meta, "message": message})


def tell(line: str) -> None:
    """Everything but the answers."""
    print(line, file=sys.stderr)


def main() -> int:
    client = Client(os.environ, Path.cwd())
    try:
        for words in sys.argv[1:]:
            if words == "/compact":
                client.compact()
            else:
                print(client.ask(words))
    except (Failed, ClewError) as error:
        tell(f"failed: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
