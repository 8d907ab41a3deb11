"""The thinking parameter of a request, made legal for its target.

`thinking_parameter` puts the client's wish into the form that the model takes (`thinking_modes`). `loop_parameter` runs once
the blocks are settled: if the open tool loop cannot begin with thinking and the model is in manual mode, thinking is off
until the loop ends (R35); a block is never invented. Switching thinking off also removes `display`, the `clear_thinking`
edit and the loop's own thinking (R52, R38).

The *open tool loop* is the answers since a person last wrote, whose results are still coming in. It begins with the first
answer after the last user message that holds no tool_result; system-role messages do not count, nor do texts beside a
tool_result. In manual mode the answer that opens it must begin with thinking (R35), and so must an answer that the request
ends with. A decision about a loop depends on how it began, so it is the same for each request in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import UNSET, Raw, structs

from clew.model.blocks import is_thinking
from clew.model.change import Change
from clew.model.facts import ModelFacts
from clew.model.facts.shapes import INTERLEAVED_BETA
from clew.model.json import JsonObject
from clew.model.origin import Target
from clew.model.request import Edited, Request, RequestMessage, blocks_of, with_blocks
from clew.pipeline.context_edits import without_clear_thinking
from clew.pipeline.findings import findings_in
from clew.pipeline.step import Facts
from clew.pipeline.thinking_modes import (
    OFF_MODES,
    STEP,
    ThinkingSetting,
    fit_to_model,
    is_on,
    make_adaptive,
    mode_of,
    switch_off,
)
from clew.pipeline.values import (
    block_path,
    bytes_of,
    has_items,
    message_path,
    number_of,
    object_of,
    or_filler,
    rewrite_object,
    with_changed_fields,
)
from clew.thinking.budgets import EFFORTS, FOREIGN_EFFORTS

NO_LEAD = "with a thinking budget, an open tool loop must begin with thinking (R35)"
NO_THINKING = "this backend needs the thinking of every tool call, and one has none"
WHILE_OFF = "thinking is off for this tool loop (R38)"
MESSAGE_EFFORT = "this model has no such effort level (R12)"
BETWEEN_TOOLS = "adaptive thinking continues between tool calls; with a budget that needs this beta"
FIXED_EFFORT = "the effort cannot change with thinking.type between_tools (R10)"


def thinking_parameter(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: what the client asks, as the model takes it."""
    (given, fitted), profile = _settings_of(request, target), target.profile
    setting = _with_display(fitted, request, profile, facts)
    if setting is given and not findings_in(request.messages).configured:
        return request, ()
    request, changes = with_setting(request, given, setting), setting.changes
    became_manual = mode_of(given.thinking) == "adaptive" and mode_of(setting.thinking) == "enabled"
    if became_manual and profile.interleaved == "beta" and INTERLEAVED_BETA not in request.betas:
        # Without this beta, thinking that became manual would be less than was asked for (S1-50).
        request = structs.replace(request, betas=(*request.betas, INTERLEAVED_BETA))
        changes += (Change(STEP, "anthropic-beta", "added", BETWEEN_TOOLS),)
    request, more = _with_legal_message_efforts(request, setting, profile)
    return request, changes + more


def _with_display(setting: ThinkingSetting, request: Request, profile: ModelFacts, facts: Facts) -> ThinkingSetting:
    """The setting with what to show of the thinking, where it is on and the client left that open."""
    display, why, native = facts.options.display, "the config asks for it", request.source.native
    thinking: JsonObject = setting.thinking or {}
    if display == "as sent" and native is not None and native.shows_thoughts:
        display, why = "summarized", "this client shows thinking, but cannot ask for it"
        if setting.thinking is None and is_on(None, profile) and "adaptive" in profile.thinking:
            thinking = {"type": "adaptive"}
    if display == "as sent" or mode_of(thinking) not in ("enabled", "adaptive") or thinking.get("display") is not None:
        return setting
    return setting.put({**thinking, "display": display}, why, path="thinking.display")


