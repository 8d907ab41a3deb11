"""The doctor for requests in OpenAI's dialects: which rules about pairs, ids and reasoning a request breaks by itself.

Pure, and independent of the simulator, which reads the same rules on its own. What only the vendor can know is not checked:
whether it made the encrypted content, whether it has kept an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from clew.model.facts.openai_rules import openai_rules
from clew.model.json import JsonObject, list_of, object_of, text_of
from clew.thinking.compliance.findings import RuleFinding, Violation
from clew.thinking.openai_compliance import chat, responses

__all__ = ["check_openai", "openai_dialect_of"]

_CHECKS: Final[Mapping[str, Callable[[JsonObject], Iterator[RuleFinding]]]] = {
    "openai-responses": responses.findings_in,
    "openai-chat": chat.findings_in,
}


def check_openai(dialect: str, body: JsonObject) -> tuple[Violation, ...]:
    """All that is wrong with a request of this dialect, by the order of the rules, then by place.

    >>> [found] = check_openai("openai-chat", {"messages": [{"role": "tool", "tool_call_id": "call_1", "content": "4"}]})
    >>> found.rule, found.path
    ('chat.result-orphan', 'messages[0]')
    """
    rules = openai_rules().rules
    order = {id_: place for place, id_ in enumerate(rules)}
    return tuple(
        Violation(each.rule, each.path, rules[each.rule].text.format(place=each.path, **each.names), rules[each.rule].right)
        for each in sorted(_CHECKS[dialect](body), key=lambda each: order[each.rule])
    )


def openai_dialect_of(body: JsonObject) -> str | None:
    """Which dialect of OpenAI's a request is in; None if nothing tells it from one of the Messages API."""
    shapes = openai_rules().shapes
    if "messages" not in body:
        return "openai-responses" if shapes["openai-responses"].fields & body.keys() else None
    shape = shapes["openai-chat"]
    messages = [object_of(message) for message in list_of(body["messages"])]
    parts = [object_of(part) for message in messages for part in list_of(message.get("content"))]
    tools = [object_of(tool) for tool in list_of(body.get("tools"))]
    is_chat = (
        shape.fields & body.keys()
        or any(shape.message_fields & message.keys() or text_of(message.get("role")) in shape.roles for message in messages)
        or any(text_of(part.get("type")) in shape.parts for part in parts)
        or any(shape.tools & tool.keys() for tool in tools)
    )
    return "openai-chat" if is_chat else None
