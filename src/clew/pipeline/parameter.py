"""The thinking parameter of a request, made legal for its target.

`thinking_parameter` says what the client asked in the model's own words (`modes`). `loop_parameter` comes once the blocks
are settled: if the open tool loop cannot begin with thinking and the model is in manual mode, thinking is off until the
loop ends (R35); a block is never invented. Off takes `display`, the `clear_thinking` edit and the loop's own thinking with
it (R52, R38).
"""

from __future__ import annotations

from msgspec import UNSET, structs

from clew.model.change import Change
from clew.model.facts import ModelFacts
from clew.model.facts.dated import INTERLEAVED_BETA
from clew.model.json import JsonObject
from clew.model.request import Edited, Message, Request
from clew.model.target import Target
from clew.pipeline.context_edits import without_clear_thinking
from clew.pipeline.modes import OFF, STEP, Setting, adaptive, is_on, mode_of, off, settled
from clew.pipeline.open_loop import call_without_thinking, cannot_think, without_loop_thinking
from clew.pipeline.options import Display
from clew.pipeline.places import message_path
from clew.pipeline.step import Facts
from clew.pipeline.values import changed_fields, has_items, number_of, object_of, rewritten
from clew.thinking.profiles import EFFORTS

__all__ = ["loop_parameter", "setting_of", "thinking_off", "thinking_parameter"]


NO_LEAD = "manual thinking needs an open tool loop that begins with thinking (R35)"
NO_THINKING = "this backend wants the thinking of every tool call back, and one has none"
WHILE_OFF = "thinking is off for this tool loop (R38)"
MESSAGE_EFFORT = "this model has no such effort level (R12)"
BETWEEN_TOOLS = "adaptive thinking goes on between tool calls; with a budget it takes this beta"
FIXED_EFFORT = "the effort cannot change with thinking.type between_tools (R10)"


