"""What clients of other fronts send back of an answer, by kind of client.

An answer comes as the front writes it in one piece. A client keeps some of it, in its own form, and sends that with every later
request. Measured with the programs; the kinds stand for many of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from tests.build import Json

Returned = Callable[[Json], list[Json]]
"""The messages or items that a client keeps of an answer."""


class FrontClient(NamedTuple):
    """A kind of client: the front that it speaks, and what it does."""

    dialect: str
    path: str
    accumulated: Callable[[list[Json]], Json]
    """What it makes of a stream's events: the answer in one piece; nothing if it did not come to its end."""
    thinks: Callable[[Json], bool]
    """Whether an answer shows any thinking."""
    returned: Returned
    asked: Callable[[str], list[Json]]
    """A question, as it sends it."""
    results: Callable[[list[Json]], list[Json]]
    """The results of the calls that it kept."""
    body: Callable[[list[Json], str], Json]
    """A request with these messages or items, and this for the system."""


# ── Chat Completions

TOOLS = ("Bash", "Read", "Edit")
FUNCTIONS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}} for name in TOOLS
]


def _chat(*members: str, alter: Callable[[Json], Json] = lambda message: message) -> FrontClient:
    """A client that keeps these members of an answer beside its words and calls."""

    def returned(answer: Json) -> list[Json]:
        said = answer["choices"][0]["message"]
        kept = {name: said[name] for name in ("content", "tool_calls", *members) if name in said}
        return [alter({"role": "assistant", **kept})]

    path = "/v1/chat/completions"
    return FrontClient("openai-chat", path, _chat_answer, _chat_thinks, returned, _chat_question, _chat_results, _chat_body)


def _chat_thinks(answer: Json) -> bool:
    said = answer["choices"][0]["message"]
    return bool(said.get("reasoning_content") or said.get("reasoning_details"))


