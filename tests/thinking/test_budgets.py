"""Keywords, MAX_THINKING_TOKENS and their parse cases, scopes, and the fit of a budget."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import (
    Budget,
    BudgetEvent,
    BudgetRules,
    BudgetWish,
    ThinkingTokens,
    budget_for,
    is_budget_keyword,
    parse_budget_wish,
)
from clew.thinking.budgets import ANSWER, MINIMUM, fit_budget, parse_tokens
from tests.build import Json
from tests.counts import examples
from tests.manifest import proves, public

HIGH, NOTHING = BudgetWish(31999, "high"), BudgetWish(0, "none")


def user(content: Any, **more: Any) -> Json:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def assistant(text: str) -> Json:
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def result(content: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}


def budget(messages: list[Json], **rules: object) -> Budget:
    return budget_for(messages, msgspec.convert(rules, BudgetRules))


@public("library")
@proves("req:S0-26")
@pytest.mark.parametrize("words", ["ultrathink", "ULTRATHINK", "Think Ultra Hard", "think ultrahard"])
def test_a_keyword_is_known_in_any_case(words: str) -> None:
    """S0-26: the exact list."""
    assert is_budget_keyword(words)


@public("library")
@proves("req:S0-26")
@pytest.mark.parametrize(
    "words", ["ultrathink!", " ultrathink", "please ultrathink", "think hard", "think ultra  hard", "", "ultra think"]
)
def test_a_keyword_with_anything_beside_it_is_none(words: str) -> None:
    """S0-26: nothing is trimmed, nothing is found inside."""
    assert not is_budget_keyword(words)


@public("library")
@proves("req:S0-27")
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("words", ["please ultrathink now", "UltraThink.", "(ultrathink)", "a\nultrathink\nb", "ultrathink"])
def test_the_word_is_found_inside_a_text(words: str, strict: bool) -> None:
    """S0-27: word boundaries, any case."""
    assert parse_budget_wish(words, strict=strict) == HIGH


@public("library")
@proves("req:S0-27")
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("words", ["ultrathinking", "ultra think", "my_ultrathink", "ultrathink2", "", "think hard"])
def test_a_longer_word_asks_for_nothing(words: str, strict: bool) -> None:
    """S0-27: `_` and digits are word characters."""
    assert parse_budget_wish(words, strict=strict) == NOTHING


@public("library")
@proves("req:S0-27", "req:S0-26", "req:C31")
@pytest.mark.parametrize("words", ["think ultra hard", "please Think UltraHard, would you"])
def test_the_phrases_are_found_inside_a_text_unless_the_documented_split_is_asked_for(words: str) -> None:
    """C31: one list and one matcher by default; `strict` keeps the document's two."""
    assert parse_budget_wish(words) == HIGH
    assert parse_budget_wish(words, strict=True) == NOTHING


def test_word_boundaries_are_ascii_as_in_the_matcher_that_is_followed() -> None:
    """JavaScript's \\b without the u flag takes `é` as no word character."""
    assert parse_budget_wish("éultrathinké") == HIGH
    assert (
        parse_budget_wish("ultrathin\u212a") == parse_budget_wish("ultrathin\u212a", strict=True) == NOTHING
    )  # the Kelvin sign is no k
    assert parse_budget_wish("éultrathink", strict=True) == HIGH


@public("library")
@proves("req:S0-28")
def test_the_constants_are_the_documented_ones() -> None:
    """S0-28."""
    assert (ThinkingTokens.ULTRATHINK, ThinkingTokens.NONE) == (31999, 0)


@public("library")
@proves("req:S0-29")
def test_the_variable_decides_alone_and_says_so() -> None:
    """S0-29: one event, and the messages are not scanned."""
    found = budget([user("ultrathink")], variable="50000", provider="bedrock")
    assert found == Budget(50000, BudgetEvent("bedrock", 50000))
    assert msgspec.to_builtins(found.event) == {"provider": "bedrock", "tokenCount": 50000}


