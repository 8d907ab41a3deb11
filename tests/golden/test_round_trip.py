"""What a backend said comes back to it: every golden stream, held by a client and sent on in the next request.

What must come back is read off the golden itself: the text of each block, and the payload behind its `stop`. Ids of calls are
the business of recordings, which there are none of here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.requests import write_request
from clew.model.assemble import assemble
from clew.model.facts.models import profile_for
from clew.model.origin import Target
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.thinking.seal import PREFIX, Seal
from clew.wire.events import decode_event
from clew.wire.requests import parse
from clew.wire.sse import SseReader
from tests.golden.cases import Scene, scenes
from tests.golden.driving import ORIGIN, PlainSealer
from tests.manifest import proves

LISTS = ("reasoning_details", "thinking_blocks")
TARGET = Target(
    backend=ORIGIN.backend,
    model=ORIGIN.model,
    realm=ORIGIN.realm,
    dialect="openai-chat",
    profile=profile_for(ORIGIN.model),
)
OPTIONS = ChatOptions(ChatRequestOptions(reasoning="reasoning", tags_back=True))
"""A backend that takes everything back."""


class OpeningSealer(PlainSealer):
    """Opens its own seals."""

    def open(self, token: str, text: str, *, principal: str) -> Seal:
        return Seal(principal, ORIGIN, "x1", 0, token.removeprefix(PREFIX).encode())


@dataclass
class Said:
    """A block of a golden: what it is, what it says, and what its backend needs back."""

    kind: str
    name: str = ""
    text: str = ""
    payload: dict[str, Any] = field(default_factory=dict[str, Any])


def blocks_in(events: str) -> list[Said]:
    blocks: list[Said] = []
    for line in events.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("text", "thinking", "tool_use"):
            blocks.append(Said(word, name=rest.split(" ")[-1]))
        elif word == "+":
            blocks[-1].text += json.loads(rest)
        elif word == "stop" and " " in rest:
            blocks[-1].payload = json.loads(rest.partition(" ")[2])
    return blocks


def expected(blocks: list[Said]) -> dict[str, Any]:
    """The assistant message in which all of it comes back, without the ids of its calls."""
    calls = [
        {"name": block.name, "arguments": json.loads(block.text or "{}")} for block in blocks if block.kind == "tool_use"
    ]
    content = _content(blocks)
    message: dict[str, Any] = {"role": "assistant", "content": content or (None if calls else "")}
    for block in blocks:
        for name, value in _fields(block).items():
            message[name] = message[name] + value if name in message else value
    return {**message, **({"tool_calls": calls} if calls else {})}


def _fields(block: Said) -> dict[str, Any]:
    lists = {name: block.payload[name] for name in LISTS if name in block.payload}
    named = block.payload.get("field", "")
    return lists or ({named: block.text} if named not in ("", "tags", "content") else {})


def _content(blocks: list[Said]) -> Any:
    parts: list[Any] = []
    for block in blocks:
        tags = block.payload.get("tags", {})
        if block.kind == "text" and block.text:
            parts.append(block.text)
        elif block.payload.get("field") == "tags":
            parts.append(f"{tags['open']}{block.text}{tags['close']}")
        elif "content" in block.payload:
            parts += block.payload["content"]
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]


def sent_back(client: bytes) -> dict[str, Any]:
    """The assistant message of the next request of a client that has read these bytes."""
    reader = SseReader()
    content: Any = assemble([decode_event(event) for event in [*reader.feed(client), *reader.flush()]])["content"]
    results = [{"type": "tool_result", "tool_use_id": b["id"], "content": "ok"} for b in content if b["type"] == "tool_use"]
    talk = [{"role": "user", "content": "go"}, {"role": "assistant", "content": content}]
    asked = {"model": "m", "max_tokens": 9, "messages": [*talk, {"role": "user", "content": results or "on"}]}
    going = project(parse(json.dumps(asked).encode()), TARGET, Facts(sealer=OpeningSealer()))
    message = json.loads(write_request(going.request, OPTIONS).body)["messages"][1]
    for call in message.get("tool_calls", ()):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return {**message, **({"tool_calls": calls} if calls else {})}


ENDED = [scene for _, scene in scenes("backend", "events") if "\nend " in scene.text("events")]
WHOLE = [scene for scene in ENDED if "max_tokens" not in scene.text("events") and blocks_in(scene.text("events"))]


@proves("req:S3-14", "req:S3-40", "req:C28")
@pytest.mark.parametrize("scene", WHOLE, ids=lambda scene: scene.id)
def test_what_a_backend_said_comes_back_to_it(scene: Scene) -> None:
    """Text under its name, entries as they came, markup to the byte, encrypted ones among them (invariant i)."""
    assert sent_back(scene.sections["client"]) == expected(blocks_in(scene.text("events")))