def _chat_answer(chunks: list[Json]) -> Json:
    """As the official SDK for Python joins chunks: strings grow, calls by their index, and details come whole."""
    message: Json = {"role": "assistant", "content": ""}
    calls: dict[int, Json] = {}
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    if not any(choice["finish_reason"] for choice in choices):
        return {}
    for delta in (choice["delta"] for choice in choices):
        for name in ("content", "reasoning_content", "reasoning"):
            if delta.get(name):
                message[name] = message.get(name, "") + delta[name]
        message |= {"reasoning_details": delta["reasoning_details"]} if "reasoning_details" in delta else {}
        for call in delta.get("tool_calls", ()):
            known = calls.setdefault(call["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
            known |= {"id": call["id"]} if "id" in call else {}
            for name, value in call.get("function", {}).items():
                known["function"][name] += value
    return {"choices": [{"message": {**message, "tool_calls": [*calls.values()]} if calls else message}]}


def _chat_question(words: str) -> list[Json]:
    return [{"role": "user", "content": words}]


def _chat_results(kept: list[Json]) -> list[Json]:
    calls = [call for message in kept for call in message.get("tool_calls") or ()]
    return [{"role": "tool", "tool_call_id": call["id"], "content": f"the contents of {call['id']}"} for call in calls]


def _chat_body(messages: list[Json], system: str) -> Json:
    first = [{"role": "system", "content": system}] if system else []
    return {"messages": first + messages, "tools": FUNCTIONS, "max_tokens": 4000, "reasoning_effort": "medium"}


def _in_parts(message: Json) -> Json:
    """Content as a list, in two parts where it can be cut."""
    words = message.get("content") or ""
    half = len(words) // 2
    parts = [{"type": "text", "text": part} for part in (words[:half], words[half:]) if part]
    return {**message, "content": parts} if parts else message


def _bare(message: Json) -> Json:
    """Details without their texts."""
    details = [{k: v for k, v in each.items() if k != "text"} for each in message.get("reasoning_details", ())]
    return {**message, "reasoning_details": details} if details else message


def _edited(message: Json) -> Json:
    details = [{**each, "text": "Something else."} for each in message.get("reasoning_details", ())]
    return {**message, "reasoning_details": details} if details else message


def _dumped(message: Json) -> Json:
    """As openai-python writes a message that it got."""
    calls = [{**call, "index": at} for at, call in enumerate(message.get("tool_calls") or ())]
    empty = {"refusal": None, "annotations": None, "audio": None, "function_call": None, "parsed": None}
    return {**message, **empty, "tool_calls": calls or None}


CHAT_CLIENTS = {
    "chat, returns nothing": _chat(),
    "chat, returns nothing, in parts": _chat(alter=_in_parts),
    "chat, returns the text": _chat("reasoning_content"),
    "chat, returns details": _chat("reasoning_content", "reasoning_details"),
    "chat, returns details without texts": _chat("reasoning_details", alter=_bare),
    "chat, returns edited details": _chat("reasoning_details", alter=_edited),
    "chat, returns a dump": _chat("reasoning_content", "reasoning", "reasoning_details", alter=_dumped),
}

# ── the Responses API

Item = Callable[[Json], Json | None]
"""What becomes of one item of an answer; None if the client drops it."""


def _responses(reasoning: Item, message: Item, call: Item, *, stores: bool = False) -> FrontClient:
    kinds = {"reasoning": reasoning, "message": message, "function_call": call}

    def returned(answer: Json) -> list[Json]:
        return [kept for item in answer["output"] if (kept := kinds[item["type"]](item))]

    def body(items: list[Json], system: str) -> Json:
        tools = [{"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}} for name in TOOLS]
        wishes = {"reasoning": {"effort": "medium", "summary": "auto"}, "include": ["reasoning.encrypted_content"]}
        kept = {} if stores else {"store": False}
        return {"input": items, "instructions": system, "tools": tools, **wishes, **kept, "max_output_tokens": 4000}

    return FrontClient(
        "openai-responses",
        "/v1/responses",
        _responses_answer,
        lambda answer: any(item["type"] == "reasoning" for item in answer["output"]),
        returned,
        lambda words: [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}],
        _responses_results,
        body,
    )


def _responses_answer(events: list[Json]) -> Json:
    """As Codex has it: the items that are done, if the response came to its end."""
    whole = any(event["type"] == "response.completed" for event in events)
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return {"output": items} if whole else {}


def _responses_results(kept: list[Json]) -> list[Json]:
    calls = [item["call_id"] for item in kept if item.get("type") == "function_call"]
    return [{"type": "function_call_output", "call_id": id, "output": f"the contents of {id}"} for id in calls]


def _only(*names: str, **more: object) -> Item:
    """The item with these members alone, and others in their place."""
    return lambda item: {name: item[name] for name in names if name in item} | more


def _renamed(item: Json) -> Json:
    """Under an id that the client made up."""
    return {**item, "id": f"{item['id'].split('_')[0]}_{item['id'][::-1]}"}


def _referred(item: Json) -> Json:
    return {"type": "item_reference", "id": item["id"]}


def _last_part(item: Json) -> Json | None:
    """A reasoning item without its id, and with one part at most."""
    return {"type": "reasoning", "summary": item["summary"][-1:], "encrypted_content": item["encrypted_content"]}


def _spoken(item: Json) -> Json:
    """A message as words alone."""
    words = [{"type": "output_text", "text": part["text"]} for part in item["content"]]
    return {"role": "assistant", "content": words}


def _rewritten(item: Json) -> Json:
    """A call whose arguments were read and written again."""
    kept = {name: item[name] for name in ("type", "call_id", "name")}
    return {**kept, "arguments": json.dumps(json.loads(item["arguments"]))}


_CALL = _only("type", "call_id", "name", "arguments")
RESPONSES_CLIENTS = {
    "responses, Codex": _responses(
        _only("type", "id", "summary", "encrypted_content", content=None),
        _only("type", "id", "role", "content", "phase"),
        _only("type", "id", "call_id", "name", "arguments"),
    ),
    "responses, Codex with other ids": _responses(_renamed, _renamed, _renamed),
    "responses, opencode": _responses(_last_part, _spoken, _rewritten),
    "responses, AI SDK": _responses(
        _only("type", "id", "summary", "encrypted_content"), lambda item: {**_spoken(item), "id": item["id"]}, _CALL
    ),
}
REFERRING = {"responses, AI SDK with references": _responses(_referred, _referred, _CALL, stores=True)}
"""Clients that send ids for what the gateway said. Only a whole gateway knows these."""

FRONT_CLIENTS = {**CHAT_CLIENTS, **RESPONSES_CLIENTS, **REFERRING}
