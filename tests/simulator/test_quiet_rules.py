"""Rules of the book that refuse nothing: what the vendor does in silence, seen through the official SDK."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from clew.model.facts import ModelFacts, models
from clew.testing import Simulator
from tests.manifest import accepts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),  # the SDK's, for its own users
]

BINDING = "thinking-binding-controls-2026-08-01"
TOOLS: Any = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}]
SERVED = [row for row in models().values() if row.known and not row.retired]


@pytest.fixture
def client(simulator: Simulator) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=simulator.url, api_key="sim-home-1", max_retries=0) as client:
        yield client


def say(client: anthropic.Anthropic, *messages: Any, model: str = "claude-opus-5-5", **more: Any) -> Any:
    return client.beta.messages.create(model=model, max_tokens=4000, messages=list(messages), **more)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def back(answer: Any) -> dict[str, Any]:
    """The answer as a client returns it."""
    return {"role": "assistant", "content": [block.to_dict() for block in answer.content]}


def result(answer: Any) -> dict[str, Any]:
    [call] = [block for block in answer.content if block.type == "tool_use"]
    return user([{"type": "tool_result", "tool_use_id": call.id, "content": "seen"}])


@accepts("rule:R6")
@pytest.mark.parametrize("row", SERVED, ids=lambda row: row.id)
def test_each_model_says_of_itself_what_the_table_says(client: anthropic.Anthropic, row: ModelFacts) -> None:
    told = client.models.retrieve(row.id).to_dict()
    types = told["capabilities"]["thinking"]["types"]
    assert {name for name, each in types.items() if each["supported"]} == set(row.thinking)
    assert told["max_tokens"] == row.max_tokens
    thinks = "thinking" in {block.type for block in say(client, user("Hello"), model=row.id).content}
    assert thinks == (row.thinking_default != "off")


@accepts("rule:R39")
def test_earlier_thinking_may_come_back_or_be_left_out_between_turns(client: anthropic.Anthropic) -> None:
    first = say(client, user("a"))
    without = {"role": "assistant", "content": [block.to_dict() for block in first.content if block.type == "text"]}
    for history in (back(first), without):
        assert say(client, user("a"), history, user("b")).stop_reason == "end_turn"


@accepts("rule:R40")
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-6", "claude-haiku-4-5"])
def test_the_interleaved_header_is_taken_by_every_model(client: anthropic.Anthropic, model: str) -> None:
    assert say(client, user("a"), model=model, betas=["interleaved-thinking-2025-05-14"]).content


@accepts("rule:R41")
@pytest.mark.parametrize(("first", "then"), [("summarized", "omitted"), ("omitted", "summarized")])
def test_display_may_change_between_turns_and_decides_only_what_is_shown(
    client: anthropic.Anthropic, first: str, then: str
) -> None:
    before = say(client, user("a"), thinking={"type": "adaptive", "display": first})
    after = say(client, user("a"), back(before), user("b"), thinking={"type": "adaptive", "display": then})
    shown = [bool(answer.content[0].thinking) for answer in (before, after)]
    assert shown == [first == "summarized", then == "summarized"]
    assert all(answer.content[0].signature for answer in (before, after))


@accepts("rule:R41")
@pytest.mark.parametrize("prompt", ["Hello", "[[scenario:omitted]] go", "[[scenario:interleaved]] go"])
def test_the_signature_is_the_same_for_every_display(client: anthropic.Anthropic, prompt: str) -> None:
    def proofs(display: str) -> list[str]:
        answer = say(client, user(prompt), tools=TOOLS, thinking={"type": "adaptive", "display": display})
        return [block.signature for block in answer.content if block.type == "thinking"]

    summarized = proofs("summarized")
    assert summarized
    assert proofs("omitted") == summarized


@accepts("rule:R34.text-edited")
def test_text_in_an_omitted_block_is_ignored_until_the_text_was_shown_too(client: anthropic.Anthropic) -> None:
    def ask(display: str) -> Any:
        return say(client, user("a"), thinking={"type": "adaptive", "display": display})

    filled = back(ask("omitted"))
    filled["content"][0]["thinking"] = "Anything."
    assert say(client, user("a"), filled, user("b")).stop_reason == "end_turn"
    assert ask("summarized").content[0].signature == filled["content"][0]["signature"]
    with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
        say(client, user("a"), filled, user("b"))


@accepts("rule:R42")
def test_redacted_thinking_goes_back_as_it_came(client: anthropic.Anthropic) -> None:
    talk = [user("[[scenario:redacted]] go")]
    first = say(client, *talk, tools=TOOLS)
    assert [block.type for block in first.content].count("redacted_thinking") == 2
    talk += [back(first), result(first)]
    second = say(client, *talk, tools=TOOLS)
    assert (second.content[0].type, second.stop_reason) == ("redacted_thinking", "end_turn")


@accepts("rule:R45", "rule:R46")
@pytest.mark.parametrize(
    ("model", "dropped"), [("claude-sonnet-5-5", ["organization_binding_mismatch"]), ("claude-opus-5-5", [])]
)
def test_a_block_of_another_account_is_dropped_by_some_models_and_never_refused(
    client: anthropic.Anthropic, model: str, dropped: list[str]
) -> None:
    first = say(client, user("a"), model=model)
    away = client.with_options(api_key="sim-away-1")
    other = say(away, user("a"), back(first), user("b"), model=model, betas=[BINDING])
    assert other.stop_reason == "end_turn"
    assert [each["reason"] for each in other.to_dict()["input_transformations"]] == dropped


@accepts("rule:R46")
def test_transformations_are_reported_only_with_the_beta(client: anthropic.Anthropic) -> None:
    assert say(client, user("a"), betas=[BINDING]).to_dict()["input_transformations"] == []
    assert "input_transformations" not in say(client, user("a")).to_dict()


@accepts("rule:R47")
def test_a_binding_refusal_has_two_ways_out_and_sending_it_again_is_none(client: anthropic.Anthropic) -> None:
    first = say(client, user("a"))
    edited = [user("another a"), back(first), user("b")]
    for _ in range(2):
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            say(client, *edited)
    drop: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert say(client, *edited, thinking=drop, betas=[BINDING]).stop_reason == "end_turn"
    edited[1]["content"] = [block for block in edited[1]["content"] if block["type"] == "text"]
    assert say(client, *edited).stop_reason == "end_turn"


@accepts("rule:R50")
def test_thinking_switched_off_inside_a_loop_is_no_error_on_newer_models(client: anthropic.Anthropic) -> None:
    first = say(client, user("a"), model="claude-opus-4-8", tools=TOOLS, thinking={"type": "adaptive"})
    assert first.content[0].type == "thinking"
    off = say(
        client, user("a"), back(first), result(first), model="claude-opus-4-8", tools=TOOLS, thinking={"type": "disabled"}
    )
    assert [block.type for block in off.content] == ["text"]


@accepts("rule:R53")
def test_an_edit_that_clears_tool_uses_takes_all_its_fields_and_reports(client: anthropic.Anthropic) -> None:
    first = say(client, user("a"), tools=TOOLS)
    edit: Any = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 1},
        "keep": {"type": "tool_uses", "value": 1},
        "clear_at_least": {"type": "input_tokens", "value": 1},
        "exclude_tools": ["other"],
        "clear_tool_inputs": True,
    }
    talk = [user("a"), back(first), result(first)]
    answer = say(client, *talk, tools=TOOLS, context_management={"edits": [edit]}, betas=["context-management-2025-06-27"])
    assert "context_management" in answer.to_dict()
