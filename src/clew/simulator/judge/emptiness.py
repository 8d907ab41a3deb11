"""Empty and blank content, in messages and in `system` (R16, R22). Inside a tool result everything is legal."""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.json import JsonObject
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.history import Message
from clew.simulator.judge.values import array, inner, is_blank, string

__all__ = ["check_emptiness"]


def check_emptiness(case: Case) -> Iterator[Finding]:
    for message in case.messages:
        yield from _message(message)
    yield from _system(case)


def _message(message: Message) -> Iterator[Finding]:
    if message.role == "user" and message.content in ("", []):
        yield Finding("R22.user-empty", message.path)
    if isinstance(message.content, list):
        yield from _empty_texts(message)
    blank = [block for block in message.blocks if _is_blank_text(block.value)]
    if blank and len(blank) == len(message.blocks):
        yield Finding("R22.blank-text", message.path)
    else:
        yield from (Finding("R22.blank-text-beside", block.path) for block in blank)


def _empty_texts(message: Message) -> Iterator[Finding]:
    for block in message.blocks:
        if _is_empty_text(block.value):
            yield Finding("R22.empty-text", block.path)
            if block.value.get("cache_control") is not None:
                yield Finding("R22.empty-text-cached", f"{block.path}.text")


def _system(case: Case) -> Iterator[Finding]:
    system = case.body.get("system")
    texts = [inner(block) for block in array(system)]
    for index, block in enumerate(texts):
        if _is_empty_text(block):
            yield Finding("R16.empty-text", f"system.{index}")
            if block.get("cache_control") is not None:
                yield Finding("R16.empty-text-cached", f"system.{index}")
    if is_blank(string(system)) or (texts and all(_is_blank_text(block) for block in texts)):
        yield Finding("R16.blank-text", "system")


def _is_empty_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and block.get("text") == ""


def _is_blank_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and is_blank(string(block.get("text")))
