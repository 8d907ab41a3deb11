"""Blocks of any dialect as the pieces that pages show."""

from typing import Any

import pytest

from clew.model.change import Change
from clew.web.blocks import MOST, ShownBlock, blocks_in, results_in, shown_blocks
from clew.web.client_form import name_of, sent_blocks
from tests.build import text, thinking, tool_result, tool_use


def test_each_block_of_an_answer_is_a_piece_of_its_kind() -> None:
    blocks = [
        thinking("Hm.", "signature"),
        thinking("", "signature"),
        thinking(" ", "clew1.abc"),
        {"type": "redacted_thinking", "data": "xyz"},
        text("Hello"),
        tool_use("toolu_1", town="Oslo"),
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "…"}},
        {"type": "of_tomorrow"},
        {},
    ]
    assert shown_blocks(blocks) == [
        ShownBlock(kind="thinking", text="Hm."),
        ShownBlock(kind="hidden"),
        ShownBlock(kind="hidden", sealed=True),
        ShownBlock(kind="redacted", more=3),
        ShownBlock(kind="text", text="Hello"),
        ShownBlock(kind="call", label=str(blocks[5]["name"]), text='{\n  "town": "Oslo"\n}', call="toolu_1"),
        ShownBlock(kind="call", label="web_search", call="s"),
        ShownBlock(kind="other", label="image, image/png"),
        ShownBlock(kind="other", label="of tomorrow"),
        ShownBlock(kind="other", label="None"),
    ]


def test_what_a_client_puts_in_for_the_model_alone_is_an_aside() -> None:
    reminder = "<system-reminder>\nBe kind.\n</system-reminder>"
    assert [piece.kind for piece in shown_blocks([text(f" {reminder} "), text(f"Well: {reminder}")])] == ["aside", "text"]
    assert [piece.kind for piece in shown_blocks([text("Be quick.")], role="system")] == ["aside"]
    assert [piece.kind for piece in sent_blocks({"role": "system", "content": "Be quick."})] == ["aside"]


def test_a_summary_that_a_line_begins_with_is_an_aside() -> None:
    said = shown_blocks([text('<conversation-summary of="1a">\nThey\nmet.\n</conversation-summary>'), text("And then?")])
    assert [(piece.kind, piece.label) for piece in said] == [
        ("aside", "a summary of the earlier conversation"),
        ("text", ""),
    ]


def test_a_long_text_is_cut_and_says_so() -> None:
    assert shown_blocks([text("a" * (MOST + 7))]) == [ShownBlock(kind="text", text="a" * MOST, more=7)]


def test_a_result_stands_with_its_call_by_the_name_that_the_client_has_for_it() -> None:
    """Makers' own ids need not be unique; what comes back has the client's."""
    asked = [
        {"role": "user", "content": [tool_result("safe_1", "Rain"), tool_result("safe_2", "Hail") | {"is_error": True}]}
    ]
    results = results_in(asked)
    pieces = shown_blocks([tool_use("call_0"), tool_use("call_0")], ["safe_1", "safe_2"], results)
    assert [piece.result for piece in pieces] == [
        ShownBlock(kind="result", text="Rain"),
        ShownBlock(kind="failure", text="Hail"),
    ]


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("Hello", [{"type": "text", "text": "Hello"}]),
        ("", []),
        (None, []),
        (7, []),
        (["bare", {"type": "x"}], [{"type": "text", "text": "bare"}, {"type": "x"}]),
    ],
)
def test_content_may_be_a_mere_text(content: object, blocks: list[object]) -> None:
    assert blocks_in(content) == blocks


def test_a_message_of_the_chat_dialect_has_pieces_too() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"town":"Oslo"}'}}
    message = {"role": "assistant", "reasoning_content": "Hm.", "content": "Hello", "tool_calls": [call, {"odd": 1}, 3]}
    assert sent_blocks(message) == [
        ShownBlock(kind="thinking", text="Hm."),
        ShownBlock(kind="text", text="Hello"),
        ShownBlock(kind="call", label="weather", text='{\n  "town": "Oslo"\n}'),
    ]
    assert sent_blocks({"role": "tool", "content": "Rain"}) == [ShownBlock(kind="result", text="Rain")]


ITEMS: list[tuple[dict[str, Any], str, ShownBlock]] = [
    (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why?"}]},
        "user",
        ShownBlock(kind="text", text="Why?"),
    ),
    (
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        "assistant",
        ShownBlock(kind="text", text="No."),
    ),
    (
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]},
        "reasoning",
        ShownBlock(kind="thinking", text="a\n\nb"),
    ),
    (
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"},
        "reasoning",
        ShownBlock(kind="hidden"),
    ),
    (
        {"type": "function_call", "namespace": "fs", "name": "read", "arguments": '{"a":1}'},
        "function_call",
        ShownBlock(kind="call", label="fs.read", text='{\n  "a": 1\n}'),
    ),
    (
        {"type": "custom_tool_call", "name": "exec", "input": "{ not JSON"},
        "custom_tool_call",
        ShownBlock(kind="call", label="exec", text="{ not JSON"),
    ),
    (
        {"type": "function_call_output", "output": [{"type": "input_text", "text": "done"}]},
        "function_call_output",
        ShownBlock(kind="result", text="done"),
    ),
    (
        {"type": "custom_tool_call_output", "output": "done"},
        "custom_tool_call_output",
        ShownBlock(kind="result", text="done"),
    ),
    ({"type": "item_reference", "id": "rs_1"}, "item_reference", ShownBlock(kind="other", label="item reference")),
]


@pytest.mark.parametrize(("item", "name", "shown"), ITEMS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_item_of_the_responses_api_is_shown_as_what_it_is(item: dict[str, Any], name: str, shown: ShownBlock) -> None:
    assert (name_of(item), sent_blocks(item)) == (name, [shown])


def test_reasoning_that_is_there_and_empty_is_said_to_be() -> None:
    assert sent_blocks({"role": "assistant", "reasoning_content": "", "content": "Hello"}) == [
        ShownBlock(kind="other", label="reasoning_content is there, and empty"),
        ShownBlock(kind="text", text="Hello"),
    ]


def test_reasoning_details_and_broken_arguments_are_shown_as_they_are() -> None:
    message = {
        "role": "assistant",
        "reasoning_details": [{"type": "reasoning.encrypted"}],
        "tool_calls": [{"function": {"name": "f", "arguments": '{"half'}}],
    }
    thought, call = sent_blocks(message)
    assert (thought.kind, "reasoning.encrypted" in thought.text, call.text) == ("thinking", True, '{"half')


@pytest.mark.parametrize(
    ("path", "fate"), [("messages.1.content.0", "left-out"), ("messages.1.content.0.caller", "altered"), ("", "")]
)
def test_a_block_is_left_out_only_as_a_whole(path: str, fate: str) -> None:
    changes = (Change("thinking", path, "left out", "why"),) if path else ()
    assert ShownBlock(kind="call", changes=changes).fate == fate


def test_what_a_vendors_own_tool_gave_is_shown_as_a_value() -> None:
    found = [{"type": "web_search_result", "url": "https://example.org"}]
    pieces = shown_blocks([{"type": "web_search_tool_result", "tool_use_id": "s", "content": found}])
    assert [(piece.kind, "https://example.org" in piece.text) for piece in pieces] == [("result", True)]
    failed = {
        "type": "web_search_tool_result",
        "content": {"type": "web_search_tool_result_error", "error_code": "too_many"},
    }
    assert "too_many" in shown_blocks([failed])[0].text
