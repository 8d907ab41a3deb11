"""Who may speak where, and what may be empty (R16, R18–R23, R32, R54).

The first message, alternation, system messages, blocks in the wrong role, empty and blank texts. Inside a tool result every
text is legal.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clew.model.facts import blocks
from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import BrokenRule, Case, RequestBlock, RequestMessage
from clew.simulator.values import as_dict, as_list, as_str, is_blank

__all__ = ["check_emptiness", "check_roles"]


def check_roles(case: Case) -> Iterator[BrokenRule]:
    if case.body.get("messages") == []:
        yield BrokenRule("R18.no-messages", "messages")
    first = case.messages[0] if case.messages and case.messages[0].index == 0 else None
    if first and first.role == "assistant":
        yield BrokenRule("R19.first-not-user", "messages.0")
    if first and first.role == "system" and not _is_directive(first):
        yield BrokenRule("R19.leading-system", "messages.0")
    for one, other in pairwise(case.messages):
        if one.role == other.role != "system":
            yield BrokenRule("R21.not-alternating", other.path, {"role": other.role})
            break
    yield from _system_messages(case)
    for message in case.messages:
        yield from _misplaced_blocks(message)


def _is_directive(message: RequestMessage) -> bool:
    """A system message without text that only configures the output; it may stand anywhere."""
    return message.content == [] and _configures(message)


def _configures(message: RequestMessage) -> bool:
    return any(value is not None for value in as_dict(message.value.get("output_config")).values())


def _system_messages(case: Case) -> Iterator[BrokenRule]:
    """Each group of system messages, with the messages of other roles on both sides of it."""
    before: RequestMessage | None = None
    group: list[RequestMessage] = []
    for message in (*case.messages, None):
        if message and message.role == "system":
            group.append(message)
            continue
        for system in group:
            yield from _system_message(system, before, message)
        before, group = message, []


def _system_message(
    message: RequestMessage, before: RequestMessage | None, after: RequestMessage | None
) -> Iterator[BrokenRule]:
    if message.content in (None, "", []) and not _configures(message):
        yield BrokenRule("R32.no-content", message.path)
    if _is_directive(message):
        return
    after_answer = before is not None and before.role == "assistant"
    called = before is not None and after_answer and before.has("tool_use")
    if called and after and after.role == "user" and after.has("tool_result"):
        yield BrokenRule("R32.between-tool-use-and-result", message.path)
        return
    last = blocks().get(before.blocks[-1].type) if before and before.blocks else None
    if after_answer and not (last and last.answers):  # only the result of a server tool may end the answer before it
        yield BrokenRule("R32.follows-wrong-turn", message.path)
    if after and after.role == "user" and message.index != 0:
        yield BrokenRule("R32.precedes-wrong-turn", message.path)


def _misplaced_blocks(message: RequestMessage) -> Iterator[BrokenRule]:
    if message.role != "user" and message.has("tool_result"):
        yield BrokenRule("R23.tool-result-in-assistant", message.path)
    thinking = next((block for block in message.blocks if block.is_thinking), None)
    if message.role == "user" and thinking:
        yield BrokenRule("R23.thinking-in-user", message.path, {"tag": thinking.type})
    for block in message.blocks:
        if block.type == "compaction" and block.value.get("content") == "":
            yield BrokenRule("R54.compaction-empty", f"{block.path}.compaction.content")
        yield from _wrong_role(message.role, block)


def _wrong_role(role: str, block: RequestBlock) -> Iterator[BrokenRule]:
    """Blocks in the wrong role, but for tool results and thinking, which have rules of their own."""
    row = blocks().get(block.type)
    if row is None or role in row.roles or block.type == "tool_result":
        return
    if role == "system":
        yield BrokenRule("R32.content-not-text", block.path, {"tag": block.type})
    elif not block.is_thinking:
        allowed = " or ".join(f"`{name}`" for name in row.roles)
        yield BrokenRule("R23.block-role", block.path, {"tag": block.type, "roles": allowed})


def check_emptiness(case: Case) -> Iterator[BrokenRule]:
    for message in case.messages:
        if message.role == "user" and message.content in ("", []):
            yield BrokenRule("R22.user-empty", message.path)
        if isinstance(message.content, list):
            yield from _empty_texts(message)
        blank = [block for block in message.blocks if _is_blank_text(block.value)]
        if blank and len(blank) == len(message.blocks):
            yield BrokenRule("R22.blank-text", message.path)
        else:
            yield from (BrokenRule("R22.blank-text-beside", block.path) for block in blank)
    yield from _empty_system(case)


def _empty_texts(message: RequestMessage) -> Iterator[BrokenRule]:
    for block in message.blocks:
        if _is_empty_text(block.value):
            yield BrokenRule("R22.empty-text", block.path)
            if block.value.get("cache_control") is not None:
                yield BrokenRule("R22.empty-text-cached", f"{block.path}.text")


def _empty_system(case: Case) -> Iterator[BrokenRule]:
    system = case.body.get("system")
    texts = [as_dict(block) for block in as_list(system)]
    for index, block in enumerate(texts):
        if _is_empty_text(block):
            yield BrokenRule("R16.empty-text", f"system.{index}")
            if block.get("cache_control") is not None:
                yield BrokenRule("R16.empty-text-cached", f"system.{index}")
    if is_blank(as_str(system)) or (texts and all(_is_blank_text(block) for block in texts)):
        yield BrokenRule("R16.blank-text", "system")


def _is_empty_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and block.get("text") == ""


def _is_blank_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and is_blank(as_str(block.get("text")))
