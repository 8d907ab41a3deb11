"""Counts: reported, estimated, or not known."""

from typing import Any

import pytest
from anthropic.types import Usage
from hypothesis import given
from hypothesis import strategies as st

from clew import Estimate, Message, cache_efficiency, format_response, thinking_tokens
from tests.build import redacted, text, thinking
from tests.chat.said import CALL, R, T, X, answer
from tests.manifest import proves, public

LONG = "The quick brown fox jumps over the lazy dog. " * 40
"""About 400 tokens."""


def kept(*content: Any, **usage: Any) -> Message:
    return format_response(answer(*content, usage=usage))


@public("library")
@proves("req:S2-41")
@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"output_tokens": 90, "output_tokens_details": {"thinking_tokens": 70}}, 70),
        ({"output_tokens": 90, "output_tokens_details": {"thinking_tokens": 0}}, 0),
        ({"output_tokens": 90, "thinking_tokens": 70}, 70),
    ],
)
def test_what_is_reported_counts(usage: dict[str, Any], tokens: int) -> None:
    """S2-41: where the API says it now, and where the document has it."""
    assert thinking_tokens(kept(T, X, **usage)) == tokens


@public("library")
@proves("req:S2-39", "req:S2-41", "req:C33")
def test_what_is_not_reported_is_what_the_visible_part_does_not_account_for() -> None:
    """S2-39, S2-41: within a fifth, though nothing of it can be read."""
    for hidden in (redacted("x"), thinking("", "c2ln"), thinking("A summary.", "c2ln")):
        estimate = thinking_tokens(kept(hidden, text(LONG), CALL, output_tokens=1400))
        assert isinstance(estimate, Estimate)
        assert 800 < estimate.tokens < 1200


@public("library")
@proves("req:S2-39", "req:C33")
def test_without_any_count_the_words_are_counted() -> None:
    """S2-39: also where the count cannot be true."""
    for usage in ({}, {"output_tokens": None}, {"output_tokens": 1}, {"output_tokens_details": None}):
        estimate = thinking_tokens(kept(thinking(LONG, "c2ln"), X, **usage))
        assert isinstance(estimate, Estimate)
        assert 320 < estimate.tokens < 480


@public("library")
@proves("req:S2-39", "req:C33")
def test_without_anything_to_go_by_the_count_is_not_known() -> None:
    """S2-39: no number is made up."""
    assert thinking_tokens(kept(R, X)) is None
    assert thinking_tokens(kept(X, output_tokens=50)) is None
    assert thinking_tokens(Message(role="user", content="Hello")) is None


# ── the cache


@public("library")
@proves("req:S2-42", "req:C33")
@pytest.mark.parametrize(
    ("usage", "share"),
    [
        ({"input_tokens": 4, "cache_read_input_tokens": 5000, "cache_creation_input_tokens": 0}, 100 * 5000 / 5004),
        ({"input_tokens": 25, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 25}, 50.0),
        ({"input_tokens": 100, "cache_read_input_tokens": None}, 0.0),
        ({"input_tokens": 0, "cache_read_input_tokens": 0}, None),
        ({}, None),
        (None, None),
    ],
)
def test_cache_efficiency_is_the_share_of_the_prompt_that_was_read_from_it(usage: Any, share: float | None) -> None:
    """S2-42: the document divides by fresh input alone, and gets 125,000 % for the first of these."""
    assert cache_efficiency(usage) == share


def test_cache_efficiency_reads_the_sdks_usage() -> None:
    assert cache_efficiency(Usage(input_tokens=10, output_tokens=1, cache_read_input_tokens=30)) == 75.0


@public("library")
@proves("req:S2-42")
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_cache_efficiency_is_never_more_than_all(fresh: int, read: int, written: int) -> None:
    """S2-42: 0 to 100 %."""
    usage = {"input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    share = cache_efficiency(usage)
    assert (share is None) == (fresh + read + written == 0)
    assert share is None or 0 <= share <= 100
