"""About how many tokens a request has, for backends there is no model to ask; and what past answers teach about the error.

What is in the request as it goes out is counted: texts by what they are made of, inputs and schemas as the JSON they are,
images by their size, and a little for every message, call and tool that the backend's template wraps around them. No model
reads signatures. The estimate is then corrected by a factor for this backend and model: reported over estimated, of requests
that it has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue, object_of, objects_of, text_of
from clew.model.request import Request
from clew.model.tokens import USUAL_IMAGE_TOKENS, image_tokens, tokens_of
from clew.wire.requests import encode

LEAST_FACTOR: Final = 0.4
MOST_FACTOR: Final = 3.0
"""What is further off was not the same request."""

_MESSAGE: Final = 4
"""Role and separators, in every template."""
_CALL: Final = 8
_TOOL: Final = 10
_TOOLS: Final = 40
"""What a template says about tools at all."""
_PAGE: Final = 2000
_PAGE_BYTES: Final = 50_000
"""A page of a PDF, and the base64 that it has on average."""

_TELLING: Final = 4000
"""Tokens from which on an answer says as much about the factor as it can; below, the template weighs too much."""
_SHARE: Final = 0.5
"""How much of the difference one such answer brings in."""


def estimate(request: Request) -> int:
    """The tokens of what goes out; at least 1."""
    body: JsonObject = msgspec.json.decode(encode(request))
    counter = _Counter()
    counter.content(body.get("system"))
    counter.tools(objects_of(body.get("tools")))
    for message in objects_of(body.get("messages")):
        counter.fixed += _MESSAGE
        counter.content(message.get("content"))
    return counter.total()


def calibrate(estimated: int, reported: int, before: float | None = None) -> float:
    """The factor after an answer that reported so many tokens for what was estimated (without a factor) at so many."""
    known = 1.0 if before is None else before
    if estimated <= 0 or reported <= 0:
        return known
    seen = min(MOST_FACTOR, max(LEAST_FACTOR, reported / estimated))
    weight = min(1.0, estimated / _TELLING) * (1.0 if before is None else _SHARE)
    return known + (seen - known) * weight


class _Counter:
    """Gathers texts, to measure them together: a thousand short ones cost no more than a long one."""

    def __init__(self) -> None:
        self.fixed = 0
        self._texts: list[str] = []
        self._values: list[bytes] = []

    def total(self) -> int:
        text = "\n".join(self._texts).encode("utf-8", "replace")
        return max(1, round(tokens_of(text) + tokens_of(b"\n".join(self._values)) + self.fixed))

    def content(self, value: JsonValue) -> None:
        if isinstance(value, str):
            self._texts.append(value)
        for block in objects_of(value):
            _KINDS.get(text_of(block.get("type")), _Counter.unknown)(self, block)

    def tools(self, tools: list[JsonObject]) -> None:
        self.fixed += _TOOLS * bool(tools) + _TOOL * len(tools)
        for tool in tools:
            self._text(tool, "name", "description")
            self._value(tool.get("input_schema"))

    def text(self, block: JsonObject) -> None:
        self._text(block, "text")

    def thinking(self, block: JsonObject) -> None:
        self._text(block, "thinking")

    def call(self, block: JsonObject) -> None:
        self.fixed += _CALL
        self._text(block, "name")
        self._value(block.get("input"))

    def result(self, block: JsonObject) -> None:
        self.fixed += _CALL
        self.content(block.get("content"))

    def image(self, block: JsonObject) -> None:
        data = object_of(block.get("source")).get("data")
        self.fixed += image_tokens(data) if isinstance(data, str) else USUAL_IMAGE_TOKENS

    def document(self, block: JsonObject) -> None:
        source = object_of(block.get("source"))
        data = source.get("data")
        self._text(block, "title", "context")
        self.content(source.get("content"))
        if source.get("type") == "text":
            self._text(source, "data")
        elif isinstance(data, str):
            self.fixed += _PAGE * max(1, len(data) // _PAGE_BYTES)

    def nothing(self, _: JsonObject) -> None:
        """Opaque to everyone but its maker, who counts it otherwise."""

    def unknown(self, block: JsonObject) -> None:
        self._value(block)

    def _text(self, holder: JsonObject, *keys: str) -> None:
        self._texts += [value for key in keys if isinstance(value := holder.get(key), str)]

    def _value(self, value: JsonValue) -> None:
        if value is not None:
            self._values.append(msgspec.json.encode(value))


_KINDS: Final[Mapping[str, Callable[[_Counter, JsonObject], None]]] = {
    "text": _Counter.text,
    "thinking": _Counter.thinking,
    "redacted_thinking": _Counter.nothing,
    "tool_use": _Counter.call,
    "tool_result": _Counter.result,
    "image": _Counter.image,
    "document": _Counter.document,
}