def thinking_parameter(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: what the client asks, as the model takes it."""
    given = setting_of(request, target)
    setting = _with_display(settled(given, target.profile), facts.options.display)
    if setting is given and not any(message.role == "system" for message in request.messages):
        return request, ()
    request, changes = _put_back(request, given, setting), setting.changes
    request, betas = _still_interleaved(request, given, setting, target.profile)
    request, more = _with_legal_message_efforts(request, setting, target.profile)
    return request, changes + betas + more


def loop_parameter(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: thinking off where the open tool loop cannot have it."""
    thinking = object_of(request.body.thinking)
    if target.missing == "off" and is_on(thinking, target.profile) and call_without_thinking(request.messages):
        return _off_for_all(request, target)
    if mode_of(thinking) == "enabled" and cannot_think(request.messages):
        return thinking_off(request, target, NO_LEAD)
    if not is_on(thinking, target.profile) and "R38" in target.profile.legacy_texts:
        return without_loop_thinking(request, step=STEP, why=WHILE_OFF)
    return request, ()


def thinking_off(request: Request, target: Target, why: str) -> tuple[Request, tuple[Change, ...]]:
    """No manual thinking in this request, in the model's own way: one that cannot be off may think as it sees fit."""
    given, profile = setting_of(request, target), target.profile
    can_be_off = any(mode in profile.thinking for mode in OFF) or "adaptive" not in profile.thinking
    setting = off(given, profile, why) if can_be_off else adaptive(given, profile, why)
    request = _put_back(request, given, setting)
    if is_on(setting.thinking, profile):
        return request, setting.changes
    request, edits = without_clear_thinking(request, step=STEP)
    request, blocks = without_loop_thinking(request, step=STEP, why=WHILE_OFF)
    return request, setting.changes + edits + blocks


def _off_for_all(request: Request, target: Target) -> tuple[Request, tuple[Change, ...]]:
    """Thinking off for a backend that wants the thinking of every tool call back, where one has none. Blocks stay."""
    if not any(mode in target.profile.thinking for mode in OFF):
        return request, ()
    given = setting_of(request, target)
    setting = off(given, target.profile, NO_THINKING)
    request, edits = without_clear_thinking(_put_back(request, given, setting), step=STEP)
    return request, setting.changes + edits


def setting_of(request: Request, target: Target) -> Setting:
    """What the request asks of the model's thinking."""
    body, profile = request.body, target.profile
    effort = (object_of(body.output_config) or {}).get("effort")
    return Setting(
        thinking=object_of(body.thinking),
        effort=effort if isinstance(effort, str) else None,
        max_tokens=_length(number_of(body.max_tokens), profile.max_tokens),
        may_exceed=profile.interleaved == "beta" and INTERLEAVED_BETA in request.betas and has_items(body.tools),
        worth=target.adaptive_budget,
    )


def _length(asked: float | None, cap: int) -> int | None:
    """How long the answer may get: as asked, but no longer than the model gives."""
    return None if asked is None else min(int(asked), cap or int(asked))


def _put_back(request: Request, before: Setting, after: Setting) -> Request:
    body = request.body
    thinking, config = body.thinking, body.output_config
    if after.thinking is not before.thinking:
        thinking = rewritten(thinking, after.thinking, path="thinking")
    if after.effort != before.effort:
        config = rewritten(config, _with_effort(object_of(config) or {}, after.effort), path="output_config")
    return changed_fields(request, thinking=thinking, output_config=config)


def _still_interleaved(
    request: Request, before: Setting, after: Setting, profile: ModelFacts
) -> tuple[Request, tuple[Change, ...]]:
    """The beta without which thinking that became manual would be less than what was asked for (S1-50)."""
    became_manual = mode_of(before.thinking) == "adaptive" and mode_of(after.thinking) == "enabled"
    if not became_manual or profile.interleaved != "beta" or INTERLEAVED_BETA in request.betas:
        return request, ()
    request = structs.replace(request, betas=(*request.betas, INTERLEAVED_BETA))
    return request, (Change(STEP, "anthropic-beta", "added", BETWEEN_TOOLS),)


def _with_effort(config: JsonObject, effort: str | None) -> JsonObject | None:
    others = {key: value for key, value in config.items() if key != "effort"}
    return others or None if effort is None else {**config, "effort": effort}


def _with_display(setting: Setting, display: Display) -> Setting:
    """The display that the config asks for, where the client left it open and the mode may have one."""
    thinking = setting.thinking or {}
    if display == "as sent" or mode_of(thinking) not in ("enabled", "adaptive") or thinking.get("display") is not None:
        return setting
    return setting.put({**thinking, "display": display}, "the config asks for it", path="thinking.display")


def _with_legal_message_efforts(
    request: Request, setting: Setting, profile: ModelFacts
) -> tuple[Request, tuple[Change, ...]]:
    """System messages without an effort that would be refused. (A model without such messages gets none of it anyway.)"""
    if not profile.system_messages:
        return request, ()
    changes: list[Change] = []
    messages: list[Message] = []
    for index, message in enumerate(request.messages):
        why = _refused_effort(message, setting, profile)
        if why:
            changes.append(Change(STEP, f"{message_path(request, index)}.output_config", "removed", why))
        messages.extend(_without_config(message) if why else (message,))
    return request.with_messages(tuple(messages)), tuple(changes)


def _without_config(message: Message) -> tuple[Message, ...]:
    """The message without its own `output_config`; none if it said nothing else (R32)."""
    given = message.given if isinstance(message, Edited) else message
    return (Edited(message.role, message.content, UNSET, given=given),) if message.content else ()


def _refused_effort(message: Message, setting: Setting, profile: ModelFacts) -> str:
    if message.role != "system" or message.output_config is UNSET:
        return ""
    effort = (object_of(message.output_config) or {}).get("effort")
    if not isinstance(effort, str) or effort not in EFFORTS:
        return ""
    if mode_of(setting.thinking) == "between_tools" and effort != (setting.effort or profile.effort_default):
        return FIXED_EFFORT
    return MESSAGE_EFFORT if effort not in profile.effort else ""
