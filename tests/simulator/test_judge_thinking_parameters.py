"""Thinking, effort and sampling by model, rule by rule (R10–R14)."""

from typing import Any

import pytest

from clew.simulator.server import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import (
    ABSENT,
    NEW,
    TOOL,
    ask,
    named,
    request,
    row,
    system,
    user,
)

TURNS = "per-turn-control-2026-07-01"
ADAPTIVE = {"type": "adaptive"}
BETWEEN = {"type": "between_tools"}
OFF = {"type": "disabled"}
NOT_FOR_THIS = '"thinking.type.%s" is not supported for this model.'
USE_ADAPTIVE = ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'


def manual(budget: int = 2048) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": budget}


def on(model: str, **changes: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 4096, **changes}


def effort(level: str) -> dict[str, Any]:
    return {"output_config": {"effort": level}}


ROWS = [
    row(
        "R10.enabled-unsupported",
        on("claude-opus-4-7", thinking=manual()),
        on("claude-opus-4-6", thinking=manual()),
        "thinking.type",
        NOT_FOR_THIS % "enabled" + USE_ADAPTIVE,
        conflict="C-14",
    ),
    row(
        "R10.disabled-use-between-tools",
        on("claude-sonnet-5-5", thinking=OFF),
        on("claude-sonnet-5-5", thinking=BETWEEN),
        "thinking.type",
        NOT_FOR_THIS % "disabled" + ' Use "thinking.type.between_tools" for the lowest thinking setting, or '
        '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ),
    row(
        "R10.disabled-use-manual",
        on("claude-mythos-preview", thinking=OFF),
        on("claude-mythos-preview", thinking=manual()),
        "thinking.type",
        NOT_FOR_THIS % "disabled" + " Thinking defaults to adaptive mode when not specified; "
        'use "thinking.type.enabled" with "budget_tokens" for extended thinking.',
    ),
    row(
        "R10.disabled-unsupported",
        on("claude-opus-5-5", thinking=OFF),
        on("claude-opus-5-5", thinking=ABSENT),
        "thinking.type",
        NOT_FOR_THIS % "disabled" + USE_ADAPTIVE,
    ),
    row(
        "R10.disabled-disputed",
        on("claude-opus-4-8", thinking=OFF),
        on("claude-opus-4-8", thinking=OFF),
        "thinking.type",
        NOT_FOR_THIS % "disabled" + USE_ADAPTIVE,
        stance=stance({"C-13": "reject"}),
        good_stance=stance(),
        conflict="C-13",
    ),
    row(
        "R10.between-tools-unsupported",
        on("claude-opus-5-5", thinking=BETWEEN),
        on("claude-sonnet-5-5", thinking=BETWEEN),
        "thinking.type",
        NOT_FOR_THIS % "between_tools",
    ),
    row(
        "R10.adaptive-unsupported",
        on("claude-opus-4-5", thinking=ADAPTIVE),
        on("claude-opus-4-6", thinking=ADAPTIVE),
        "thinking.type",
        "adaptive thinking is not supported on this model",
    ),
    row(
        "R12.effort-unsupported",
        on("claude-haiku-4-5", **effort("high")),
        on("claude-haiku-4-5", output_config={"effort": None}),
        "output_config.effort",
        "This model does not support the effort parameter.",
    ),
    row(
        "R12.effort-level",
        on("claude-sonnet-4-6", **effort("xhigh")),
        on("claude-sonnet-4-6", **effort("max")),
        "output_config.effort",
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    ),
    row(
        "R10.disabled-effort",
        on("claude-opus-5", thinking=OFF, **effort("xhigh")),
        on("claude-opus-5", **effort("xhigh")),
        "output_config.effort",
        "output_config.effort 'xhigh' is not supported when thinking is disabled on this model. "
        "Use effort 'high' or below, or enable thinking.",
    ),
    row(
        "R10.between-tools-effort",
        on("claude-sonnet-5-5", thinking=BETWEEN, **effort("max")),
        on("claude-sonnet-5-5", thinking=BETWEEN, **effort("high")),
        "output_config.effort",
        "output_config.effort 'max' is not supported with \"thinking.type.between_tools\" on this model. "
        "Use effort 'high' or below.",
    ),
    row(
        "R10.between-tools-message-effort",
        on("claude-sonnet-5-5", thinking=BETWEEN, messages=[user("Hi."), system("Now.", output_config={"effort": "low"})]),
        on("claude-sonnet-5-5", thinking=BETWEEN, messages=[user("Hi."), system("Now.", output_config={"effort": "high"})]),
        "messages.1.output_config.effort",
        '{path}: the effort level cannot change with "thinking.type.between_tools"',
        betas=(TURNS,),
    ),
    row(
        "R11.budget-not-below-max",
        on("claude-sonnet-4-5", thinking=manual(4096), tools=[TOOL]),
        on("claude-sonnet-4-5", thinking=manual(4096), tools=[TOOL]),
        "thinking.enabled.budget_tokens",
        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        good_betas=("interleaved-thinking-2025-05-14",),
    ),
    row(
        "R13.temperature-with-thinking",
        on("claude-sonnet-4-5", thinking=manual(), temperature=0.5),
        on("claude-sonnet-4-5", thinking=manual(), temperature=1.0),
        "temperature",
        "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs."
        "anthropic.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking",
    ),
    row(
        "R13.top-p-with-thinking",
        on("claude-opus-4-6", thinking=ADAPTIVE, top_p=0.9),
        on("claude-opus-4-6", thinking=ADAPTIVE, top_p=0.95),
        "top_p",
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled",
    ),
    row(
        "R13.top-k-with-thinking",
        on("claude-sonnet-4-5", thinking=manual(), top_k=5),
        on("claude-sonnet-4-5", top_k=5),
        "top_k",
        "`top_k` must be unset when thinking is enabled or in adaptive mode",
    ),
    row(
        "R14.temperature-deprecated",
        on("claude-opus-5-5", temperature=0.5),
        on("claude-opus-5-5", temperature=1),
        "temperature",
        "`temperature` is deprecated for this model.",
    ),
    row(
        "R14.top-p-deprecated",
        on("claude-opus-5-5", top_p=0.99),
        on("claude-opus-5-5", top_p=1),
        "top_p",
        "`top_p` is deprecated for this model.",
    ),
    row(
        "R14.top-k-deprecated",
        on("claude-opus-5-5", top_k=5),
        on("claude-opus-5-5", top_k=None),
        "top_k",
        "`top_k` is deprecated for this model.",
    ),
    row(
        "R14.temperature-and-top-p",
        on("claude-sonnet-4-5", temperature=0.5, top_p=0.9),
        on("claude-sonnet-4-5", temperature=0.5),
        "top_p",
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    ),
]


@accepts("rule:R5.model-unknown")
@pytest.mark.parametrize("model", ["qwen3-32b", "claude-opus-5-5", "claude-opus-4-1"])
def test_another_vendor_takes_any_model_name_and_every_mode(model: str) -> None:
    """The kind `compat`: a profile of unknown models, whatever the name."""
    for thinking in (ADAPTIVE, manual(1024), OFF, BETWEEN):
        body = request(model=model, max_tokens=2048, temperature=1, thinking=thinking)
        assert ask(body, kind="compat").violation is None


@accepts("rule:R10.enabled-unsupported")
@proves("conflict:C-14")
def test_a_lenient_vendor_takes_manual_thinking_on_newer_models_and_does_not_think() -> None:
    """C-14: measured over subscription OAuth: 200 with no thinking tokens."""
    verdict = ask(request(**on("claude-opus-5-5", thinking=manual())), stance=stance({"C-14": "accept"}))
    assert verdict.violation is None
    assert verdict.prompt.thinking == "off"


@pytest.mark.parametrize(
    ("model", "level"), [("claude-opus-4-8", "medium"), ("claude-mythos-5", "xhigh"), ("claude-opus-5-5", "low")]
)
@accepts("rule:R12.effort-level", "rule:R32.output-config-gated")
def test_a_system_message_may_set_any_level_that_the_model_has(model: str, level: str) -> None:
    """R12, R32: per-message effort, with its beta."""
    messages = [user("Hi."), system(output_config={"effort": level})]
    assert ask(request(model=model, messages=messages), betas=[TURNS]).violation is None


@refuses("rule:R14.temperature-deprecated")
def test_the_newer_version_refuses_sampling_before_it_asks_for_the_model() -> None:
    """R2 before R14: under 2026-10-21 the field does not exist."""
    body = request(model="no-such-model", temperature=0.2)
    verdict = ask(body, version=NEW)
    assert verdict.violation is not None
    assert verdict.violation.rule == "R2.temperature"


@refuses("rule:R12.effort-level")
def test_the_level_of_a_system_message_is_checked_at_its_own_path() -> None:
    """R12: before the model's refusal of the role itself."""
    messages = [user("Hi."), system("Think.", output_config={"effort": "xhigh"})]
    violation = ask(request(model="claude-sonnet-4-6", messages=messages), betas=[TURNS]).violation
    words = "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."
    assert named(violation) == ("R12.effort-level", "messages.1.output_config.effort", words)
