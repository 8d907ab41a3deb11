"""Reasoning parts as thinking blocks: with a proof or not at all; the documents' own rules, selectable."""

from typing import Any

import pytest

from clew import convert_reasoning_to_thinking, ensure_thinking_block_compliance, lacks_leading_thinking
from tests.manifest import proves, public
from tests.pipeline.ui.parts import assistant, call, reasoning, text, thinking, user

CALL = call("A")
REDACTED = {"type": "redacted_thinking", "data": "abc"}
BARE = {"type": "redacted_thinking"}
FILLER = text("[No message content]")


@public("library")
@proves("req:S4-21")
@pytest.mark.parametrize("kind", ["reasoning", "reasoning-delta"])
def test_as_documented_reasoning_is_renamed_and_keeps_its_fields(kind: str) -> None:
    """S4-21: other fields kept, other parts the same objects."""
    part = {"type": kind, "text": "hmm", "state": "done", "providerMetadata": {"x": {}}}
    message = assistant("a", part, CALL, createdAt="then")
    (sent,) = convert_reasoning_to_thinking([message], mode="rename")
    assert sent == message | {"parts": [text("a"), part | {"type": "thinking"}, CALL]}
    assert sent["parts"][0] is message["parts"][0]
    assert sent["parts"][2] is message["parts"][2]


@proves("req:S4-22")
def test_by_default_text_and_signature_go_where_the_api_has_them() -> None:
    """S4-22: text in `thinking`, the signature out of the provider's metadata."""
    part = reasoning("hmm", "sig==", state="done")
    (sent,) = convert_reasoning_to_thinking([assistant(part, "a")])
    block = {"type": "thinking", "thinking": "hmm", "signature": "sig==", "state": "done"}
    assert sent["parts"] == [block | {"providerMetadata": part["providerMetadata"]}, text("a")]


@proves("req:S4-22")
@pytest.mark.parametrize(
    "part",
    [
        reasoning("hmm"),
        reasoning("hmm", ""),
        reasoning("hmm", "clew1.not-for-claude"),
        reasoning("hmm", providerMetadata={"openai": {"signature": "x"}}),
        reasoning("hmm", providerMetadata={"anthropic": {"signature": 7}}),
        reasoning("hmm", providerMetadata="x"),
        {"type": "reasoning"},
    ],
)
def test_without_a_proof_that_counts_it_is_not_sent_as_thinking(part: dict[str, Any]) -> None:
    """S4-22, C16: never a renamed block without a signature."""
    (sent,) = convert_reasoning_to_thinking([assistant("a", part, CALL)])
    assert sent["parts"] == [text("a"), CALL]


@proves("req:S4-22")
def test_the_target_says_which_signatures_it_accepts() -> None:
    message = assistant(reasoning("mine", "m-1"), reasoning("theirs", "t-1"), "a")
    (sent,) = convert_reasoning_to_thinking([message], accepts=lambda signature: signature.startswith("m-"))
    assert [part["type"] for part in sent["parts"]] == ["thinking", "text"]


def test_all_reasoning_can_be_kept_with_the_apis_fields_for_a_store() -> None:
    """What has neither a text nor a proof is nothing."""
    given = assistant(
        reasoning("hmm"),
        reasoning("so", "sig"),
        reasoning(""),
        {"type": "reasoning", "text": "own", "signature": "own=="},
        "a",
    )
    (kept,) = convert_reasoning_to_thinking([given], mode="all")
    blocks = [(part.get("thinking"), part.get("signature")) for part in kept["parts"]]
    assert blocks == [("hmm", ""), ("so", "sig"), ("own", "own=="), (None, None)]


def test_empty_text_with_a_signature_is_a_block_and_redacted_data_too() -> None:
    """S0-50: the normal shape of omitted thinking; W11: redacted thinking has data."""
    hidden = {"type": "reasoning", "text": "", "providerMetadata": {"anthropic": {"redactedData": "abc"}}}
    (sent,) = convert_reasoning_to_thinking([assistant(reasoning("", "sig"), hidden)])
    assert [(part["type"], part.get("thinking"), part.get("data")) for part in sent["parts"]] == [
        ("thinking", "", None),
        ("redacted_thinking", None, "abc"),
    ]


