"""Sampling parameters that the target refuses (R2, R13, R14).

The newer API version knows none. In the older one, newer models take only the defaults, older ones are narrow while they
think, and some take `temperature` or `top_p`, but not both. What is refused is left out, and nothing else: a default that is
legal stays.
"""

from __future__ import annotations

from msgspec import UNSET

from clew.model.change import Change
from clew.model.facts import ModelFacts
from clew.model.request import Request
from clew.model.target import Target
from clew.pipeline.modes import mode_of
from clew.pipeline.step import Facts
from clew.pipeline.values import number_of, object_of

__all__ = ["sampling"]

STEP = "sampling"
NAMES = ("temperature", "top_p", "top_k")
WITHOUT = "2026-10-21"
"""The API version that has no sampling parameters."""

VERSION = f"anthropic-version {WITHOUT} has no sampling parameters (R2)"
DEPRECATED = "deprecated for this model (R14)"
THINKING = "not with thinking (R13)"
BOTH = "this model takes temperature or top_p, not both (R14)"


def sampling(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    refused = _refused(request, target.profile, facts.version)
    if not refused:
        return request, ()
    changes = tuple(Change(STEP, name, "removed", why) for name, why in refused.items())
    return request.with_fields(**dict.fromkeys(refused, UNSET)), changes


def _refused(request: Request, profile: ModelFacts, version: str) -> dict[str, str]:
    """The parameters that may not go, and why."""
    given = [name for name in NAMES if getattr(request.body, name) is not UNSET]
    if not given or version == WITHOUT:
        return dict.fromkeys(given, VERSION)
    numbers = {name: value for name in given if (value := number_of(getattr(request.body, name))) is not None}
    thinks = mode_of(object_of(request.body.thinking)) in ("enabled", "adaptive")
    if profile.sampling == "reject":
        refused = {name: DEPRECATED for name, value in numbers.items() if not _is_default(name, value)}
    else:
        refused = {name: THINKING for name, value in numbers.items() if thinks and not _fits_thinking(name, value)}
    left = numbers.keys() - refused.keys()
    both = not profile.temperature_and_top_p and {"temperature", "top_p"} <= left
    return {**refused, "top_p": BOTH} if both else refused


def _is_default(name: str, value: float) -> bool:
    return name != "top_k" and value == 1


def _fits_thinking(name: str, value: float) -> bool:
    return 0.95 <= value <= 1 if name == "top_p" else _is_default(name, value)
