"""`format_response`: what an answer says, and when its own blocks are kept."""

from typing import Any

import pytest
from anthropic.types import Message as SdkMessage

from clew import Message, Origin, ToolCall, format_messages, format_response
from clew.errors import BackendBroken
from clew.pipeline.stream.answer import answer_of_message
from tests.build import GLM, redacted, target, text, thinking, tool_use
from tests.chat.said import CALL, R, T, X, answer
from tests.manifest import proves, public
from tests.pipeline.stream.wearing import answer_of


@public("library")
@proves("req:S2-5")
@pytest.mark.parametrize("thought", [T, R, thinking("", "c2ln")])
def test_nothing_but_thinking_says_nothing(thought: Any) -> None:
    """S2-5: "" and not None, which would mean that there is a call."""
    message = format_response(answer(thought))
    assert (message.content, message.tool_calls, message.raw_content) == ("", (), [thought])


@public("library")
@proves("req:S2-6")
def test_texts_are_joined_as_they_are_and_thinking_is_not_among_them() -> None:
    """S2-6: no separator, empty ones skipped."""
    message = format_response(answer(text("One, "), text(""), thinking("secret", "s"), text("two.\n"), text("Three.")))
    assert message.content == "One, two.\nThree."


@public("library")
@proves("req:S2-7")
def test_stop_reason_and_usage_are_kept() -> None:
    """S2-7."""
    usage = {"input_tokens": 3, "output_tokens": 9, "cache_read_input_tokens": 100}
    message = format_response(answer(X, stop_reason="max_tokens", usage=usage))
    assert (message.stop_reason, message.usage) == ("max_tokens", usage)


def test_who_answered_is_noted() -> None:
    assert format_response(answer(X), target=target(GLM)).origin == Origin("glm", "glm", "glm-5", "me")
    assert format_response(answer(X)).origin is None


KEPT = {
    "a tool of the server's": [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, X],
    "citations": [text("a", citations=[{"type": "char_location", "cited_text": "a"}])],
    "text after a call": [CALL, X],
    "a call by a program": [{**CALL, "caller": {"type": "code_execution_20260120", "tool_id": "s1"}}],
    "a type that nobody knows": [{"type": "hologram", "light": 1}, X],
}


@pytest.mark.parametrize("content", KEPT.values(), ids=KEPT)
def test_blocks_are_kept_where_text_and_calls_do_not_say_all(content: list[Any]) -> None:
    """The document's first insight: lose nothing on the way from one form to another."""
    message = format_response(answer(*content))
    assert message.raw_content == content
    assert format_messages([message]) == [{"role": "assistant", "content": content}]


@public("library")
@proves("req:S2-2")
@pytest.mark.parametrize(
    "content",
    [
        [text("a", citations=None), {**CALL, "caller": {"type": "direct"}}],
        [text("a", citations=[]), text("b")],
        [CALL, tool_use("t2")],
        [],
    ],
)
def test_blocks_are_not_kept_where_nothing_is_lost_without_them(content: list[Any]) -> None:
    """S2-2: members that mean what their absence means change nothing."""
    assert format_response(answer(*content)).raw_content is None


def test_the_sdks_message_is_read_with_all_that_it_holds() -> None:
    """Also what this version of the SDK does not know of."""
    given = answer({**T, "new_member": {"a": 1}}, redacted("ZA=="), X, CALL, stop_reason="tool_use")
    message = format_response(SdkMessage.model_validate(given))
    assert message == format_response(given)
    assert message.raw_content == given["content"]


def test_an_answer_that_clew_read_is_one_too() -> None:
    events = (
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
        b'"content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
        b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
        b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n'
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    usage = {"input_tokens": 1, "output_tokens": 2}
    assert format_response(answer_of(events)) == Message(role="assistant", content="Hi", stop_reason="end_turn", usage=usage)
    assert format_response(answer_of_message(answer(T, CALL))) == format_response(answer(T, CALL))


@pytest.mark.parametrize("odd", [{"type": "error", "error": {}}, {"content": "text"}, {}, object(), None, "text"])
def test_what_is_no_answer_is_said_to_be_none(odd: Any) -> None:
    with pytest.raises(BackendBroken, match="not an answer of the Messages API"):
        format_response(odd)


def test_what_is_kept_does_not_hang_on_what_was_given() -> None:
    """Law 1: an app may go on and change the response."""
    given = answer(T, tool_use("t1", path={"dir": "src"}))
    for message in (format_response(given), format_response(answer_of_message(given))):
        before = message.to_json()
        given["content"][1]["input"]["path"]["dir"] += "/b"
        given["usage"]["output_tokens"] += 1
        given["content"].append(CALL)
        assert message.to_json() == before


def test_odd_members_of_a_call_do_no_harm() -> None:
    message = format_response(answer({"type": "tool_use", "id": None, "name": 3}))
    assert message.tool_calls == (ToolCall(id="", name="", arguments="{}"),)