def loop_parameter(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: thinking off where the open tool loop cannot have it."""
    thinking = object_of(request.body.thinking)
    if target.missing == "off" and is_on(thinking, target.profile) and call_without_thinking(request.messages):
        if not any(mode in target.profile.thinking for mode in OFF_MODES):
            return request, ()
        given = setting_of(request, target)
        setting = switch_off(given, target.profile, NO_THINKING)  # its blocks stay
        request, edits = without_clear_thinking(with_setting(request, given, setting), step=STEP)
        return request, setting.changes + edits
    if mode_of(thinking) == "enabled" and cannot_think(request.messages):
        return thinking_off(request, target, NO_LEAD)
    if not is_on(thinking, target.profile) and "R38" in target.profile.legacy_texts:
        return without_loop_thinking(request, step=STEP, why=WHILE_OFF)
    return request, ()


def thinking_off(request: Request, target: Target, why: str) -> tuple[Request, tuple[Change, ...]]:
    """No manual thinking in this request, in the model's own way: one that cannot be off may think as it sees fit."""
    given, profile = setting_of(request, target), target.profile
    can_be_off = any(mode in profile.thinking for mode in OFF_MODES) or "adaptive" not in profile.thinking
    setting = switch_off(given, profile, why) if can_be_off else make_adaptive(given, profile, why)
    request = with_setting(request, given, setting)
    if is_on(setting.thinking, profile):
        return request, setting.changes
    request, edits = without_clear_thinking(request, step=STEP)
    request, blocks = without_loop_thinking(request, step=STEP, why=WHILE_OFF)
    return request, setting.changes + edits + blocks


def setting_of(request: Request, target: Target) -> ThinkingSetting:
    """The thinking that the request asks for, as one value."""
    return _settings_of(request, target)[0]


def _settings_of(request: Request, target: Target) -> tuple[ThinkingSetting, ThinkingSetting]:
    """The same, and as the model takes it."""
    body, profile = request.body, target.profile
    may_exceed = profile.interleaved == "beta" and INTERLEAVED_BETA in request.betas and has_items(body.tools)
    thinking, config, most = bytes_of(body.thinking), bytes_of(body.output_config), bytes_of(body.max_tokens)
    read = _fit_settings if len(thinking) + len(config) + len(most) <= _USUAL else _fit_settings.__wrapped__
    return read(thinking, config, most, may_exceed, target.adaptive_budget, profile)


_USUAL: Final = 1024
"""Bytes of parameters that may be remembered."""


@lru_cache(maxsize=64)
def _fit_settings(
    thinking: bytes, config: bytes, most: bytes, may_exceed: bool, worth: int, profile: ModelFacts
) -> tuple[ThinkingSetting, ThinkingSetting]:
    """Clients send the same parameters with each request. Absent ones have no bytes."""
    effort = (object_of(Raw(config)) or {}).get("effort") if config else None
    asked = number_of(Raw(most)) if most else None
    given = ThinkingSetting(
        thinking=object_of(Raw(thinking)) if thinking else None,
        effort=effort if isinstance(effort, str) else None,
        max_tokens=None if asked is None else min(int(asked), profile.max_tokens or int(asked)),
        may_exceed=may_exceed,
        worth=worth,
    )
    return given, fit_to_model(given, profile)


def with_setting(request: Request, before: ThinkingSetting, after: ThinkingSetting) -> Request:
    """The request that asks for `after`; the very same one if that is what it asked for before."""
    body = request.body
    thinking, config = body.thinking, body.output_config
    if after.thinking is not before.thinking:
        thinking = rewrite_object(thinking, after.thinking, path="thinking")
    if after.effort != before.effort:
        given = object_of(config) or {}
        others = {key: value for key, value in given.items() if key != "effort"}
        new = others or None if after.effort is None else {**given, "effort": after.effort}
        config = rewrite_object(config, new, path="output_config")
    return with_changed_fields(request, thinking=thinking, output_config=config)


def _with_legal_message_efforts(
    request: Request, setting: ThinkingSetting, profile: ModelFacts
) -> tuple[Request, tuple[Change, ...]]:
    """System messages without an effort that would be refused. (A model without such messages gets none of it anyway.)"""
    changes: list[Change] = []
    messages: dict[int, RequestMessage | None] = {}
    for index in findings_in(request.messages).configured if profile.system_messages else ():
        message = request.messages[index]
        if message.role != "system" or message.output_config is UNSET:
            continue
        effort = (object_of(message.output_config) or {}).get("effort")
        if not isinstance(effort, str) or effort not in (*EFFORTS, *FOREIGN_EFFORTS):
            continue
        is_fixed = mode_of(setting.thinking) == "between_tools" and effort != (setting.effort or profile.effort_default)
        if is_fixed or effort not in profile.effort:
            why = FIXED_EFFORT if is_fixed else MESSAGE_EFFORT
            changes.append(Change(STEP, f"{message_path(request, index)}.output_config", "removed", why))
            given = message.given if isinstance(message, Edited) else message
            # A message without content and `output_config` would be refused (R32).
            messages[index] = Edited(message.role, message.content, UNSET, given=given) if message.content else None
    if not messages:
        return request, ()
    all_messages = [messages.get(index, message) for index, message in enumerate(request.messages)]
    return request.with_messages(tuple([message for message in all_messages if message is not None])), tuple(changes)


# ── the open tool loop


def loop_start(messages: Sequence[RequestMessage]) -> int | None:
    """The index of the answer that opens the loop; None if no answer was given since a person last wrote."""
    start: int | None = None
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "assistant":
            start = index
        elif message.role == "user" and not any(block.type == "tool_result" for block in blocks_of(message)):
            break
    return start


def cannot_think(messages: Sequence[RequestMessage]) -> bool:
    """Whether manual thinking would be refused: the loop's first answer, or a last message, does not begin with thinking."""
    start = loop_start(messages)
    if start is None:
        return False
    begins = [start] if any(message.role == "user" for message in messages[start:]) else []  # results came back
    if messages[-1].role == "assistant":
        run_start = len(messages) - 1
        while run_start and messages[run_start - 1].role in ("assistant", "system"):
            run_start -= 1
        begins.append(run_start)
    return any(_begins_without_thinking(messages, index) for index in begins)


def _begins_without_thinking(messages: Sequence[RequestMessage], start: int) -> bool:
    """Whether the run of assistant messages from there begins with another block than thinking."""
    for message in messages[start:]:
        if message.role == "user":
            break
        if message.role == "assistant" and message.content:
            first = blocks_of(message)[:1]
            return not (first and is_thinking(first[0]))
    return False


def call_without_thinking(messages: Sequence[RequestMessage]) -> bool:
    """Whether an answer calls a tool and holds no thinking: another model's, or one that a client stripped."""
    for message in messages:
        blocks = blocks_of(message) if message.role == "assistant" else ()
        if any(block.type == "tool_use" for block in blocks) and not any(is_thinking(block) for block in blocks):
            return True
    return False


def without_loop_thinking(request: Request, *, step: str, why: str) -> tuple[Request, tuple[Change, ...]]:
    """The request with no thinking in its open loop."""
    start = loop_start(request.messages)
    if start is None:
        return request, ()
    changes: list[Change] = []
    messages = list(request.messages)
    for index in range(start, len(messages)):
        blocks = blocks_of(messages[index])
        out = [block for block in blocks if is_thinking(block)]
        changes.extend(Change(step, block_path(request, index, block), "left out", why) for block in out)
        if out:
            rest = tuple(block for block in blocks if not is_thinking(block))
            messages[index] = with_blocks(messages[index], or_filler(rest))
    return request.with_messages(tuple(messages)), tuple(changes)
