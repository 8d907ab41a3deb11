"""What the judge's tests share: a legal request, a way to ask the judge, and the table row that shows a rule from both sides."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from clew.simulator.anthropic.judge import judge
from clew.simulator.interfaces import Account, JudgeVerdict, Stance, VendorRefusal
from clew.simulator.server import stance
from tests.manifest import accepts, proves, refuses

OLD = "2023-06-01"
NEW = "2026-10-21"
BINDING = "thinking-binding-controls-2026-08-01"
HOME = Account(name="home")
ABSENT = object()
"""As a change: take the key away."""

TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAkPn/Afnh+ngAAAAASUVORK5CYII="


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": _content(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": _content(content)}


def system(*content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "system", "content": _content(content), **more}


def _content(content: tuple[Any, ...]) -> Any:
    """One string stays a string; everything else is a list, strings in it as text blocks."""
    if len(content) == 1 and isinstance(content[0], str):
        return content[0]
    return [text(block) if isinstance(block, str) else block for block in content]


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(name: str = "toolu_1", tool: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": {}, **more}


def result(name: str = "toolu_1", content: Any = "seen", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def search(name: str = "srvtoolu_1", tool: str = "web_search") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": name, "name": tool, "input": {}}


def searched(name: str = "srvtoolu_1", kind: str = "web_search_tool_result") -> dict[str, Any]:
    return {"type": kind, "tool_use_id": name, "content": []}


def thought(words: str = "Hm.", signature: str = "c2lnbmF0dXJl") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def picture(data: str = PIXEL, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


CACHED = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def request(**changes: Any) -> dict[str, Any]:
    """A legal request with these top-level values put in, or taken out."""
    base = {"model": "claude-opus-4-8", "max_tokens": 1024, "messages": [user("Hello.")]}
    return {key: value for key, value in {**base, **changes}.items() if value is not ABSENT}


def headers(version: str = OLD, betas: Iterable[str] = ()) -> dict[str, str]:
    named = {"anthropic-version": version} if version else {}
    return {**named, "anthropic-beta": ",".join(betas)} if betas else named


def ask(body: Any, *, version: str = OLD, betas: Iterable[str] = (), **terms: Any) -> JudgeVerdict:
    """The verdict on a body, given as a value or as bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    defaults = {"kind": "anthropic", "account": HOME, "stance": stance(), "path": "/v1/messages"}
    return judge(raw, headers(version, betas), **{**defaults, **terms})


def named(violation: VendorRefusal | None) -> tuple[str, str, str] | None:
    return violation and (violation.rule, violation.path, violation.message)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One rule from both sides: `bad` breaks it at `path` with these words, `good` is its nearest legal neighbour."""

    rule: str
    bad: Any
    good: Any
    path: str
    text: str
    betas: tuple[str, ...] = ()
    good_betas: tuple[str, ...] | None = None
    version: str = OLD
    good_version: str | None = None
    stance: Stance = field(default_factory=stance)
    good_stance: Stance | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)
    conflict: str = ""

    def refused(self) -> JudgeVerdict:
        return ask(self.bad, version=self.version, betas=self.betas, stance=self.stance, **self.terms)

    def accepted(self) -> JudgeVerdict:
        betas = self.betas if self.good_betas is None else self.good_betas
        version = self.version if self.good_version is None else self.good_version
        return ask(self.good, version=version, betas=betas, stance=self.good_stance or self.stance, **self.terms)


def row(rule: str, bad: Any, good: Any, path: str, text: str, **more: Any) -> Row:
    """A row of changes to the legal request; `text` may say {path}."""
    return Row(rule=rule, bad=_body(bad), good=_body(good), path=path, text=text.replace("{path}", path), **more)


def _body(changes: Any) -> Any:
    return request(**changes) if isinstance(changes, dict) else changes


def refusing(rows: Iterable[Row]) -> list[Any]:
    return [pytest.param(row, id=row.rule, marks=[refuses(f"rule:{row.rule}"), *_conflict(row)]) for row in rows]


def accepting(rows: Iterable[Row]) -> list[Any]:
    return [pytest.param(row, id=row.rule, marks=[accepts(f"rule:{row.rule}"), *_conflict(row)]) for row in rows]


def _conflict(row: Row) -> list[Any]:
    return [proves(f"conflict:{row.conflict}")] if row.conflict else []
