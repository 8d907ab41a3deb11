"""What clients of other fronts send back of an answer, by kind of client.

An answer comes as the front writes it in one piece. A client keeps some of it, in its own form, and sends that with every later
request. Measured with the programs; the kinds stand for many of them.
"""

from __future__ import annotations

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
    """What it makes of a stream's events: the answer in one piece."""
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
    for delta in (choice["delta"] for chunk in chunks for choice in chunk["choices"]):
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

FRONT_CLIENTS = {**CHAT_CLIENTS}
