"""Recovery: a conversation that broke off in the middle of a tool loop can go on."""

import pytest

from clew import Message, ToolCall, check, format_messages, format_response, recovered
from clew.chat import without_calls
from tests.build import raw, text, thinking, tool_use
from tests.chat.said import CALL, T2, R, T, X, answer
from tests.manifest import proves, public

ASKED = Message(role="user", content="Look for it.")
SECOND = tool_use("toolu_2", "list")


def result(id: str = "toolu_1") -> Message:
    return Message(role="tool", content="here", tool_call_id=id)


@proves("req:S2-16", "req:C17")
def test_a_call_that_is_removed_is_removed_from_raw_content_too() -> None:
    """S2-16: the other call and everything else stay."""
    message = format_response(answer(T, X, CALL, SECOND))
    corrected = without_calls(message, ["toolu_1"])
    assert corrected.tool_calls == (ToolCall("toolu_2", "list", "{}"),)
    assert corrected.raw_content == [T, X, SECOND]
    assert message.raw_content == [T, X, CALL, SECOND]


def test_a_call_that_only_raw_content_knows_is_removed_as_well() -> None:
    assert without_calls(Message(role="assistant", raw_content=[X, CALL]), ["toolu_1"]).raw_content == [X]


def test_a_message_without_these_calls_is_the_same() -> None:
    message = format_response(answer(X, T))
    assert without_calls(message, ["toolu_1"]) is message
    assert without_calls(ASKED, ["toolu_1"]) is ASKED


@proves("req:S2-16")
def test_thinking_that_led_to_a_removed_call_alone_goes_with_it() -> None:
    """S2-16: an answer may not end in thinking (R37)."""
    assert without_calls(format_response(answer(T, X, R, T2, CALL)), ["toolu_1"]).raw_content == [T, X]


@public("library")
@proves("req:S2-16")
def test_a_crash_between_call_and_result_leaves_a_conversation_that_is_legal_again() -> None:
    """S2-16: one of two calls was answered before the crash; then the user came back."""
    broken = [ASKED, format_response(answer(T, X, CALL, SECOND)), result(), ASKED]
    corrected = recovered(broken)
    assert [message.raw_content for message in corrected] == [None, [T, X, CALL], None, None]
    assert check(raw(*format_messages(corrected), thinking={"type": "adaptive"})) == ()
    assert check(raw(*format_messages(broken), thinking={"type": "adaptive"})) != ()


@pytest.mark.parametrize("last", [(T, CALL), (CALL,), (T, CALL, SECOND)])
def test_an_answer_of_nothing_but_lost_calls_is_left_out(last: tuple[dict[str, object], ...]) -> None:
    assert recovered([ASKED, format_response(answer(*last)), ASKED]) == [ASKED, ASKED]


def test_a_result_that_answers_no_call_is_left_out() -> None:
    called = format_response(answer(CALL))
    assert recovered([ASKED, result(), called, result(), result("toolu_9"), ASKED]) == [ASKED, called, result(), ASKED]


def test_a_result_that_comes_too_late_answers_nothing() -> None:
    """The API wants it in the message right after the call (R26)."""
    called = format_response(answer(X, CALL))
    assert recovered([ASKED, called, ASKED, result()]) == [ASKED, without_calls(called, ["toolu_1"]), ASKED]


def test_a_whole_conversation_is_left_alone() -> None:
    whole = [ASKED, format_response(answer(T, CALL, SECOND)), result("toolu_2"), result(), format_response(answer(T2, X))]
    assert all(after is before for after, before in zip(recovered(whole), whole, strict=True))


def test_thinking_alone_is_something_that_was_said() -> None:
    """An answer that was stopped by its limit has no call that was lost: it stays."""
    only = format_response(answer(thinking("Hm.", "s")))
    assert recovered([ASKED, only, Message(role="user", raw_content=[text("Go on.")])])[1] is only
