"""The tests that the founding document lists for its display of thinking, under its names, with its flaws corrected."""

import pytest

from clew import log_thinking_metrics
from tests.build import Json
from tests.chat.said import HIDDEN_BY_VENDOR, Lines, thought
from tests.manifest import proves, public

NOTHING_USED = "📊 Thinking Metrics: 0 tokens used for reasoning"
ENCRYPTED = "[REDACTED - Content encrypted for safety]"


def logged(tokens: int, *blocks: Json) -> list[str]:
    logger = Lines()
    log_thinking_metrics(logger, tokens, blocks)
    return logger.said


# ── Early return conditions


@public("library")
@proves("req:S2-22")
def test_returns_early_when_logger_is_undefined(capsys: pytest.CaptureFixture[str]) -> None:
    """S2-22: no output, no exception."""
    log_thinking_metrics(None, 100, [thought("X")])
    assert capsys.readouterr() == ("", "")


@public("library")
@proves("req:S2-23")
def test_returns_early_when_blocks_array_is_undefined() -> None:
    """S2-23."""
    logger = Lines()
    log_thinking_metrics(logger, 100, None)
    assert logger.said == []


@public("library")
@proves("req:S2-24")
def test_returns_early_when_blocks_array_is_empty() -> None:
    """S2-24: whatever the count."""
    assert logged(0) == logged(100) == []


# ── Thinking block display with zero token count


@public("library")
@proves("req:S2-25")
def test_displays_thinking_content_even_when_token_count_is_0() -> None:
    """S2-25: what the fix was about."""
    assert logged(0, thought("X")) == ["🧠 Agent Thinking:\nX", NOTHING_USED]


@public("library")
@proves("req:S2-26")
def test_displays_thinking_content_with_non_zero_token_count() -> None:
    """S2-26."""
    assert logged(1500, thought("X")) == [
        "🧠 Agent Thinking:\nX",
        "📊 Thinking Metrics: 1500 tokens used for reasoning",
    ]


# ── Multiple thinking blocks


@public("library")
@proves("req:S2-27")
def test_combines_multiple_thinking_blocks() -> None:
    """S2-27: one message, one blank line between them, in order."""
    assert logged(0, thought("A"), thought("B"), thought("C")) == ["🧠 Agent Thinking:\nA\n\nB\n\nC", NOTHING_USED]


@public("library")
@proves("req:S2-29", "req:C33")
def test_handles_mix_of_thinking_and_redacted_thinking() -> None:
    """S2-29: redacted thinking hides nothing but itself, and has its place."""
    assert logged(0, thought("A"), HIDDEN_BY_VENDOR, thought("B"), HIDDEN_BY_VENDOR, HIDDEN_BY_VENDOR) == [
        f"🧠 Agent Thinking:\nA\n\n🔒 {ENCRYPTED}\n\nB\n\n🔒 {ENCRYPTED}\n\n🔒 {ENCRYPTED}",
        NOTHING_USED,
    ]


# ── Redacted thinking blocks


@public("library")
@proves("req:S2-28")
def test_shows_redacted_indicator_for_redacted_blocks() -> None:
    """S2-28: and the metrics after it."""
    assert logged(0, HIDDEN_BY_VENDOR) == [f"🔒 Hidden Reasoning:\n{ENCRYPTED}", NOTHING_USED]


@public("library")
@proves("req:S2-28")
def test_uses_appropriate_icon_for_redacted_thinking() -> None:
    """S2-28: a lock, and no brain."""
    shown, _ = logged(20, HIDDEN_BY_VENDOR, HIDDEN_BY_VENDOR)
    assert shown == f"🔒 Hidden Reasoning:\n{ENCRYPTED}\n\n{ENCRYPTED}"


# ── Content formatting


@public("library")
@proves("req:S2-30")
def test_trims_whitespace_from_thinking_content() -> None:
    """S2-30: around it."""
    assert logged(0, thought("\n  X y \t\n"))[0] == "🧠 Agent Thinking:\nX y"


@public("library")
@proves("req:S2-31")
def test_preserves_newlines_within_content() -> None:
    """S2-31: blank lines too."""
    assert logged(0, thought("A\nB\n\nC"))[0] == "🧠 Agent Thinking:\nA\nB\n\nC"


@public("library")
@proves("req:S2-32")
def test_handles_empty_thinking_content() -> None:
    """S2-32: only metrics."""
    assert logged(0, thought("")) == [NOTHING_USED]


@public("library")
@proves("req:S2-32")
def test_handles_thinking_content_of_nothing_but_whitespace() -> None:
    """S2-32: the fifth that the document counts and does not name."""
    assert logged(0, thought(" \n\t ")) == [NOTHING_USED]


@public("library")
@proves("req:S2-33")
def test_handles_thinking_block_without_content_property() -> None:
    """S2-33: only metrics."""
    assert logged(0, {"type": "thinking"}) == [NOTHING_USED]


# ── Icon and label selection


@public("library")
@proves("req:S2-34")
def test_uses_brain_icon_for_normal_thinking() -> None:
    """S2-34."""
    assert logged(0, thought("X"))[0].startswith("🧠 Agent Thinking:")


@public("library")
@proves("req:S2-34")
def test_uses_brain_icon_when_token_count_is_provided() -> None:
    """S2-34."""
    assert logged(7, thought("X"))[0].startswith("🧠 Agent Thinking:")


# ── Integration scenarios


def test_handles_typical_interleaved_thinking_scenario() -> None:
    """The document's own example: 0 tokens, content present."""
    words = "Good, I can see the project structure. There's a `src` directory where I need\nto place the factorial function."
    assert logged(0, thought(words)) == [f"🧠 Agent Thinking:\n{words}", NOTHING_USED]


def test_handles_extended_thinking_scenario() -> None:
    """Tokens reported, content present."""
    assert logged(2048, thought("First A."), thought("Then B.")) == [
        "🧠 Agent Thinking:\nFirst A.\n\nThen B.",
        "📊 Thinking Metrics: 2048 tokens used for reasoning",
    ]


@public("library")
@proves("req:S2-35")
def test_handles_multiple_sequential_calls() -> None:
    """S2-35: four messages, in order."""
    logger = Lines()
    log_thinking_metrics(logger, 0, [thought("A")])
    log_thinking_metrics(logger, 5, [thought("B")])
    assert logger.said == [
        "🧠 Agent Thinking:\nA",
        NOTHING_USED,
        "🧠 Agent Thinking:\nB",
        "📊 Thinking Metrics: 5 tokens used for reasoning",
    ]


# ── Edge cases


@public("library")
@proves("req:S2-36")
def test_handles_very_long_thinking_content() -> None:
    """S2-36: whole."""
    assert logged(0, thought("x" * 10_000))[0] == "🧠 Agent Thinking:\n" + "x" * 10_000


@public("library")
@proves("req:S2-37")
def test_handles_special_characters() -> None:
    """S2-37: emoji, backslashes, and what a logger could take for its own."""
    words = "🎉 C:\\temp\\n %s {name} <b> “ü” \t日本語 👩‍👩‍👧"
    assert logged(0, thought(words))[0] == f"🧠 Agent Thinking:\n{words}"


@public("library")
@proves("req:S2-38")
@pytest.mark.parametrize("tokens", [-100, 999_999_999])
def test_handles_negative_and_extreme_token_counts(tokens: int) -> None:
    """S2-38: as they are."""
    assert logged(tokens, thought("X"))[1] == f"📊 Thinking Metrics: {tokens} tokens used for reasoning"