@public("library")
@proves("req:S0-30")
def test_a_variable_of_zero_switches_thinking_off() -> None:
    """S0-30: no event, the keyword is ignored."""
    assert budget([user("ultrathink")], variable="0", default=8000) == Budget(0)


@proves("req:S0-31")
@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("12abc", 12),
        (" 2048", 2048),
        ("\u00a0\ufeff\t7", 7),
        ("-5", -5),
        ("+5", 5),
        ("1e5", 1),
        ("0x10", 0),
        ("12.9", 12),
        ("007", 7),
        ("abc", None),
        ("", None),
        ("  ", None),
        ("- 5", None),
        ("１２", None),
        ("NaN", None),
        ("9" * 5000, int("9" * 300)),
    ],
)
def test_a_number_is_read_as_javascript_reads_it(value: str, tokens: int | None) -> None:
    """S0-31: parseInt(value, 10)."""
    assert parse_tokens(value) == tokens


@public("library")
@proves("req:S0-31")
def test_a_negative_variable_is_a_budget_without_an_event() -> None:
    """S0-31: "-5" counts as set."""
    assert budget([user("ultrathink")], variable="-5") == Budget(-5)


@public("library")
@proves("req:S0-31")
def test_an_empty_variable_is_as_if_unset() -> None:
    """S0-31."""
    assert budget([user("ultrathink")], variable="") == Budget(31999)


@public("library")
@proves("req:S0-32")
@pytest.mark.parametrize("value", ["abc", "  "])
def test_a_variable_that_is_no_number_gives_no_thinking_and_one_warning(value: str) -> None:
    """S0-32: the document's NaN was silent."""
    found = budget([user("ultrathink")], variable=value)
    says = f"MAX_THINKING_TOKENS={value!r} is not a number: no thinking is asked for. Set a number of tokens, or unset it"
    assert found == Budget(0, warning=says)


@public("library")
@proves("req:S0-33", "req:C30")
def test_a_word_counts_for_its_own_turn_unless_any_turn_may_ask() -> None:
    """S0-33, C30: the document's scan of all messages is the scope `any`."""
    messages = [user("ultrathink about it"), assistant("done"), user("thanks, and now?")]
    assert budget(messages) == Budget(0)
    assert budget(messages, scope="any") == Budget(31999)
    assert budget(messages[:2]) == Budget(31999)


@public("library")
@proves("req:S0-33")
def test_the_later_of_two_user_messages_in_a_row_is_the_last_turn() -> None:
    """S0-33: A has the word, B comes later and has none."""
    assert budget([user("ultrathink"), user("go on")]) == Budget(0)


@public("library")
@proves("req:S0-33", "req:C30")
def test_the_budget_stays_the_same_inside_a_tool_loop() -> None:
    """C30: a remark beside a tool result does not change the parameter in mid-loop."""
    loop = [user("ultrathink: fix it"), assistant("calling"), user([result("ok")])]
    assert budget(loop) == Budget(31999)
    assert budget([*loop, assistant("calling"), user([result("ok"), text("also the docs")])]) == Budget(31999)
    quiet = [user("fix it"), assistant("calling"), user([result("ok"), text("ultrathink")])]
    assert budget(quiet) == Budget(0)
    assert budget(quiet, scope="any") == Budget(31999)


@public("library")
@proves("req:S0-34")
@pytest.mark.parametrize("scope", ["last_user_turn", "any"])
@pytest.mark.parametrize(
    "messages",
    [
        [user("hello"), user("ultrathink", isMeta=True)],
        [user("hello"), assistant("shall I ultrathink?")],
        [user("hello"), user([result("ultrathink")])],
        [user("hello"), user([result([text("ultrathink")])])],
        [user([text("hello"), text("<system-reminder>\nuse ultrathink\n</system-reminder>\n")])],
        [user("<system-reminder>ultrathink</system-reminder>")],
        [{"role": "system", "content": "ultrathink"}, user("hello")],
    ],
    ids=["meta", "assistant", "result", "result-blocks", "reminder", "only-reminder", "system"],
)
def test_only_what_a_person_wrote_counts(messages: list[Json], scope: str) -> None:
    """S0-34."""
    assert budget(messages, scope=scope) == Budget(0)


