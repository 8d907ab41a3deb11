"""`thinking_report` beyond the document's list: what is unknown says so, and a terminal is told nothing."""

import logging

import pytest

from clew import Estimate, extract_thinking_blocks, format_response, log_thinking_metrics, thinking_report, thinking_tokens
from clew.chat.metrics import harmless
from tests.build import thinking
from tests.chat.said import HIDDEN_BY_VENDOR, R, T, X, answer, thought
from tests.manifest import proves, public


@public("library")
@proves("req:S2-39", "req:C33")
def test_a_count_that_was_not_reported_is_not_zero() -> None:
    """S2-39: unknown says so, an estimate is marked, a report is as it is."""
    block = [thought("X")]
    assert [thinking_report(tokens, block)[1] for tokens in (None, Estimate(1500), 1500, 0)] == [
        "📊 Thinking Metrics: token count not reported",
        "📊 Thinking Metrics: ≈1500 tokens used for reasoning",
        "📊 Thinking Metrics: 1500 tokens used for reasoning",
        "📊 Thinking Metrics: 0 tokens used for reasoning",
    ]


@public("library")
@proves("req:S2-33")
def test_a_signed_block_without_words_says_that_its_maker_hides_it() -> None:
    """S2-33: what newer models send unless they are asked for a summary; one that is just empty says nothing."""
    hidden = extract_thinking_blocks([thinking("", "c2ln")])
    assert thinking_report(5, hidden)[0] == "🔒 Hidden Reasoning:\n[reasoning hidden by the provider]"
    assert thinking_report(5, [*hidden, thought("A")])[0] == "🧠 Agent Thinking:\n🔒 [reasoning hidden by the provider]\n\nA"
    for empty in (thinking("", ""), {"type": "thinking", "signature": "c2ln"}):
        assert thinking_report(5, extract_thinking_blocks([empty])) == ["📊 Thinking Metrics: 5 tokens used for reasoning"]


@public("library")
@proves("req:S2-29")
def test_an_answer_is_reported_from_what_was_kept() -> None:
    """S2-29: blocks with a signature, redacted ones among them, from the answer to the screen."""
    message = format_response(answer(T, R, X, usage={"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 21}}))
    assert thinking_report(thinking_tokens(message), extract_thinking_blocks(message.raw_content)) == [
        "🧠 Agent Thinking:\nLet me look around.\n\n🔒 [REDACTED - Content encrypted for safety]",
        "📊 Thinking Metrics: 21 tokens used for reasoning",
    ]


def test_a_real_logger_gets_the_lines_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "agent"):
        log_thinking_metrics(logging.getLogger("agent"), 3, [thought("100 %s {x}"), HIDDEN_BY_VENDOR])
    assert [record.getMessage() for record in caplog.records] == thinking_report(
        3, [thought("100 %s {x}"), HIDDEN_BY_VENDOR]
    )


# ── terminals


ESCAPES = {
    "a colour": ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
    "the title": ("\x1b]0;owned\x07", "␛]0;owned␇"),
    "the clipboard, by a command in one character": ("\x9d52;c;cm0=\x9c", "�52;c;cm0=�"),
    "a line over another": ("harmful\rharmless", "harmful␍harmless"),
    "letters taken back": ("rm -rf /\b\b\b\x7f", "rm -rf /␈␈␈␡"),
    "nothing to see": ("a\0b", "a␀b"),
    "lines and columns": ("a\r\n\tb\n", "a\n\tb\n"),
    "everything else": ("ü 日本 👩‍👩‍👧 \\x1b \u00a0", "ü 日本 👩‍👩‍👧 \\x1b \u00a0"),
}


@pytest.mark.parametrize(("given", "shown"), ESCAPES.values(), ids=ESCAPES)
def test_a_terminal_has_nothing_to_obey(given: str, shown: str) -> None:
    """Models repeat what they read; control characters become pictures of themselves."""
    assert harmless(given) == shown


def test_no_control_character_gets_through() -> None:
    every = "".join(map(chr, range(0x250)))
    assert {ord(each) for each in harmless(every) if ord(each) < 32 or 127 <= ord(each) < 160} == {9, 10}


def test_a_report_is_harmless() -> None:
    assert thinking_report(0, [thought("\x1b[2J A")])[0] == "🧠 Agent Thinking:\n␛[2J A"
