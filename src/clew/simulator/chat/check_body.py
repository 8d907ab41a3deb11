"""The request's top: fields that the vendor knows, each of its kind, and the model that it serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.model.json import JsonValue
from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.rules import Finding
from clew.simulator.values import as_dict

__all__ = ["KINDS", "check_body", "check_model", "kind_of"]

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "model": ("a string",),
    "messages": ("an array of objects",),
    "stream": ("a boolean", "null"),
    "stream_options": ("an object", "null"),
    "max_tokens": ("an integer", "null"),
    "max_completion_tokens": ("an integer", "null"),
    "temperature": ("a decimal", "an integer", "null"),
    "top_p": ("a decimal", "an integer", "null"),
    "stop": ("a string", "an array", "null"),
    "tools": ("an array", "null"),
    "tool_choice": ("a string", "an object", "null"),
    "parallel_tool_calls": ("a boolean", "null"),
    "response_format": ("an object", "null"),
    "n": ("an integer", "null"),
    "seed": ("an integer", "null"),
    "presence_penalty": ("a decimal", "an integer", "null"),
    "frequency_penalty": ("a decimal", "an integer", "null"),
    "logprobs": ("a boolean", "null"),
    "top_logprobs": ("an integer", "null"),
    "logit_bias": ("an object", "null"),
    "user": ("a string", "null"),
    "reasoning_effort": ("a string", "null"),
}
"""The fields that vendors share, and of which kinds their values may be."""


def check_body(case: ChatCase) -> Iterator[Finding]:
    body = case.body
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield Finding("chat.model-missing", "model")
    if not isinstance(body.get("messages"), list):
        yield Finding("chat.messages-missing", "messages")
    elif not body["messages"]:
        yield Finding("chat.messages-empty", "messages")
    yield from _lacking(case)
    known = (set(KINDS) | set(case.vendor.fields)) - set(case.vendor.lacks)
    for name, value in body.items():
        if name not in known:
            yield Finding("chat.field-unknown", name, {"input": value})
        elif name in KINDS and name not in ("model", "messages") and kind_of(value) not in KINDS[name]:
            yield Finding("chat.field-type", name, {"expected": KINDS[name][0], "given": kind_of(value)})


def _lacking(case: ChatCase) -> Iterator[Finding]:
    """Fields inside fields that the vendor does not know: `stream_options.include_usage`."""
    for path in case.vendor.lacks:
        name, dot, key = path.partition(".")
        if dot and key in as_dict(case.body.get(name)):
            yield Finding("chat.field-unknown", path)


def check_model(case: ChatCase) -> Iterator[Finding]:
    if case.vendor.traits_of(case.model) is None:
        yield Finding("chat.model-unknown", "model", {"model": case.model})


def kind_of(value: JsonValue) -> str:
    """The kind of a value, in the vendor's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    named: dict[type, str] = {int: "an integer", float: "a decimal", str: "a string", list: "an array", dict: "an object"}
    return named[type(value)]
