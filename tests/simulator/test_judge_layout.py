"""Where thinking may stand, and how a request may end, rule by rule (R20, R35–R38)."""

from typing import Any

import pytest

from clew.simulator.server import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import (
    TOOL,
    ask,
    assistant,
    call,
    named,
    result,
    row,
    search,
    text,
    user,
)
from tests.simulator.talks import Redact, Talk, Think

MANUAL = {"type": "enabled", "budget_tokens": 2048}
OFF = {"type": "disabled"}
HI = user("Hi.")
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def talk(model: str, *blocks: Any, thinking: Any = None) -> Talk:
    """A history of one answer by this model, in its own mode."""
    more = {"tools": [TOOL], **({"thinking": thinking} if thinking else {})}
    return Talk(model=model, more=more).ask("Hi.").reply(*blocks)


def ended(history: Talk, *messages: Any, **more: Any) -> dict[str, Any]:
    """The history, then these messages, under other parameters."""
    return {**history.body(), "messages": [*history.body()["messages"], *messages], **more}


OLDER = talk("claude-sonnet-4-5", Think("Hm."), call(), thinking=MANUAL)
BARE = talk("claude-sonnet-4-5", "Hm.", call())
LATE = talk("claude-sonnet-4-5", "Hm.", Think("Wait."), "Hello.", thinking=MANUAL)
NEWER = talk("claude-opus-4-8", Think("Hm."), call(), thinking={"type": "adaptive"})
TRAILING = talk("claude-opus-4-8", "Hm.", thinking={"type": "adaptive"}).ask("More.").reply("Well.", Think("So."))
EXPECTED = (
    "{path}: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` "
    "message must start with a thinking block%s. We recommend you include thinking blocks from previous turns. To avoid this "
    "requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."


def on(model: str, *messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 4096, "messages": [HI, *messages], "tools": [TOOL, SEARCH], **more}


ROWS = [
    row(
        "R37.last-message",
        ended(talk("claude-sonnet-4-5", "Hm.", Think("So."), thinking=MANUAL), thinking=OFF),
        ended(talk("claude-sonnet-4-5", "Hm."), thinking=OFF),
        "messages.1",
        "{path}: The final block in an assistant message cannot be `thinking`.",
    ),
    row(
        "R20.prefill",
        on("claude-sonnet-4-6", assistant("{")),
        on("claude-sonnet-4-5", assistant("{")),
        "messages.1",
        PREFILL,
    ),
    row(
        "R35.tool-loop",
        ended(BARE, user(result()), thinking=MANUAL),
        ended(OLDER, user(result()), thinking=MANUAL),
        "messages.1.content.0.type",
        EXPECTED % " (preceeding the lastmost set of `tool_use` and `tool_result` blocks)",
    ),
    row(
        "R35.final-message",
        on("claude-sonnet-4-5", assistant(text("Hm."), search()), thinking=MANUAL),
        on("claude-sonnet-4-5", assistant(text("Hm."), search())),
        "messages.1.content.0.type",
        EXPECTED % "",
    ),
    row(
        "R20.trailing-whitespace",
        on("claude-sonnet-4-5", assistant("So: ")),
        on("claude-sonnet-4-5", assistant("So:")),
        "messages.1",
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    row(
        "R36.thinking-not-first",
        ended(LATE, HI, thinking=MANUAL),
        ended(LATE, HI, thinking=MANUAL),
        "messages.1.content.0",
        "{path}: If an assistant message contains any thinking blocks, the first block must be `thinking` or "
        "`redacted_thinking`. Found `text`.",
        stance=stance({"C-15": "legacy"}),
        good_stance=stance(),
        conflict="C-15",
    ),
    row(
        "R37.mid-history",
        ended(TRAILING, HI),
        ended(TRAILING, HI),
        "messages.3",
        "{path}: The final block in an assistant message cannot be `thinking`.",
        stance=stance({"C-7": "reject"}),
        good_stance=stance(),
        conflict="C-7",
    ),
    row(
        "R38.thinking-while-off",
        ended(OLDER, user(result()), thinking=OFF),
        ended(NEWER, user(result()), thinking=OFF),
        "messages.1.content.0",
        "{path}: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. "
        "To use thinking blocks, enable `thinking` in your request.",
        conflict="C-8",
    ),
]


@refuses("rule:R20.prefill-with-thinking")
def test_a_prefill_that_starts_with_thinking_is_refused_while_thinking_is_on() -> None:
    """R20: with thinking on, prefill is refused, also one that R35 would take."""
    history = talk("claude-sonnet-4-5", Think("Hm."), "So", thinking=MANUAL)
    words = (
        "Assistant message prefill is not supported when thinking is enabled. The conversation must end with a user message."
    )
    assert named(history.judged().violation) == ("R20.prefill-with-thinking", "messages.1", words)


@accepts("rule:R20.prefill-with-thinking", "rule:R20.prefill")
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-8"])
def test_a_paused_answer_goes_back_as_the_last_message(model: str) -> None:
    """R20, R68: an unfinished server tool is continued, no prefill."""
    thinking = MANUAL if model == "claude-sonnet-4-5" else {"type": "adaptive"}
    history = Talk(model=model, more={"tools": [SEARCH], "thinking": thinking}).ask("Hi.").reply(Think("Hm."), search())
    assert history.judged().violation is None


@accepts("rule:R20.prefill")
def test_a_fallback_credit_pays_for_one_prefill() -> None:
    """R20: the token authorises it on models that take none."""
    body = on("claude-opus-4-8", assistant("So"), fallback_credit_token="token")
    assert ask(body, betas=["fallback-credit-2026-07-01"]).violation is None


@accepts("rule:R35.tool-loop")
def test_only_the_message_that_opens_the_loop_must_start_with_thinking() -> None:
    """R35: later messages of the loop may start with a call; so may everything in adaptive mode."""
    history = talk("claude-sonnet-4-5", Think("Hm."), call(), thinking=MANUAL)
    history.ask(result()).reply(call("toolu_2")).ask(result("toolu_2"))
    assert history.judged().violation is None
    adaptive = Talk(model="claude-opus-4-6", more={"tools": [TOOL], "thinking": {"type": "adaptive"}})
    assert adaptive.ask("Hi.").reply("Hm.", call()).ask(result()).judged().violation is None


@accepts("rule:R35.tool-loop")
def test_redacted_thinking_opens_a_loop_as_well() -> None:
    """R35, R42."""
    assert talk("claude-sonnet-4-5", Redact("Hm."), call(), thinking=MANUAL).ask(result()).judged().violation is None


@proves("conflict:C-7")
@accepts("rule:R37.mid-history")
def test_the_first_assistant_message_may_end_in_thinking_under_either_stance() -> None:
    """C-7: measured refusals spare the first one (M6)."""
    history = talk("claude-opus-4-8", "Hm.", Think("So."), thinking={"type": "adaptive"}).ask("More.")
    for value in ("accept", "reject"):
        assert history.judged(stance=stance({"C-7": value})).violation is None


@accepts("rule:R35.tool-loop")
def test_earlier_turns_may_have_opened_without_thinking() -> None:
    """R35: only the loop that is open counts."""
    settings = {"tools": [TOOL]}
    talk = Talk(model="claude-sonnet-4-5", more=settings).ask("Hi.").reply("Hm.", call()).ask(result()).reply("Done.")
    talk.ask("Again.").more = {**settings, "thinking": MANUAL}
    assert talk.reply(Think("Hm."), call("toolu_2")).ask(result("toolu_2")).judged().violation is None


FIRST_BLOCK = [
    ("claude-sonnet-4-5", MANUAL, ("Hm.", Think("Wait."), "Hello."), "R36.thinking-not-first"),
    ("claude-sonnet-4-5", MANUAL, ("Hello.",), None),
    ("claude-sonnet-4-5", OFF, ("Hm.", Think("Wait."), "Hello."), None),
    ("claude-opus-4-6", MANUAL, ("Hm.", Think("Wait."), "Hello."), None),
]


@pytest.mark.parametrize(("model", "thinking", "blocks", "rule"), FIRST_BLOCK)
@proves("conflict:C-15")
@accepts("rule:R36.thinking-not-first")
@refuses("rule:R36.thinking-not-first")
def test_the_first_block_rule_holds_for_manual_thinking_on_older_models(
    model: str, thinking: Any, blocks: tuple[Any, ...], rule: str | None
) -> None:
    """C-15: where the profile lists it, and only for messages that think."""
    history = talk(model, *blocks, thinking=MANUAL)
    verdict = ask(ended(history, HI, thinking=thinking), stance=stance({"C-15": "legacy"}))
    assert (verdict.violation and verdict.violation.rule) == rule


REJECT = stance({"C-7": "reject"})


@proves("conflict:C-7")
@accepts("rule:R37.mid-history")
@refuses("rule:R37.mid-history")
def test_trailing_thinking_is_looked_for_between_the_first_answer_and_the_end() -> None:
    """C-7: messages that end in text pass; a prefill at the end does not hide one before it."""
    plain = Talk(model="claude-opus-4-8").ask("Hi.").reply("A.").ask("B?").reply("B.").ask("C?")
    assert plain.judged(stance=REJECT).violation is None
    older = talk("claude-sonnet-4-5", "A.", thinking=MANUAL).ask("B?").reply("B.", Think("Hm.")).ask("C?")
    violation = ask(ended(older, assistant("C"), thinking=OFF), stance=REJECT).violation
    assert violation is not None
    assert (violation.rule, violation.path) == ("R37.mid-history", "messages.3")


C_8 = [
    ("profile", OLDER, "R38.thinking-while-off"),
    ("profile", NEWER, None),
    ("reject", NEWER, "R38.thinking-while-off"),
    ("strip", OLDER, None),
]


@pytest.mark.parametrize(("value", "history", "rule"), C_8)
@proves("conflict:C-8")
@refuses("rule:R38.thinking-while-off")
@accepts("rule:R38.thinking-while-off")
def test_thinking_off_in_an_open_loop_is_refused_or_stripped_by_stance(value: str, history: Talk, rule: str | None) -> None:
    """C-8: an error on models of 2025, a silent strip since."""
    verdict = ask(ended(history, user(result()), thinking=OFF), stance=stance({"C-8": value}))
    assert (verdict.violation and verdict.violation.rule) == rule
    if rule is None:
        assert [(fate.fate, fate.reason) for fate in verdict.prompt.blocks] == [("stripped", "thinking is off")]
