"""The messages: each by itself (role, keys, parts, calls), and all of them as a conversation (pairs, order, images)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Final

import msgspec

from clew.model.json import JsonValue
from clew.simulator.openai_chat.judge.case import NAME, ChatCase, IndexedMessage, calls_of
from clew.simulator.openai_chat.vendors import ChatVendor
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_list, as_str, kind_of

_URL: Final = re.compile(r"https?://.|data:image/[a-z.+-]+;base64,[A-Za-z0-9+/=]", re.DOTALL)
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_KEYS: Final[dict[str, frozenset[str]]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"}),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
_NEEDED: Final = {"text": "text", "image_url": "image_url", "refusal": "refusal", "thinking": "thinking"}
_FOLLOWERS: Final[dict[str, tuple[str, ...]]] = {
    "system": ("system", "user", "assistant"),
    "user": ("user", "assistant", "system"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("tool", "assistant"),
}
"""Which roles may follow each role, for vendors that check it: as in the validator of mistral-common."""


# Each message by itself.


def check_messages(case: ChatCase) -> Iterator[RuleBreach]:
    vendor = case.vendor
    for index, message in enumerate(as_list(case.body.get("messages"))):
        path = f"messages.{index}"
        if not isinstance(message, dict):
            yield RuleBreach("chat.field-type", path, {"expected": "an object", "given": kind_of(message)})
            continue
        each = IndexedMessage(index, message)
        role = each.role
        if role not in vendor.roles:
            roles = ", ".join(f"'{known}'" for known in vendor.roles)
            variants = ", ".join(f"`{known}`" for known in vendor.roles)
            names = {"role": role, "roles": roles, "variants": variants}
            yield RuleBreach("chat.role-unknown", f"{path}.role", names)
            continue
        known = _KEYS.get(role, _KEYS["user"]) | set(vendor.message_fields)
        yield from (_unknown_key(key, value, path, role) for key, value in message.items() if key not in known)
        yield from _check_content(each, vendor)
        if role == "assistant":
            yield from _check_calls(each, vendor)
        if role == "tool" and not as_str(message.get("tool_call_id")):
            yield RuleBreach("chat.result-id-missing", f"{path}.tool_call_id")


def _unknown_key(key: str, value: JsonValue, path: str, role: str) -> RuleBreach:
    names = {"role": role, "input": value, "message": path, "key": key}
    return RuleBreach("chat.message-field-unknown", f"{path}.{key}", names)


def _check_content(each: IndexedMessage, vendor: ChatVendor) -> Iterator[RuleBreach]:
    content, path = each.message.get("content"), f"{each.path}.content"
    calls = each.message.get("tool_calls")
    match content:
        case "" if each.role == "assistant" and not calls:
            yield RuleBreach("chat.assistant-empty", path, {"index": each.index})
        case None if not calls:
            yield RuleBreach("chat.content-missing", path, {"index": each.index})
        case str() | None:
            pass
        case list():
            types = vendor.parts.get(each.role, _PARTS.get(each.role, ("text",)))
            for number, part in enumerate(content):
                yield from _check_part(part, f"{path}.{number}", types, vendor)
        case _:
            names = {"expected": "one of a string or array of objects", "given": kind_of(content)}
            yield RuleBreach("chat.field-type", path, names)


def _check_part(value: JsonValue, path: str, types: tuple[str, ...], vendor: ChatVendor) -> Iterator[RuleBreach]:
    part = as_dict(value)
    kind = as_str(part.get("type"))
    if kind not in types:
        names = {"type": kind, "types": ", ".join(f"'{each}'" for each in types)}
        yield RuleBreach("chat.part-unknown", f"{path}.type", names)
        return
    needed = _NEEDED.get(kind)
    if needed is not None and needed not in part:
        yield RuleBreach("chat.part-shape", f"{path}.{needed}")
    known = {"type", kind, *vendor.part_fields}
    yield from (_unknown_key(key, member, path, kind) for key, member in part.items() if key not in known)
    if kind == "image_url":
        image = part.get("image_url")
        url = as_str(image.get("url") if isinstance(image, dict) else image)
        if not _URL.match(url):
            yield RuleBreach("chat.image-url", f"{path}.image_url.url")


def _check_calls(each: IndexedMessage, vendor: ChatVendor) -> Iterator[RuleBreach]:
    if each.message.get("tool_calls") == []:
        yield RuleBreach("chat.calls-empty", f"{each.path}.tool_calls")
    for number, item in enumerate(as_list(each.message.get("tool_calls"))):
        path, call = f"{each.path}.tool_calls.{number}", as_dict(item)
        function = as_dict(call.get("function"))
        name, arguments = as_str(function.get("name")), function.get("arguments")
        if not as_str(call.get("id")):
            yield RuleBreach("chat.call-shape", f"{path}.id")
        if call.get("type") != "function":
            yield RuleBreach("chat.call-shape", f"{path}.type")
        if not name:
            yield RuleBreach("chat.call-shape", f"{path}.function.name")
        elif not NAME.fullmatch(name):
            yield RuleBreach("chat.tool-name", f"{path}.function.name", {"name": name})
        if not isinstance(arguments, str):
            names = {"given": kind_of(arguments)}
            yield RuleBreach("chat.arguments-not-text", f"{path}.function.arguments", names)
        for key in call.keys() - {"id", "type", "function", "index", *vendor.call_fields}:
            yield _unknown_key(key, call[key], path, "assistant")


# The messages as a conversation.


def check_pairs(case: ChatCase) -> Iterator[RuleBreach]:
    """Tool messages directly follow the calls that they answer, and answer all of them."""
    called: list[str] = []
    left: Counter[str] = Counter()
    caller = -1
    for each in case.messages:
        if each.role == "tool":
            id_ = as_str(each.message.get("tool_call_id"))
            if not left[id_]:
                yield RuleBreach("chat.result-orphan", f"{each.path}.role", {"id": id_})
            else:
                left[id_] -= 1
            continue
        yield from _unanswered(caller, called, left)
        called = [as_str(call.get("id")) for call in calls_of(each.message)]
        left, caller = Counter(called), each.index
    yield from _unanswered(caller, called, left)


def _unanswered(caller: int, called: list[str], left: Counter[str]) -> Iterator[RuleBreach]:
    """The calls without a result. Where ids repeat, the last calls are the ones that have none."""
    ids: list[str] = []
    for id_ in reversed(called):
        if left[id_]:
            ids.append(id_)
            left[id_] -= 1
    if ids:
        ids.reverse()
        yield RuleBreach("chat.call-unanswered", f"messages.{caller}", {"ids": ", ".join(ids), "id": ids[0]})


def check_calls(case: ChatCase) -> Iterator[RuleBreach]:
    for each in case.assistants:
        seen: set[str] = set()
        for number, call in enumerate(calls_of(each.message)):
            path = f"{each.path}.tool_calls.{number}"
            id_ = as_str(call.get("id"))
            if id_ in seen:
                yield RuleBreach("chat.ids-repeated", f"{path}.id", {"id": id_})
            seen.add(id_)
            if not _NINE.fullmatch(id_):
                yield RuleBreach("chat.id-pattern", f"{path}.id", {"id": id_})
            arguments: JsonValue = None
            with suppress(msgspec.DecodeError):
                arguments = msgspec.json.decode(as_str(as_dict(call.get("function")).get("arguments")))
            if not isinstance(arguments, dict):
                yield RuleBreach("chat.arguments-not-json", f"{path}.function.arguments", {"id": id_})


def check_order(case: ChatCase) -> Iterator[RuleBreach]:
    for before, each in pairwise(case.messages):
        if each.role not in _FOLLOWERS.get(before.role, ()):
            yield RuleBreach("chat.order", f"{each.path}.role", {"role": each.role, "before": before.role})
    last = case.messages[-1] if case.messages else None
    if last and last.role not in ("user", "tool") and last.message.get("prefix") is not True:
        yield RuleBreach("chat.last-role", f"{last.path}.role", {"role": last.role})
    if not any(each.role == "user" for each in case.messages):
        yield RuleBreach("chat.user-missing", "messages")
    spoken = [each for each in case.messages if each.role in ("user", "assistant", "tool")]
    for before, each in pairwise(spoken):
        if each.role == before.role and each.role != "tool":
            names = {"first": before.index, "second": each.index, "model": case.model}
            yield RuleBreach("chat.successive", each.path, names)


def check_images(case: ChatCase) -> Iterator[RuleBreach]:
    for each in case.messages:
        for number, item in enumerate(as_list(each.message.get("content"))):
            part, path = as_dict(item), f"{each.path}.content.{number}"
            if part.get("type") != "image_url":
                continue
            if not case.traits.vision:
                yield RuleBreach("chat.image-unsupported", path, {"model": case.model, "index": each.index})
            if as_str(as_dict(part.get("image_url")).get("url")).startswith("http"):
                yield RuleBreach("chat.image-remote", path)
