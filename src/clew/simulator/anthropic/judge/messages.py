"""The structure of the messages: roles, empty content, where thinking may stand, and how a request may end.

Roles: the first message, alternation, system messages, blocks in the wrong role (R18, R19, R21, R23, R32, R54). Empty and
blank texts (R16, R22); inside a tool result every text is legal. The place of thinking, and the end of a request (R20,
R35–R38); runs count as one message. `check_passed_back` is no rule of the book: some vendors want the thinking of every tool
call back, and refuse in the words of their row of `vendors.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clew.model.facts import blocks
from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import BrokenRule, Case, JudgedMessage
from clew.simulator.anthropic.judge.tools import unfinished_calls
from clew.simulator.interfaces import VendorRefusal
from clew.simulator.values import as_dict, as_list, as_str, is_blank

# Roles.


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


def _is_directive(message: JudgedMessage) -> bool:
    """A system message without text that only configures the output; it may stand anywhere."""
    return message.content == [] and _configures(message)


def _configures(message: JudgedMessage) -> bool:
    return any(value is not None for value in as_dict(message.value.get("output_config")).values())


def check_system_messages(case: Case) -> Iterator[BrokenRule]:
    """Each group of system messages, with the messages of other roles on both sides of it."""
    before: JudgedMessage | None = None
    group: list[JudgedMessage] = []
    for message in (*case.messages, None):
        if message and message.role == "system":
            group.append(message)
            continue
        for system in group:
            if system.content in (None, "", []) and not _configures(system):
                yield BrokenRule("R32.no-content", system.path)
            if _is_directive(system):
                continue
            after_answer = before is not None and before.role == "assistant"
            called = before is not None and after_answer and before.has("tool_use")
            if called and message and message.role == "user" and message.has("tool_result"):
                yield BrokenRule("R32.between-tool-use-and-result", system.path)
                continue
            last = blocks().get(before.blocks[-1].type) if before and before.blocks else None
            if after_answer and not (last and last.answers):  # only the result of a server tool may end the answer before it
                yield BrokenRule("R32.follows-wrong-turn", system.path)
            if message and message.role == "user" and system.index != 0:
                yield BrokenRule("R32.precedes-wrong-turn", system.path)
        before, group = message, []


def check_block_roles(case: Case) -> Iterator[BrokenRule]:
    for message in case.messages:
        if message.role != "user" and message.has("tool_result"):
            yield BrokenRule("R23.tool-result-in-assistant", message.path)
        thinking = next((block for block in message.blocks if block.is_thinking), None)
        if message.role == "user" and thinking:
            yield BrokenRule("R23.thinking-in-user", message.path, {"tag": thinking.type})
        for block in message.blocks:
            if block.type == "compaction" and block.value.get("content") == "":
                yield BrokenRule("R54.compaction-empty", f"{block.path}.compaction.content")
            row = blocks().get(block.type)
            if row is None or message.role in row.roles or block.type == "tool_result":  # results have a rule of their own
                continue
            if message.role == "system":
                yield BrokenRule("R32.content-not-text", block.path, {"tag": block.type})
            elif not block.is_thinking:  # it has one, too
                allowed = " or ".join(f"`{name}`" for name in row.roles)
                yield BrokenRule("R23.block-role", block.path, {"tag": block.type, "roles": allowed})


# Empty content.


def check_emptiness(case: Case) -> Iterator[BrokenRule]:
    for message in case.messages:
        if message.role == "user" and message.content in ("", []):
            yield BrokenRule("R22.user-empty", message.path)
        if isinstance(message.content, list):
            for block in message.blocks:
                if _is_empty_text(block.value):
                    yield BrokenRule("R22.empty-text", block.path)
                    if block.value.get("cache_control") is not None:
                        yield BrokenRule("R22.empty-text-cached", f"{block.path}.text")
        blank = [block for block in message.blocks if _is_blank_text(block.value)]
        if blank and len(blank) == len(message.blocks):
            yield BrokenRule("R22.blank-text", message.path)
        else:
            yield from (BrokenRule("R22.blank-text-beside", block.path) for block in blank)


def check_empty_system(case: Case) -> Iterator[BrokenRule]:
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


# The layout of thinking.


def check_ending(case: Case) -> Iterator[BrokenRule]:
    """A request that ends with the assistant: a prefill, or the continuation of a paused answer."""
    if not case.ends_with_assistant:
        return
    run, path = case.runs[-1], case.messages[-1].path
    last = run.blocks[-1] if run.blocks else None
    continues = bool(unfinished_calls(run))
    manual = case.thinking_type == "enabled"
    if last and last.is_thinking:
        yield BrokenRule("R37.last-message", path, {"tag": last.type})
    if not case.model.prefill and not continues and case.body.get("fallback_credit_token") is None:
        yield BrokenRule("R20.prefill", path)
    if manual and run.blocks and not run.blocks[0].is_thinking:
        yield BrokenRule("R35.final-message", f"{run.blocks[0].path}.type", {"found": run.blocks[0].type})
    if manual and case.model.prefill and not continues:
        yield BrokenRule("R20.prefill-with-thinking", path)
    text = as_str(last.value.get("text")) if last and last.type == "text" else ""
    if case.model.prefill and text != text.rstrip() and not is_blank(text):
        yield BrokenRule("R20.trailing-whitespace", path)


def check_leading_thinking(case: Case) -> Iterator[BrokenRule]:
    """In manual mode, an answer with thinking begins with it, and so does the open tool loop."""
    if case.thinking_type != "enabled":
        return
    first = case.first_of_loop
    if first and not first.is_thinking:
        yield BrokenRule("R35.tool-loop", f"{first.path}.type", {"found": first.type})
    for run in case.runs if "R36" in case.model.legacy_texts else ():
        thinks = run.role == "assistant" and any(block.is_thinking for block in run.blocks)
        if thinks and not run.blocks[0].is_thinking:
            yield BrokenRule("R36.thinking-not-first", run.blocks[0].path, {"found": run.blocks[0].type})


def check_trailing_thinking(case: Case) -> Iterator[BrokenRule]:
    """Answers in mid-history that end with thinking. The first answer may."""
    answers = [run for run in case.runs if run.role == "assistant"]
    for run in answers[1:]:
        ends_request = case.ends_with_assistant and run is case.runs[-1]
        if run.blocks and run.blocks[-1].is_thinking and not ends_request:
            yield BrokenRule("R37.mid-history", run.messages[-1].path, {"tag": run.blocks[-1].type})


def check_thinking_off(case: Case) -> Iterator[BrokenRule]:
    if case.thinking_on or not (case.loop_is_open or case.ends_with_assistant):
        return
    if case.stance["C-8"] == "profile" and "R38" not in case.model.legacy_texts:
        return
    last = case.last_answer
    thinking = next((block for block in last.blocks if block.is_thinking), None) if last else None
    if thinking:
        yield BrokenRule("R38.thinking-while-off", thinking.path, {"tag": thinking.type})


def check_passed_back(case: Case) -> VendorRefusal | None:
    """The first tool call without its thinking. An empty thought counts; with thinking off nothing is required."""
    if not case.vendor.missing or not case.thinking_on:
        return None
    for message in case.messages:
        if message.role == "assistant" and message.has("tool_use") and not message.has("thinking"):
            return VendorRefusal(
                rule="vendor.thinking-missing",
                grade="B",
                status=400,
                error_type="invalid_request_error",
                message=case.vendor.missing,
                path=message.path,
            )
    return None
