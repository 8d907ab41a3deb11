"""What the schema says beyond the tables of fields: stances, and the blocks that the newer API version moved (R2, R59)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.model.facts import fields
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.history import Block, Message
from clew.simulator.judge.schema import MAX_MESSAGES, Schema
from clew.simulator.judge.values import array, string

__all__ = ["check_schema"]

_NEWER = "2026-10-21"
_SHORT_NAME = 64


def check_schema(case: Case) -> Iterator[Finding]:
    """Everything that the shape of the body decides."""
    yield from Schema(case.version, case.betas, case.counting).request(case.body)
    yield from _long_names(case)
    if case.version == _NEWER and len(array(case.body.get("messages"))) <= MAX_MESSAGES:
        yield from _moved_blocks(case.messages)


def _long_names(case: Case) -> Iterator[Finding]:
    """A name that the pattern of 128 characters takes and the documented one does not (C-17)."""
    pattern = fields().shapes["tool.custom"].fields["name"].pattern
    for index, tool in enumerate(array(case.body.get("tools"))):
        if isinstance(tool, dict) and tool.get("type") in (None, "custom"):
            name = string(tool.get("name"))
            if len(name) > _SHORT_NAME and re.fullmatch(pattern, name):
                yield Finding("R59.name-over-64", f"tools.{index}.custom.name")


def _moved_blocks(messages: tuple[Message, ...]) -> Iterator[Finding]:
    for message in messages:
        for block in message.blocks:
            yield from _moved(message.role, block)


def _moved(role: str, block: Block) -> Iterator[Finding]:
    if role == "assistant" and block.type == "document":
        yield Finding("R2.document-in-assistant", block.path)
    if role == "user" and block.type == "text" and array(block.value.get("citations")):
        yield Finding("R2.citations-in-user", f"{block.path}.text.citations")