def test_a_message_of_nothing_else_becomes_the_filler() -> None:
    """C13."""
    (sent,) = convert_reasoning_to_thinking([assistant(reasoning("hmm"))])
    assert sent["parts"] == [FILLER]


@proves("req:S4-11")
@pytest.mark.parametrize("mode", ["signed", "rename"])
@pytest.mark.parametrize(
    "message", [assistant("a", thinking("x"), CALL), user("hi"), assistant(), {"role": "assistant"}, {}]
)
def test_a_message_without_reasoning_is_the_same_object(message: dict[str, Any], mode: Any) -> None:
    """S4-11."""
    (sent,) = convert_reasoning_to_thinking([message], mode=mode)
    assert sent is message


@public("library")
@proves("req:S4-23", "req:S4-24", "req:S4-11", "req:S4-28")
@pytest.mark.parametrize(
    "message",
    [
        assistant("a", thinking("x")),
        assistant(thinking("x"), "a", CALL),
        assistant(thinking("x"), "a", thinking("y"), CALL),
        assistant(REDACTED, "a", CALL),
        assistant("a", CALL),
        assistant(CALL),
        assistant(),
        user("a", thinking("x"), CALL),
        {"role": "assistant"},
    ],
    ids=["no-call", "first", "first-and-later", "redacted-first", "no-thinking", "only-call", "empty", "user", "no-parts"],
)
def test_reordering_leaves_these_alone(message: dict[str, Any]) -> None:
    """S4-23, S4-24; S4-28: where there is no thinking, none is invented."""
    (sent,) = ensure_thinking_block_compliance([message], thinking_first="reorder")
    assert sent is message


@public("library")
@proves("req:S4-25", "req:S4-26", "req:S4-27")
@pytest.mark.parametrize(
    ("parts", "sent"),
    [
        ([text("a"), thinking("x"), CALL], [thinking("x"), text("a"), CALL]),
        ([text("a"), BARE, CALL], [BARE, text("a"), CALL]),
        (
            [text("a"), thinking("x"), text("b"), BARE, CALL, text("c")],
            [thinking("x"), BARE, text("a"), text("b"), CALL, text("c")],
        ),
        ([text("a"), reasoning("x"), CALL], [reasoning("x"), text("a"), CALL]),
    ],
)
def test_as_documented_thinking_comes_first_in_a_message_that_calls_tools(parts: list, sent: list) -> None:
    """S4-25, S4-26, S4-27: the order of the rest is kept, and that of several thinking parts."""
    (message,) = ensure_thinking_block_compliance([assistant(*parts)], thinking_first="reorder")
    assert message["parts"] == sent


@proves("req:S4-30")
@pytest.mark.parametrize("signed", [thinking("x", signature="sig"), reasoning("x", "sig"), REDACTED])
def test_a_message_with_a_signed_block_is_not_reordered(signed: dict[str, Any]) -> None:
    """S4-30: its maker may check what stands before the block. Redacted data is a proof like a signature."""
    message = assistant("a", thinking("y"), signed, CALL)
    (sent,) = ensure_thinking_block_compliance([message], thinking_first="reorder")
    assert sent is message


@proves("req:S4-30")
def test_by_default_nothing_is_moved() -> None:
    """S4-30: a signed block stays where its maker put it."""
    message = assistant("a", thinking("x", signature="sig"), CALL)
    (sent,) = ensure_thinking_block_compliance([message])
    assert sent is message


@proves("req:S4-28")
def test_a_call_without_leading_thinking_is_reported_instead() -> None:
    """S4-28: the parameter is what must change."""
    messages = [user("hi"), assistant("a", CALL), assistant(thinking("x"), CALL), assistant("b"), {"role": "assistant"}]
    assert lacks_leading_thinking(messages) == [1]