@public("library")
@proves("req:S0-35")
def test_the_default_is_a_floor() -> None:
    """S0-35."""
    assert budget([user("hello")], default=8000) == Budget(8000)
    assert budget([user("ultrathink")], default=8000) == Budget(31999)
    assert budget([], default=8000) == Budget(8000)
    assert budget([]) == Budget(0)
    assert budget([user("hello")], default=None) == Budget(0)


@public("library")
@proves("req:S0-39")
@pytest.mark.parametrize(
    ("words", "metadata", "tokens"),
    [
        ("hello", {"level": "high", "disabled": False}, 31999),
        ("hello", {"level": "high"}, 31999),
        ("ultrathink", {"level": "high", "disabled": True}, 0),
        ("ultrathink", {"level": "none", "disabled": False}, 0),
        ("ultrathink", None, 31999),
    ],
)
def test_what_the_client_noted_beside_a_message_outranks_its_words(words: str, metadata: Any, tokens: int) -> None:
    """S0-39."""
    assert budget([user(words, thinkingMetadata=metadata)]) == Budget(tokens)


@public("library")
@proves("req:S0-43")
def test_a_compacted_history_has_the_budget_of_what_is_left() -> None:
    """S0-43: no memory of the word; a new word gives a fresh budget."""
    compacted = [user("Summary: the tests were fixed."), assistant("ok"), user("go on")]
    assert budget(compacted, scope="any") == Budget(0)
    assert budget([*compacted, assistant("ok"), user("ultrathink")], scope="any") == Budget(31999)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "user"},
        {"role": "user", "content": [None, 3, {}, {"type": 4}]},
        {"type": "user", "message": {"content": 1}},
    ],
)
def test_a_message_of_another_shape_asks_for_nothing(message: Json) -> None:
    """No exception, whatever a client sends."""
    assert budget([message], scope="any") == Budget(0)


@proves("req:S0-37")
@pytest.mark.parametrize(
    ("wanted", "max_tokens", "cap", "fit"),
    [
        (31999, 64000, 0, 31999),
        (31999, 32000, 0, 30976),
        (31999, 31999, 0, 30975),
        (50000, 128000, 32000, 32000),
        (1, 4096, 0, 1024),
        (500, 2048, 0, 1024),
        (500, 2047, 0, None),
        (31999, 1, 0, None),
        (31999, 0, 0, None),
        (31999, None, 0, 31999),
        (31999, None, 1000, None),
    ],
)
def test_a_budget_is_fitted_to_what_is_legal(wanted: int, max_tokens: int | None, cap: int, fit: int | None) -> None:
    """S0-37, R11: at least 1024, 1024 below max_tokens, at most the cap."""
    assert fit_budget(wanted, max_tokens=max_tokens, cap=cap) == fit


@proves("req:S0-37")
@settings(max_examples=examples(48, soak=4000))
@given(st.integers(-10, 10**6), st.none() | st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_fitted_budget_is_always_legal_and_fits_again(wanted: int, max_tokens: int | None, cap: int) -> None:
    """S0-37 for any numbers."""
    fit = fit_budget(wanted, max_tokens=max_tokens, cap=cap)
    if fit is None:
        assert (max_tokens is not None and max_tokens < MINIMUM + ANSWER) or 0 < cap < MINIMUM
        return
    assert fit >= MINIMUM
    assert max_tokens is None or fit <= max_tokens - ANSWER
    assert not cap or fit <= cap
    assert fit_budget(fit, max_tokens=max_tokens, cap=cap) == fit
