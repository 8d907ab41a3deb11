"""Answers longer than a backend gives: less is asked for, by its row or after its refusal. Claude Code asks for 128,000."""

from __future__ import annotations

import pytest

from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.model.change import Change
from clew.model.failure import Failure
from tests.build import request, user
from tests.dialects.failures.test_reading import error, said
from tests.dialects.openai_chat.encoding import body, changes, repaired

REFUSALS = {
    "max_tokens is too large: 128000. This model supports at most 16384 completion tokens, whereas you provided 128000.": 16384,
    "`max_completion_tokens` must be less than or equal to `40960`, the maximum value for `max_completion_tokens` is less "
    "than the `context_window` for this model": 40960,
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]": 8192,
    "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]": 8192,
    "The parameter max_tokens specified in the request is not valid: integer above maximum value, expected a value <= 32768, "
    "but got 64000 instead. Request id: 0217": 32768,
    "This model's maximum context length is 131072 tokens. However, you requested 140439 tokens (12439 in the messages, "
    "128000 in the completion). Please reduce the length of the messages or completion.": 131072 - 12439 - 1000,
}


@pytest.mark.parametrize(("words", "room"), REFUSALS.items(), ids=["openai", "groq", "deepseek", "dashscope", "ark", "vllm"])
def test_a_refusal_that_says_how_much_there_may_be_is_repaired_with_it_once(words: str, room: int) -> None:
    """Vendors' own sentences."""
    found = repaired(ChatRequestOptions(), 400, words)
    assert found is not None
    assert (found.name, found.options) == ("less", ChatRequestOptions(most_tokens=room))
    assert repaired(found.options, 400, words, ["less"]) is None


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9880 tokens (7880 in the messages, 2000 "
        "in the completion).",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long",
    ],
)
def test_where_next_to_nothing_could_be_said_the_client_has_to_act(words: str) -> None:
    """It compacts; a short answer would only put that off."""
    assert repaired(ChatRequestOptions(), 400, words) is None


def test_a_limit_of_answers_is_not_taken_for_a_full_context() -> None:
    """Groq speaks of the context window in the same sentence: compacting would help nobody."""
    words = list(REFUSALS)[1]
    assert said(400, error(words)) == Failure(400, "invalid_request_error", words)
    assert failure_of(400, b'{"error":{"message":"context_window exceeded"}}').message.startswith("prompt is too long")


def test_a_row_may_say_how_much_is_asked_for_at_most() -> None:
    """And a budget for thinking has room in it."""
    asked = request(user("hi"), max_tokens=64_000, thinking={"type": "enabled", "budget_tokens": 32_000})
    sent = body(asked, knob="openrouter", most_tokens=16_384)
    assert (sent["max_tokens"], sent["reasoning"]) == (16_384, {"max_tokens": 16_384 - 1024})
    assert Change(
        "openai_chat", "max_tokens", "replaced", "this backend allows at most 16384 tokens for an answer"
    ) in changes(asked, most_tokens=16_384)
    assert body(request(user("hi"), max_tokens=100), most_tokens=16_384)["max_tokens"] == 100
    assert changes(request(user("hi"), max_tokens=100), most_tokens=16_384) == ()
