"""Heal: one repair for a refusal, the smallest that can work, and remembered by nothing."""

from __future__ import annotations

import json

import pytest

from clew.model.change import Change
from clew.model.facts.models import profile_for
from clew.model.request import Request
from clew.pipeline.heal import HealedRequest, Remedy, ThinkingRefusal, heal, refusal_in
from clew.pipeline.step import Facts
from clew.wire.requests import encode
from tests.build import OPUS, Scribe, assistant, request, sent, target, thinking, tool_result, tool_use, user

BOUND = (
    "messages.{i}.content.{j}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove "
    'the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def recorded(*signatures: str) -> Facts:
    scribe = Scribe()
    for signature in signatures:
        asked = request(user(signature))
        scribe.record(asked, asked, assistant(thinking("x", signature), signature))
    return Facts(recordings=scribe.shelf)


HISTORY = request(
    user("a"),
    assistant(thinking("1", "s1"), "one"),
    user("b"),
    assistant(thinking("2", "s2"), "two"),
    user("c"),
    assistant(thinking("3", "s3"), tool_use("t1")),
    user(tool_result("t1")),
)


def healed(
    refusal: ThinkingRefusal, facts: Facts, tried: tuple[Remedy, ...] = (), going: Request = HISTORY
) -> HealedRequest | None:
    return heal(going, refusal, target(OPUS), facts, tried)


def signatures(request: Request) -> list[str]:
    blocks = [block for message in sent(request) if isinstance(message["content"], list) for block in message["content"]]
    return [block["signature"] for block in blocks if block["type"] == "thinking"]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (BOUND.format(i=3, j=0), ThinkingRefusal("R44", 3, 0)),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", ThinkingRefusal("R33", 1, 0)),
        ("messages.1.content.0: Invalid signature in thinking block", ThinkingRefusal("R33", 1, 0)),
        ("***.***.content.0: Invalid `data` in `redacted_thinking` block", ThinkingRefusal("R33")),
        ("Invalid thinking block signature", ThinkingRefusal("R33")),
        ("messages.1.content.0: invalid `thinking` block signature", ThinkingRefusal("R33", 1, 0)),
        ("messages.7.content.1.thinking: each thinking block must contain thinking", ThinkingRefusal("R33", 7, 1)),
        ("messages.647.content.0.thinking.signature: Field required", ThinkingRefusal("R33", 647, 0)),
        (
            "messages.9.content.15: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
            " These blocks must remain as they were in the original response.",
            ThinkingRefusal("R34", 9, 15),
        ),
        (
            "messages.11.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled",
            ThinkingRefusal("R35", 11, 0),
        ),
        ("messages.17: The final block in an assistant message cannot be `thinking`.", ThinkingRefusal("R37", 17)),
        (
            "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain"
            " `thinking`. To use thinking blocks, enable `thinking` in your request.",
            ThinkingRefusal("R38", 1, 0),
        ),
        ("prompt is too long: 208904 tokens > 200000 maximum", None),
        ("tool_choice: Input should be an object", None),
    ],
)
def test_a_refusal_is_read_from_the_vendors_words(words: str, want: ThinkingRefusal | None) -> None:
    assert refusal_in(400, words) == want
    assert refusal_in(500, words) is None


WRAPPED = [
    (422, "{words}"),
    (500, "litellm.BadRequestError: AnthropicException - {words}. Received Model Group=claude"),
    (500, '{{"type": "error", "error": {{"type": "api_error", "message": "HTTP 400: {words}"}}}}'),
    (
        502,
        '{{"error": {{"message": "Provider returned error", "code": 502, "metadata": {{"raw": "{{\\"code\\": 400, \\"m\\": \\"{words}\\"}}"}}}}}}',
    ),
    (503, "An error occurred (ValidationException) when calling InvokeModel: {words}"),
    (429, 'All accounts exhausted. Last error: HTTP 400: {{"message": "{words}", "status": "INVALID_ARGUMENT"}}'),
]


@pytest.mark.parametrize(("status", "around"), WRAPPED)
def test_a_refusal_inside_a_proxys_failure_is_one(status: int, around: str) -> None:
    """The proxy's own status says nothing: that it was a refusal is in the words that it repeats."""
    words = "messages.1.content.0: Invalid `signature` in `thinking` block"
    assert refusal_in(status, around.format(words=words)) == ThinkingRefusal("R33", 1, 0)
    assert refusal_in(status, around.format(words="Overloaded")) is None


@pytest.mark.parametrize("status", [401, 403, 404, 413, 500, 502, 503, 529])
def test_a_failure_that_only_speaks_of_thinking_is_no_refusal(status: int) -> None:
    assert refusal_in(status, "messages.1.content.0: Invalid `signature` in `thinking` block") is None


