"""The thinking parameter in the form that a model takes.

There are four modes (`enabled` with a budget, `adaptive` with an effort level, `disabled`, `between_tools`), and every model
takes some of them; its profile says which. A mode that the model takes stays as the client put it. One that it refuses
becomes the nearest that it takes:

- `enabled` → `adaptive`, the budget as an effort level, unless the client gave one;
- `adaptive` → `enabled`, the effort level as a budget;
- `disabled` and `between_tools` → each other; else the key is left out, which for a model that always thinks is the least
  that can be asked, together with effort `low` unless the client gave one;
- any mode, for a model without thinking → off.

Then the rest is made to fit: no `display` beside off, a legal budget, a level that the model has. A budget that clew makes
or alters leaves room for an answer; where none does, thinking is off. These are plain values in, plain values out;
`thinking_parameter` puts them into a request.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, structs

from clew.model.change import Change, What
from clew.model.facts import ModelFacts
from clew.model.json import JsonObject, JsonValue
from clew.thinking.budgets import ANSWER, MINIMUM, budget_of_effort, effort_of_budget, fit_budget, is_above, nearest_level

STEP: Final = "thinking_parameter"

OFF_MODES: Final = ("disabled", "between_tools")
_MODES: Final = ("enabled", "adaptive", *OFF_MODES)


class ThinkingSetting(Struct, frozen=True, kw_only=True):
    """The thinking that a request asks for, and the limits of that request."""

    thinking: JsonObject | None = None
    effort: str | None = None
    max_tokens: int | None = None
    may_exceed: bool = False
    """With interleaved thinking a budget may be above `max_tokens` (R11)."""
    worth: int = 0
    """The budget that stands for adaptive thinking; 0: by the effort."""
    answer: int = 1
    """The tokens that the budget must leave for the answer: one, as the API wants it, if the budget is the client's own."""
    changes: tuple[Change, ...] = ()

    def put(self, thinking: JsonObject | None, why: str, *, path: str = "thinking", what: What = "set") -> ThinkingSetting:
        return structs.replace(self, thinking=thinking, changes=(*self.changes, Change(STEP, path, what, why)))

    def with_effort(self, effort: str | None, why: str) -> ThinkingSetting:
        change = Change(STEP, "output_config.effort", "removed" if effort is None else "set", why)
        return structs.replace(self, effort=effort, changes=(*self.changes, change))


def fit_to_model(setting: ThinkingSetting, profile: ModelFacts) -> ThinkingSetting:
    """The setting as the model takes it; the very same one if it does."""
    for fit in (_fit_mode, _fit_budget, _without_extras, _fit_effort):
        setting = fit(setting, profile)
    return setting


def mode_of(thinking: JsonObject | None) -> str:
    """Which of the four modes; "" if the key is absent, or holds an unknown one."""
    mode = (thinking or {}).get("type")
    return mode if isinstance(mode, str) and mode in _MODES else ""


def is_on(thinking: JsonObject | None, profile: ModelFacts) -> bool:
    """Whether the model thinks under this setting."""
    if thinking is None:
        return profile.thinking_default != "off"
    return mode_of(thinking) not in OFF_MODES


def switch_off(setting: ThinkingSetting, profile: ModelFacts, why: str) -> ThinkingSetting:
    """Thinking off, in the model's own way: the first of these that it has."""
    for mode in OFF_MODES:
        if mode in profile.thinking:
            return setting.put({"type": mode}, why)
    setting = setting.put(None, why, what="removed")
    if profile.thinking_default == "off" or setting.effort is not None or not profile.effort:
        return setting
    return setting.with_effort(nearest_level("low", profile.effort), "this model always thinks; this is its lowest setting")


def _fit_mode(setting: ThinkingSetting, profile: ModelFacts) -> ThinkingSetting:
    mode = mode_of(setting.thinking)
    if not mode or mode in profile.thinking:
        return setting
    why = f"this model does not take thinking.type {mode} (R10)"
    if mode == "enabled" and "adaptive" in profile.thinking:
        return make_adaptive(setting, profile, why)
    if mode == "adaptive" and "enabled" in profile.thinking:
        limits = (profile.max_tokens or profile.max_tokens_usual, setting.max_tokens)
        ceiling = min(limit for limit in limits if limit)
        budget = setting.worth or budget_of_effort(setting.effort, ceiling=ceiling - ANSWER)
        setting = structs.replace(setting, answer=ANSWER)
        return setting.put({**(setting.thinking or {}), "type": "enabled", "budget_tokens": budget}, why)
    return switch_off(setting, profile, why)


def make_adaptive(setting: ThinkingSetting, profile: ModelFacts, why: str) -> ThinkingSetting:
    """Adaptive thinking instead of a budget, with the level that the budget is worth."""
    given = setting.thinking or {}
    budget = _integer(given.get("budget_tokens"))
    setting = setting.put({**_without(given, "budget_tokens"), "type": "adaptive"}, why)
    if budget is None or setting.effort is not None or not profile.effort:
        return setting
    return setting.with_effort(
        nearest_level(effort_of_budget(budget), profile.effort), f"stands for a budget of {budget} tokens"
    )


def _fit_budget(setting: ThinkingSetting, profile: ModelFacts) -> ThinkingSetting:
    given = setting.thinking or {}
    budget = _integer(given.get("budget_tokens"))
    if mode_of(setting.thinking) != "enabled" or budget is None:
        return setting
    below = None if setting.may_exceed and setting.max_tokens else setting.max_tokens
    cap = 0 if setting.may_exceed else profile.max_tokens
    if fit_budget(budget, max_tokens=below, cap=cap, answer=setting.answer) == budget:
        return setting
    limit, fit = setting.max_tokens or profile.max_tokens, fit_budget(budget, max_tokens=below, cap=cap)
    if fit is None:
        why = f"max_tokens {limit} leaves no room for {MINIMUM} tokens of thinking and {ANSWER} of the answer (R11)"
        return switch_off(setting, profile, why)
    why = f"a budget is at least {MINIMUM} and leaves {ANSWER} of max_tokens ({limit}) for the answer (R11)"
    return setting.put({**given, "budget_tokens": fit}, why, path="thinking.budget_tokens")


def _without_extras(setting: ThinkingSetting, profile: ModelFacts) -> ThinkingSetting:
    """Off takes nothing with it: `disabled` no display, `between_tools` no other key at all (R9)."""
    given = setting.thinking or {}
    mode = mode_of(setting.thinking)
    extras = [key for key in given if key != "type" and (mode == "between_tools" or key == "display")]
    for key in extras if mode in OFF_MODES else ():
        given = _without(given, key)
        setting = setting.put(given, f"not with thinking.type {mode} (R9)", path=f"thinking.{key}", what="removed")
    return setting


def _fit_effort(setting: ThinkingSetting, profile: ModelFacts) -> ThinkingSetting:
    effort = setting.effort
    if effort is None:
        return setting
    if not profile.effort:
        return setting.with_effort(None, "this model takes no effort (R12)")
    level = nearest_level(effort, profile.effort)
    if level != effort:
        setting = setting.with_effort(level, f"this model has no effort level {effort} (R12)")
    mode = mode_of(setting.thinking)
    limits = {"disabled": profile.disabled_max_effort, "between_tools": profile.between_tools_max_effort}
    limit = limits.get(mode, "")
    if is_above(level, limit):
        return setting.with_effort(limit, f"the highest level with thinking.type {mode} (R10)")
    return setting


def _without(given: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in given.items() if name != key}


def _integer(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
