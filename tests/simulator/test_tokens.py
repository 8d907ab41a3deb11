"""Counting: by hand, the same for every form of the same prompt."""

from typing import Any

from clew.simulator.values import Segment, segments, tokens_of_json, tokens_of_text


def cost(request: Any) -> int:
    return sum(segment.tokens for segment in segments(request))


def test_four_bytes_are_a_token() -> None:
    assert [tokens_of_text(text) for text in ("", "a", "abcd", "abcde", "ääää", "\ud800")] == [0, 1, 1, 2, 2, 1]
    assert tokens_of_json({"a": 1}) == 2


def test_a_prompt_is_its_tools_system_and_messages_in_this_order() -> None:
    request: Any = {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "ho", "cache_control": {"type": "ephemeral"}}]},
        ],
        "system": "sys",
        "tools": [{"name": "t"}],
        "metadata": {"ignored": True},
    }
    assert list(segments(request)) == [
        Segment("tools.0", "tools", {"name": "t"}, None),
        Segment("system.0", "system", {"type": "text", "text": "sys"}, None),
        Segment("messages.0.content.0", "user", {"type": "text", "text": "hi"}, None),
        Segment("messages.1.content.0", "assistant", {"type": "text", "text": "ho"}, {"type": "ephemeral"}),
    ]
    assert [segment.tokens for segment in segments(request)] == [3, 1, 1, 1]


def test_a_plain_text_costs_its_words_and_a_deferred_tool_nothing() -> None:
    plain: Any = {"messages": [{"role": "user", "content": "12345678"}]}
    assert cost(plain) == 2
    assert cost({**plain, "tools": [{"name": "t", "defer_loading": True}]}) == 2


def test_content_as_a_string_costs_what_one_text_block_costs() -> None:
    as_text: Any = {"messages": [{"role": "user", "content": "hello"}]}
    as_list: Any = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]}
    assert cost(as_text) == cost(as_list)


def test_a_file_costs_a_constant_also_inside_a_tool_result() -> None:
    def image(size: int) -> Any:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * size}}

    assert tokens_of_json(image(10)) == tokens_of_json(image(4_000_000)) > 1500
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image(4_000_000), {"type": "text", "text": "a"}]}
    assert 1500 < tokens_of_json(result) < 1600


def test_what_is_no_request_costs_nothing() -> None:
    odd: Any = {"messages": "x", "tools": 3, "system": None}
    assert cost(odd) == 0
