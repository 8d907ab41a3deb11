"""A request of Chat Completions: every call is answered directly behind the message that made it, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.json import JsonObject, list_of, object_of, text_of
from clew.thinking.compliance.findings import RuleFinding
from clew.thinking.openai_compliance.names import names_too_long


def findings_in(body: JsonObject) -> Iterator[RuleFinding]:
    """All findings, by place."""
    yield from names_too_long("chat.tool-name", body)
    called: tuple[str, ...] = ()
    waiting: dict[str, None] = {}
    at = 0
    for place, message in enumerate(object_of(each) for each in list_of(body.get("messages"))):
        if message.get("role") == "tool":
            id_ = text_of(message.get("tool_call_id"))
            waiting.pop(id_, None)
            if id_ not in called:
                yield RuleFinding("chat.result-orphan", f"messages[{place}]", {})
            continue
        yield from _unanswered(at, waiting)
        called = tuple(text_of(object_of(call).get("id")) for call in list_of(message.get("tool_calls")))
        waiting, at = dict.fromkeys(called), place
    yield from _unanswered(at, waiting)


def _unanswered(place: int, waiting: dict[str, None]) -> Iterator[RuleFinding]:
    if waiting:
        yield RuleFinding("chat.call-unanswered", f"messages[{place}]", {"ids": ", ".join(waiting)})
