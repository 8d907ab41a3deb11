"""Builders: conversations in as few words as they deserve."""

from __future__ import annotations

import itertools
import json
from typing import Any

from clew.model.facts.models import profile_for
from clew.model.origin import Origin, Target
from clew.model.recording import Recording, Shelf
from clew.model.request import Request
from clew.thinking.recognise import Context
from clew.thinking.record import recording_of
from clew.wire.requests import encode, parse

Json = dict[str, Any]

OPUS = Origin(realm="anthropic", backend="claude", model="claude-opus-5-5", account="me")
SONNET = Origin(realm="anthropic", backend="claude", model="claude-sonnet-5-5", account="me")
GLM = Origin(realm="glm", backend="glm", model="glm-5", account="me")


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def thinking(words: str, signature: str | None = "sig") -> Json:
    return {"type": "thinking", "thinking": words} | ({} if signature is None else {"signature": signature})


def redacted(data: str) -> Json:
    return {"type": "redacted_thinking", "data": data}


def tool_use(id: str, name: str = "Bash", **input: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def tool_result(id: str, content: Any = "done", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def user(*content: Any) -> Json:
    return {"role": "user", "content": content[0] if len(content) == 1 and isinstance(content[0], str) else _blocks(content)}


def assistant(*content: Any) -> Json:
    return {"role": "assistant", "content": _blocks(content)}


def system(words: str) -> Json:
    return {"role": "system", "content": words}


def _blocks(content: tuple[Any, ...]) -> list[Json]:
    return [text(each) if isinstance(each, str) else each for each in content]


def request(*messages: Json, model: str = "claude-opus-5-5", **fields: Any) -> Request:
    return parse(raw(*messages, model=model, **fields))


def raw(*messages: Json, model: str = "claude-opus-5-5", **fields: Any) -> bytes:
    return json.dumps({"model": model, "max_tokens": 1000, "messages": list(messages), **fields}).encode()


def sent(request: Request) -> list[Json]:
    """The messages as they go out."""
    return json.loads(encode(request))["messages"]


def target(origin: Origin = OPUS, **more: Any) -> Target:
    fields: Json = {"backend": origin.backend, "model": origin.model, "realm": origin.realm, "account": origin.account}
    return Target(**({"profile": profile_for(origin.model)} | fields | more))


class Scribe:
    """Records answers as a gateway would: what was sent ahead of each, what each said, where it stands."""

    def __init__(self, principal: str = "local", session: str = "", agent: str = "") -> None:
        self.shelf = Shelf()
        self.context = Context(principal=principal, session=session, agent=agent)
        self._ids = itertools.count(1)

    def record(self, asked: Request, going: Request, answer: Json, origin: Origin = OPUS, **more: Any) -> Recording:
        """`asked` is the client's request, `going` what went out for it, `answer` the message that came."""
        recording = recording_of(
            f"r{next(self._ids)}",
            asked=asked,
            going=going,
            blocks=tuple(json.dumps(block).encode() for block in answer["content"]),
            origin=origin,
            shelf=self.shelf,
            context=self.context,
            **more,
        )
        self.shelf.add(recording)
        return recording
