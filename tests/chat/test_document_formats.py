"""The tests that the founding document lists for its provider, under its names: raw content in, raw content out."""

from clew import Message, ToolCall, extract_thinking_blocks, format_messages, format_response
from tests.build import thinking, tool_use
from tests.chat.said import CALL, T2, R, T, X, answer
from tests.manifest import proves, public

# ── formatResponse - thinking block preservation


@public("library")
@proves("req:S2-1")
def test_preserves_thinking_blocks_in_raw_content_when_present() -> None:
    """S2-1: equal to the API's content, signature and order included."""
    message = format_response(answer(T, X))
    assert (message.role, message.content, message.raw_content) == ("assistant", "I found it.", [T, X])


@public("library")
@proves("req:S2-2")
def test_does_not_add_raw_content_when_no_thinking_blocks() -> None:
    """S2-2: neither with text alone nor with text and a call."""
    assert "raw_content" not in format_response(answer(X)).to_json()
    assert "raw_content" not in format_response(answer(X, CALL)).to_json()


@public("library")
@proves("req:S2-3")
def test_preserves_redacted_thinking_blocks() -> None:
    """S2-3: with their data."""
    assert format_response(answer(R, X)).raw_content == [{"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}, X]


@public("library")
@proves("req:S2-4")
def test_preserves_thinking_blocks_with_tool_calls() -> None:
    """S2-4: no text, a call with its arguments as JSON, all blocks."""
    message = format_response(answer(T, CALL))
    assert message.content is None
    assert message.tool_calls == (ToolCall(id="toolu_1", name="read_file", arguments='{"path": "src/a.py"}'),)
    assert message.raw_content == [T, CALL]


# ── formatMessagesWithCaching - raw_content usage


@public("library")
@proves("req:S2-8")
def test_uses_raw_content_for_assistant_messages_when_available() -> None:
    """S2-8: whatever `content` and `tool_calls` say."""
    kept = Message(role="assistant", content="Something else.", tool_calls=(ToolCall("t9", "other"),), raw_content=[T, X])
    assert format_messages([kept]) == [{"role": "assistant", "content": [T, X]}]


@public("library")
@proves("req:S2-9")
def test_reconstructs_content_from_tool_calls_when_raw_content_not_available() -> None:
    """S2-9: text first if there is any, arguments parsed."""
    calls = (ToolCall("t1", "read_file", '{"path": "a"}'), ToolCall("t2", "list"))
    rebuilt = [tool_use("t1", "read_file", path="a"), tool_use("t2", "list")]
    assert format_messages([Message(role="assistant", content="I found it.", tool_calls=calls)]) == [
        {"role": "assistant", "content": [X, *rebuilt]}
    ]
    assert format_messages([Message(role="assistant", tool_calls=calls)]) == [{"role": "assistant", "content": rebuilt}]


@public("library")
@proves("req:S2-11")
def test_preserves_raw_content_with_multiple_thinking_blocks() -> None:
    """S2-11: interleaved, in order."""
    kept = format_response(answer(T, CALL, T2, X))
    assert format_messages([kept]) == [{"role": "assistant", "content": [T, CALL, T2, X]}]


# ── extractThinkingBlocks


@public("library")
@proves("req:S2-18")
def test_extracts_thinking_blocks_from_content() -> None:
    """S2-18: the text, without the signature."""
    assert extract_thinking_blocks([T, X]) == [{"type": "thinking", "content": "Let me look around."}]


@public("library")
@proves("req:S2-19")
def test_extracts_redacted_thinking_blocks() -> None:
    """S2-19: no content."""
    assert extract_thinking_blocks([R, X]) == [{"type": "redacted_thinking"}]


@public("library")
@proves("req:S2-20")
def test_returns_empty_array_when_no_thinking_blocks() -> None:
    """S2-20: nor for what is no list of blocks."""
    assert extract_thinking_blocks([X, CALL]) == []
    assert [extract_thinking_blocks(none) for none in (None, "thinking", {"type": "thinking"}, [None, 3])] == [[]] * 4


@public("library")
@proves("req:S2-21")
def test_extracts_multiple_thinking_blocks() -> None:
    """S2-21: in order."""
    assert extract_thinking_blocks([T, CALL, R, thinking("Done.", "s"), X]) == [
        {"type": "thinking", "content": "Let me look around."},
        {"type": "redacted_thinking"},
        {"type": "thinking", "content": "Done."},
    ]
