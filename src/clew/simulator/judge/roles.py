"""Who may speak where: first message, alternation, system messages, blocks in the wrong role (R18–R21, R23, R32, R54)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clew.model.facts import blocks
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.history import Block, Message
from clew.simulator.judge.values import inner

__all__ = ["check_roles"]


def check_roles(case: Case) -> Iterator[Finding]:
    if case.body.get("messages") == []:
        yield Finding("R18.no-messages", "messages")
    yield from _first(case)
    yield from _alternation(case)
    for place, message in enumerate(case.messages):
        if message.role == "system":
            yield from _system(case, place, message)
        yield from _misplaced(message)


def _first(case: Case) -> Iterator[Finding]:
    first = case.messages[0] if case.messages else None
    if first is None or first.index != 0:
        return
    if first.role == "assistant":
        yield Finding("R19.first-not-user", "messages.0")
    if first.role == "system" and not _is_directive(first):
        yield Finding("R19.leading-system", "messages.0")


def _alternation(case: Case) -> Iterator[Finding]:
    for one, other in pairwise(case.messages):
        if one.role == other.role != "system":
            yield Finding("R21.not-alternating", other.path, {"role": other.role})
            return


def _is_directive(message: Message) -> bool:
    """A system message that says nothing and only sets the output's configuration; it may stand anywhere."""
    return message.content == [] and _configures(message)


def _configures(message: Message) -> bool:
    return any(value is not None for value in inner(message.value.get("output_config")).values())


def _system(case: Case, place: int, message: Message) -> Iterator[Finding]:
    if message.content in (None, "", []) and not _configures(message):
        yield Finding("R32.no-content", message.path)
    if _is_directive(message):
        return
    before = next((other for other in reversed(case.messages[:place]) if other.role != "system"), None)
    after = next((other for other in case.messages[place:] if other.role != "system"), None)
    if before and after and _splits_a_call(before, after):
        yield Finding("R32.between-tool-use-and-result", message.path)
        return
    if before and before.role == "assistant" and not _ends_in_server_result(before):
        yield Finding("R32.follows-wrong-turn", message.path)
    if after and after.role == "user" and message.index != 0:
        yield Finding("R32.precedes-wrong-turn", message.path)


def _splits_a_call(before: Message, after: Message) -> bool:
    called = before.role == "assistant" and before.has("tool_use")
    return called and after.role == "user" and after.has("tool_result")


def _ends_in_server_result(message: Message) -> bool:
    last = message.blocks[-1].type if message.blocks else ""
    return last in blocks() and blocks()[last].answers != ""


def _misplaced(message: Message) -> Iterator[Finding]:
    if message.role != "user" and message.has("tool_result"):
        yield Finding("R23.tool-result-in-assistant", message.path)
    thoughts = [block for block in message.blocks if block.is_thinking]
    if message.role == "user" and thoughts:
        yield Finding("R23.thinking-in-user", message.path, {"tag": thoughts[0].type})
    for block in message.blocks:
        if block.type == "compaction" and block.value.get("content") == "":
            yield Finding("R54.compaction-empty", f"{block.path}.compaction.content")
        yield from _wrong_role(message.role, block)


def _wrong_role(role: str, block: Block) -> Iterator[Finding]:
    """What is left: tool results and thinking in a wrong place were named by rules of their own."""
    row = blocks().get(block.type)
    if row is None or role in row.roles or block.type == "tool_result":
        return
    if role == "system":
        yield Finding("R32.content-not-text", block.path, {"tag": block.type})
    elif not block.is_thinking:
        allowed = " or ".join(f"`{name}`" for name in row.roles)
        yield Finding("R23.block-role", block.path, {"tag": block.type, "roles": allowed})
