"""`asking_for`: how each model is asked to think, and what goes with it."""

from typing import Any

import pytest

from clew import Violation, asking_for, check
from clew.model.facts import models
from tests.build import user
from tests.manifest import proves, public

INTERLEAVED = ("interleaved-thinking-2025-05-14",)
EXTENDED = ("extended-thinking-2024-12-12",)
MANUAL: dict[str, Any] = {"type": "enabled", "budget_tokens": 4000}
ADAPTIVE: dict[str, Any] = {"type": "adaptive"}
OFF: dict[str, Any] = {"type": "disabled"}


@public("library")
@proves("req:S2-41a")
@pytest.mark.parametrize(
    ("model", "thinking", "betas"),
    [
        ("claude-sonnet-4-5", MANUAL, INTERLEAVED),
        ("claude-sonnet-4-5-20250929", MANUAL, INTERLEAVED),
        ("claude-opus-4-5", MANUAL, INTERLEAVED),
        ("claude-sonnet-4", MANUAL, INTERLEAVED),
        ("claude-sonnet-4-6", MANUAL, INTERLEAVED),
        ("claude-sonnet-4-6", ADAPTIVE, ()),
        ("claude-sonnet-4-5", ADAPTIVE, INTERLEAVED),  # asked for in its own way, which is a budget
        ("claude-3-7-sonnet", MANUAL, EXTENDED),
        ("claude-3-7-sonnet", ADAPTIVE, EXTENDED),
        ("claude-3-7-sonnet", OFF, ()),
        ("claude-3-5-haiku", MANUAL, ()),
        ("claude-haiku-4-5", MANUAL, ()),
        ("claude-opus-4-6", MANUAL, ()),
        ("claude-opus-4-7", MANUAL, ()),
        ("claude-opus-5-5", MANUAL, ()),
        ("claude-opus-5-5", ADAPTIVE, ()),
        ("claude-sonnet-5-5", None, ()),
        ("claude-sonnet-4-5", None, ()),
        ("claude-sonnet-4-5", OFF, ()),
    ],
)
def test_the_header_follows_the_model(model: str, thinking: Any, betas: tuple[str, ...]) -> None:
    """S2-41a: interleaved for manual mode of Claude 4, the older one for 3.7, none where thinking is adaptive."""
    assert asking_for(model, max_tokens=9000, thinking=thinking).betas == betas


@public("library")
@proves("req:S2-41a")
@pytest.mark.parametrize(
    ("model", "thinking", "left"),
    [
        ("claude-sonnet-4-5", MANUAL, {}),
        ("claude-opus-4-6", ADAPTIVE, {}),
        ("claude-opus-5-5", None, {}),
        ("claude-opus-4-7", OFF, {}),
        ("claude-sonnet-4-5", OFF, {"temperature": 0.3}),  # one or the other
        ("claude-sonnet-4", None, {"temperature": 0.3, "top_p": 0.9}),
    ],
)
def test_a_model_that_thinks_samples_in_its_own_way(model: str, thinking: Any, left: dict[str, float]) -> None:
    """S2-41a: and newer ones always do; what is left out is told."""
    asking = asking_for(model, max_tokens=9000, thinking=thinking, temperature=0.3, top_p=0.9)
    assert {name: value for name, value in asking.fields.items() if name in ("temperature", "top_p")} == left
    assert {change.path for change in asking.changes if change.step == "sampling"} == {"temperature", "top_p"} - left.keys()


@public("library")
@proves("req:S2-41a")
def test_the_only_temperature_that_a_thinking_model_takes_may_be_said() -> None:
    """S2-41a: 1 or absent; `top_p` absent, whatever it says."""
    asking = asking_for("claude-sonnet-4-5", max_tokens=9000, thinking=MANUAL, temperature=1, top_p=1)
    assert asking.fields == {"max_tokens": 9000, "thinking": MANUAL, "temperature": 1}


@proves("req:S2-41a")
@pytest.mark.parametrize("thinking", [MANUAL, ADAPTIVE, OFF, None], ids=["manual", "adaptive", "off", "unsaid"])
def test_every_model_takes_what_it_is_asked(thinking: Any) -> None:
    """S2-41a: the check finds nothing, betas included."""
    assert {name: found for name in models() if (found := _refused(name, thinking))} == {}


def _refused(model: str, thinking: Any) -> tuple[Violation, ...]:
    asking = asking_for(model, max_tokens=8000, thinking=thinking, effort="high", temperature=0.3, top_p=0.9)
    headers = {"anthropic-version": "2023-06-01"} | ({"anthropic-beta": asking.betas[0]} if asking.betas else {})
    return check({"model": model, "messages": [user("Hello")], **asking.fields}, headers=headers)
