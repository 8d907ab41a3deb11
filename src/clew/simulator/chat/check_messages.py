"""Each message by itself: its role, its keys, its content parts, its tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.case import ChatCase, Place
from clew.simulator.chat.check_body import kind_of
from clew.simulator.chat.rules import Finding
from clew.simulator.chat.vendors import Vendor
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["NAME", "check_messages"]

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_URL: Final = re.compile(r"https?://.|data:image/[a-z.+-]+;base64,[A-Za-z0-9+/=]", re.DOTALL)
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


def check_messages(case: ChatCase) -> Iterator[Finding]:
    for index, message in enumerate(as_list(case.body.get("messages"))):
        if isinstance(message, dict):
            yield from _check(Place(index, message), case.vendor)
        else:
            yield Finding("chat.field-type", f"messages.{index}", {"expected": "an object", "given": kind_of(message)})


def _check(place: Place, vendor: Vendor) -> Iterator[Finding]:
    if place.role not in vendor.roles:
        roles = ", ".join(f"'{role}'" for role in vendor.roles)
        variants = ", ".join(f"`{role}`" for role in vendor.roles)
        yield Finding("chat.role-unknown", f"{place.path}.role", {"role": place.role, "roles": roles, "variants": variants})
        return
    known = _KEYS.get(place.role, _KEYS["user"]) | set(vendor.message_fields)
    for key, value in place.message.items():
        if key not in known:
            names = {"role": place.role, "input": value, "message": place.path, "key": key}
            yield Finding("chat.message-field-unknown", f"{place.path}.{key}", names)
    yield from _content(place, vendor)
    if place.role == "assistant":
        yield from _calls(place, vendor)
    if place.role == "tool" and not as_str(place.message.get("tool_call_id")):
        yield Finding("chat.result-id-missing", f"{place.path}.tool_call_id")


def _content(place: Place, vendor: Vendor) -> Iterator[Finding]:
    content = place.message.get("content")
    if isinstance(content, str):
        if not content and place.role == "assistant" and not place.message.get("tool_calls"):
            yield Finding("chat.assistant-empty", f"{place.path}.content", {"index": place.index})
        return
    if content is None:
        if not place.message.get("tool_calls"):
            yield Finding("chat.content-missing", f"{place.path}.content", {"index": place.index})
        return
    if not isinstance(content, list):
        given = {"expected": "one of a string or array of objects", "given": kind_of(content)}
        yield Finding("chat.field-type", f"{place.path}.content", given)
        return
    types = vendor.parts.get(place.role, _PARTS.get(place.role, ("text",)))
    for number, part in enumerate(content):
        yield from _part(part, f"{place.path}.content.{number}", types, vendor)


def _part(part: JsonValue, path: str, types: tuple[str, ...], vendor: Vendor) -> Iterator[Finding]:
    kind = as_str(as_dict(part).get("type"))
    if kind not in types:
        names = {"type": kind, "types": ", ".join(f"'{each}'" for each in types)}
        yield Finding("chat.part-unknown", f"{path}.type", names)
        return
    needed = _NEEDED.get(kind)
    if needed is not None and needed not in as_dict(part):
        yield Finding("chat.part-shape", f"{path}.{needed}")
    known = {"type", kind, *vendor.part_fields}
    for key, value in as_dict(part).items():
        if key not in known:
            names = {"role": kind, "input": value, "message": path, "key": key}
            yield Finding("chat.message-field-unknown", f"{path}.{key}", names)
    if kind == "image_url":
        yield from _image(as_dict(part), path)


def _image(part: JsonObject, path: str) -> Iterator[Finding]:
    image = part.get("image_url")
    url = as_str(as_dict(image).get("url")) if isinstance(image, dict) else as_str(image)
    if not _URL.match(url):
        yield Finding("chat.image-url", f"{path}.image_url.url")


def _calls(place: Place, vendor: Vendor) -> Iterator[Finding]:
    for number, call in enumerate(as_list(place.message.get("tool_calls"))):
        path = f"{place.path}.tool_calls.{number}"
        given, function = as_dict(call), as_dict(as_dict(call).get("function"))
        for missing in _missing(given, function):
            yield Finding("chat.call-shape", f"{path}.{missing}")
        name = as_str(function.get("name"))
        if name and not NAME.fullmatch(name):
            yield Finding("chat.tool-name", f"{path}.function.name", {"name": name})
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            yield Finding("chat.arguments-not-text", f"{path}.function.arguments", {"given": kind_of(arguments)})
        for key in given.keys() - {"id", "type", "function", "index", *vendor.call_fields}:
            names = {"role": "assistant", "input": given[key], "message": path, "key": key}
            yield Finding("chat.message-field-unknown", f"{path}.{key}", names)


def _missing(call: JsonObject, function: JsonObject) -> Iterator[str]:
    if not as_str(call.get("id")):
        yield "id"
    if call.get("type") != "function":
        yield "type"
    if not as_str(function.get("name")):
        yield "function.name"
