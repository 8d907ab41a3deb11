"""How to ask a model to think: the parameters that it takes, and the beta that goes with them.

Models differ in how they are asked (`clew.pipeline.thinking_modes`), in the header that lets them think between tool calls,
and in which sampling they take beside it. All of it is in their profiles.
"""

from __future__ import annotations

from msgspec import Struct

from clew.model.change import Change
from clew.model.facts import ModelFacts
from clew.model.facts.shapes import INTERLEAVED_BETA
from clew.model.json import JsonObject
from clew.pipeline.thinking_modes import ThinkingSetting, fit_to_model, is_on, mode_of
from clew.thinking.profiles import profile_for

__all__ = ["Asking", "asking_for"]

STEP = "sampling"
WHILE_THINKING = "a model that thinks samples in its own way (R13)"
DEPRECATED = "deprecated for this model (R14)"
ONE = "this model takes temperature or top_p, not both (R14)"


class Asking(Struct, frozen=True):
    """Fields for the body of a request, values for its `anthropic-beta` header, and what became of what was asked."""

    fields: JsonObject
    betas: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def asking_for(
    model: str,
    *,
    max_tokens: int,
    thinking: JsonObject | None = None,
    effort: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    profile: ModelFacts | None = None,
) -> Asking:
    """How to ask this model for thinking that was asked for in whichever way.

    While it thinks, `temperature` is 1 or absent, and `top_p` absent.

    >>> asking_for("claude-sonnet-4-5", max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 4000}).betas
    ('interleaved-thinking-2025-05-14',)
    >>> asking_for("claude-opus-5-5", max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 4000}).fields
    {'max_tokens': 9000, 'thinking': {'type': 'adaptive'}, 'output_config': {'effort': 'low'}}
    """
    facts = profile or profile_for(model)
    setting = fit_to_model(ThinkingSetting(thinking=thinking, effort=effort, max_tokens=max_tokens), facts)
    given = {"temperature": temperature, "top_p": top_p}
    refused = _refused({name: value for name, value in given.items() if value is not None}, setting, facts)
    fields: JsonObject = {
        "max_tokens": max_tokens,
        "thinking": setting.thinking,
        "output_config": {"effort": setting.effort} if setting.effort else None,
        **{name: value for name, value in given.items() if name not in refused},
    }
    changes = tuple(Change(STEP, name, "removed", why) for name, why in refused.items())
    present: JsonObject = {name: value for name, value in fields.items() if value is not None}
    return Asking(present, _betas(setting, facts), setting.changes + changes)


def _betas(setting: ThinkingSetting, profile: ModelFacts) -> tuple[str, ...]:
    """Adaptive thinking goes on between tool calls by itself; with a budget it takes a header, by the age of the model."""
    if mode_of(setting.thinking) != "enabled":
        return ()
    beta = INTERLEAVED_BETA if profile.interleaved == "beta" else profile.thinking_beta
    return (beta,) if beta else ()


def _refused(given: dict[str, float], setting: ThinkingSetting, profile: ModelFacts) -> dict[str, str]:
    thinks = is_on(setting.thinking, profile)
    if thinks or profile.sampling == "reject":
        why = WHILE_THINKING if thinks else DEPRECATED
        return {name: why for name, value in given.items() if name != "temperature" or value != 1}
    return {"top_p": ONE} if len(given) > 1 and not profile.temperature_and_top_p else {}
