"""The doctor for requests in OpenAI's dialects: which rules about pairs, ids and reasoning a request breaks by itself.

Pure, and independent of the simulator, which reads the same rules on its own. What only the vendor can know is not checked:
whether it made the encrypted content, whether it has kept an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Final

from clew.model.facts.rules import openai_rules
from clew.model.json import JsonObject, list_of, object_of, text_of
from clew.thinking.compliance.request_view import RuleFinding, Violation
from clew.thinking.seal import is_seal

# How long a name may be, in both of OpenAI's dialects.


_LONGEST: Final = 64
"""Characters of a tool's name, and of a call id."""


def _names_too_long(rule: str, body: JsonObject) -> Iterator[RuleFinding]:
    """The tools whose names have too many characters. In Chat Completions a name is inside of `function`."""
    for place, tool in enumerate(object_of(each) for each in list_of(body.get("tools"))):
        inside = ".function" if "function" in tool else ""
        name = text_of((object_of(tool["function"]) if inside else tool).get("name"))
        if len(name) > _LONGEST:
            yield RuleFinding(rule, f"tools[{place}]{inside}.name", {"limit": _LONGEST, "length": len(name)})


# A request of Chat Completions: every call is answered directly behind the message that made it, and nothing else is.


def _findings_in_chat(body: JsonObject) -> Iterator[RuleFinding]:
    """All findings, by place."""
    yield from _names_too_long("chat.tool-name", body)
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


# A Responses request: its items as a conversation, their ids, and what reasoning needs around it.


_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_OUTPUT: Final = "_output"
_OF_CLIENTS: Final = frozenset({"compaction_trigger", "additional_tools", "configuration_update"})
"""Items beside messages and outputs that only clients make."""


def _findings_in_responses(body: JsonObject) -> Iterator[RuleFinding]:
    """All findings, rule by rule."""
    items = [object_of(item) for item in list_of(body.get("input"))]
    yield from _names_too_long("responses.name-long", body)
    for place, item in enumerate(items):
        yield from chain(_shape(f"input[{place}]", item), _blob(f"input[{place}]", item, body))
    yield from _order(items)
    if not body.get("previous_response_id") and not any(item.get("type") == "item_reference" for item in items):
        yield from _pairs(items)  # else the calls may be where only the vendor can look


def _shape(path: str, item: JsonObject) -> Iterator[RuleFinding]:
    kind, id_, call_id = _kind(item), item.get("id"), text_of(item.get("call_id"))
    if kind == "reasoning" and "summary" not in item:
        yield RuleFinding("responses.summary-missing", f"{path}.summary", {})
    if kind.removesuffix(_OUTPUT) in openai_rules().calls and len(call_id) > _LONGEST:
        names = {"limit": _LONGEST, "length": len(call_id)}
        yield RuleFinding("responses.call-id-long", f"{path}.call_id", names)
    if not isinstance(id_, str) or kind == "item_reference":
        return
    prefix = openai_rules().prefixes.get(kind, "")
    if not _ID.fullmatch(id_):
        yield RuleFinding("responses.id-characters", f"{path}.id", {"id": id_})
    elif prefix and not id_.startswith(prefix):
        yield RuleFinding("responses.id-prefix", f"{path}.id", {"id": id_, "prefix": prefix})


def _blob(path: str, item: JsonObject, body: JsonObject) -> Iterator[RuleFinding]:
    id_, blob = text_of(item.get("id")), text_of(item.get("encrypted_content"))
    if is_seal(blob):
        what = f"for item {id_}" if id_ else f"{blob[:8]}…{blob[-4:]}"
        yield RuleFinding("responses.blob-invalid", f"{path}.encrypted_content", {"what": what})
    if _kind(item) == "reasoning" and id_ and not blob and body.get("store") is False:
        yield RuleFinding("responses.blob-missing", path, {"id": id_})


def _order(items: list[JsonObject]) -> Iterator[RuleFinding]:
    seen: set[str] = set()
    for place, item in enumerate(items):
        kind, id_ = _kind(item), text_of(item.get("id"))
        following = items[place + 1] if place + 1 < len(items) else {}
        if kind == "reasoning" and not _is_models(following):
            yield RuleFinding("responses.reasoning-alone", f"input[{place}]", {"id": id_})
        if kind == "compaction_trigger" and following:
            yield RuleFinding("responses.trigger-place", f"input[{place}]", {})
        if id_ and kind != "item_reference" and id_ in seen:
            yield RuleFinding("responses.item-repeated", f"input[{place}].id", {"id": id_})
        seen.add(id_)


def _is_models(item: JsonObject) -> bool:
    """Whether the model made it: reasoning, a call, or what an assistant said."""
    kind = _kind(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return bool(kind) and kind not in _OF_CLIENTS and not kind.endswith(_OUTPUT)


def _pairs(items: list[JsonObject]) -> Iterator[RuleFinding]:
    calls = openai_rules().calls
    waiting: dict[tuple[str, str], int] = {}
    called: set[tuple[str, str]] = set()
    for place, item in enumerate(items):
        kind, id_ = _kind(item), text_of(item.get("call_id"))
        if kind in calls:
            waiting[kind, id_] = place
            called.add((kind, id_))
        elif (kind := kind.removesuffix(_OUTPUT)) in calls:
            waiting.pop((kind, id_), None)
            if (kind, id_) not in called:
                yield RuleFinding("responses.output-orphan", f"input[{place}]", {"id": id_, "call": calls[kind]})
    for (kind, id_), place in waiting.items():
        yield RuleFinding("responses.call-unanswered", f"input[{place}]", {"id": id_, "call": calls[kind]})


def _kind(item: JsonObject) -> str:
    """Its type; a message may leave it out."""
    return text_of(item.get("type")) or ("message" if "role" in item else "")


_CHECKS: Final[Mapping[str, Callable[[JsonObject], Iterator[RuleFinding]]]] = {
    "openai-responses": _findings_in_responses,
    "openai-chat": _findings_in_chat,
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