def test_what_bedrock_says_of_a_signature_is_read_too() -> None:
    """dialects 3, table."""
    words = "The signature in the reasoningContent block at messages.3.content.0 is invalid."
    assert refusal_in(400, words) == ThinkingRefusal("R33", 3, 0)


def test_words_of_a_request_that_an_error_quotes_are_not_its_own() -> None:
    """FastAPI's servers send the input back, and that may be about anything."""
    assert refusal_in(422, f"Field required {'x' * 4000} Invalid `signature` in `thinking` block") is None


def test_an_unrecorded_block_takes_only_the_unrecorded_ones_after_it_along() -> None:
    result = healed(ThinkingRefusal("R44", 1, 0), recorded("s2"))

    assert result is not None
    assert signatures(result.request) == ["s2"]
    assert result.changes == (
        Change("heal", "messages.1.content.0", "healed", "refused (R44)"),
        Change("heal", "messages.5.content.0", "healed", "refused (R44)"),
    )


def test_a_recorded_block_takes_everything_from_its_message_on_along() -> None:
    result = healed(ThinkingRefusal("R44", 3, 0), recorded("s1", "s2", "s3"))

    assert result is not None
    assert signatures(result.request) == ["s1"]


@pytest.mark.parametrize(
    "refusal",
    [ThinkingRefusal("R44"), ThinkingRefusal("R33", 0, 0), ThinkingRefusal("R34", 99, 3), ThinkingRefusal("R33", 3, 1)],
)
def test_an_index_that_points_at_no_thinking_block_means_all(refusal: ThinkingRefusal) -> None:
    result = healed(refusal, recorded("s1", "s2", "s3"))

    assert result is not None
    assert signatures(result.request) == []


def test_refused_again_for_the_other_kind_is_its_rule_and_for_the_same_kind_all() -> None:
    facts = recorded("s2", "s3")
    first = healed(ThinkingRefusal("R33", 1, 0), facts)
    assert first is not None and first.remedy == "unrecorded"

    other = healed(ThinkingRefusal("R44", 3, 0), facts, ("unrecorded",), first.request)
    assert other is not None and other.remedy == "recorded"
    assert signatures(other.request) == []

    same = healed(ThinkingRefusal("R44", 3, 0), recorded("s3"), ("unrecorded",))
    assert same is not None and same.remedy == "all"


def test_what_is_refused_even_without_any_thinking_goes_to_the_client() -> None:
    bare = request(user("a"), assistant("one"), user("b"))

    assert healed(ThinkingRefusal("R44", 1, 0), Facts(), ("all",)) is None
    assert healed(ThinkingRefusal("R44", 1, 0), Facts(), (), bare) is None
    assert healed(ThinkingRefusal("R33", 1, 0), Facts(), ("unrecorded", "recorded", "trailing")) is None, "three at most"


def test_trailing_thinking_is_taken_off_the_named_message() -> None:
    going = request(
        user("a"), assistant("x", thinking("1", "s1")), user("b"), assistant("y", thinking("2", "s2")), user("c")
    )

    result = healed(ThinkingRefusal("R37", 3), Facts(), (), going)

    assert result is not None
    assert signatures(result.request) == ["s1"]
    assert healed(ThinkingRefusal("R37", 3), Facts(), ("trailing",), going) is None


def test_thinking_in_the_open_loop_goes_where_the_vendor_wants_none_there() -> None:
    result = healed(ThinkingRefusal("R38", 5, 0), Facts())

    assert result is not None
    assert signatures(result.request) == ["s1", "s2"]
    assert sent(result.request)[5] == assistant(tool_use("t1"))


def test_a_loop_that_cannot_begin_with_thinking_runs_without_manual_thinking() -> None:
    going = request(
        user("a"),
        assistant(tool_use("t1")),
        user(tool_result("t1")),
        model="claude-sonnet-4-5",
        thinking={"type": "enabled", "budget_tokens": 1024},
        max_tokens=4000,
    )
    reader = target(OPUS, model="claude-sonnet-4-5", profile=profile_for("claude-sonnet-4-5"))

    result = heal(going, ThinkingRefusal("R35", 1, 0), reader, Facts())

    assert result is not None
    assert result.remedy == "off"
    assert json.loads(encode(result.request))["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("rest", [[], [" "]], ids=["nothing left", "white space left"])
def test_a_message_that_would_say_nothing_gets_the_filler(rest: list[str]) -> None:
    going = request(user("a"), assistant(thinking("1", "s1"), *rest), user("b"))

    result = healed(ThinkingRefusal("R33", 1, 0), Facts(), (), going)

    assert result is not None
    assert sent(result.request)[1]["content"] == [{"type": "text", "text": "[No message content]", "citations": []}]
