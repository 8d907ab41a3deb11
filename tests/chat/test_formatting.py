"""`format_messages`: what is kept, as a model gets it."""

import copy
import logging
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import Change, Message, ToolCall, format_messages, format_response, format_system, formatted, profile_for
from clew.errors import RequestInvalid
from clew.pipeline.step import CacheRules
from tests.build import GLM, OPUS, SONNET, assistant, system, target, text, thinking, tool_result, tool_use, user
from tests.chat.said import CALL, T2, R, T, X, answer
from tests.counts import examples
from tests.manifest import proves, public

MARK = {"type": "ephemeral"}
ASKED = Message(role="user", content="Look for it.")
CALLED = format_response(answer(T, CALL), target=target(OPUS))
RESULT = Message(role="tool", content="here", tool_call_id="toolu_1")
FOUND = format_response(answer(T2, X), target=target(OPUS))


@public("library")
@proves("req:S2-10")
@pytest.mark.parametrize("raw", ["text", {"type": "text"}, 3, True, None, []])
def test_raw_content_that_is_no_list_of_blocks_counts_as_absent(raw: Any) -> None:
    """S2-10."""
    assert format_messages([Message(role="assistant", content="a", raw_content=raw)]) == [
        {"role": "assistant", "content": "a"}
    ]


@public("library")
@proves("req:S2-12")
def test_a_tools_message_is_a_users_with_its_result() -> None:
    """S2-12: under its id; results in a row are one message."""
    second = Message(role="tool", content="no such file", tool_call_id="toolu_2", is_error=True)
    assert format_messages([RESULT, second, ASKED]) == [
        user(tool_result("toolu_1", "here"), tool_result("toolu_2", "no such file", is_error=True)),
        user("Look for it."),
    ]


def test_a_user_and_a_tool_may_bring_more_than_text() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/1.png"}}
    given = [
        Message(role="user", content="seen", raw_content=[picture, text("What is it?")]),
        Message(role="tool", content="a picture", tool_call_id="t1", raw_content=[picture]),
    ]
    assert format_messages(given) == [user(picture, "What is it?"), user(tool_result("t1", [picture]))]


def test_system_messages_at_the_beginning_are_for_the_system_prompt_and_later_ones_stay() -> None:
    first, second = Message(role="system", content="Be brief."), Message(role="system", content="Be kind.")
    given = [first, Message(role="system"), second, ASKED, Message(role="system", content="Be done.")]
    assert format_messages(given) == [user("Look for it."), system("Be done.")]
    assert format_system(given) == "Be brief.\n\nBe kind."
    assert format_system([ASKED, first]) == ""


def test_an_answer_that_said_nothing_is_sent_as_the_documented_filler() -> None:
    assert format_messages([Message(role="assistant", content="")]) == [
        assistant(text("[No message content]", citations=[]))
    ]


# ── cache marks


@public("library")
@proves("req:S2-13", "req:C18")
def test_the_last_two_messages_are_marked_raw_content_too() -> None:
    """S2-13: the call carries the mark, the thinking before it never does."""
    sent = format_messages([ASKED, CALLED, RESULT], cache=True)
    assert sent == [
        user("Look for it."),
        assistant(T, {**CALL, "cache_control": MARK}),
        user(tool_result("toolu_1", "here", cache_control=MARK)),
    ]


@proves("req:S2-13", "req:C18")
def test_a_mark_goes_to_the_nearest_block_that_can_carry_one() -> None:
    """S2-13, C18: before thinking at the end, and no breakpoint is lost."""
    ends_in_thinking = Message(role="assistant", raw_content=[X, T])
    assert format_messages([ASKED, ends_in_thinking], cache=CacheRules(ttl="1h")) == [
        user(text("Look for it.", cache_control={"type": "ephemeral", "ttl": "1h"})),
        assistant({**X, "cache_control": {"type": "ephemeral", "ttl": "1h"}}, T),
    ]


@public("library")
@proves("req:S2-13", "req:C18")
def test_marks_are_put_on_a_copy() -> None:
    """S2-13: what is kept has none, before and after, and shares nothing with what is sent."""
    kept = [ASKED, CALLED, RESULT, FOUND]
    before = copy.deepcopy(kept)
    sent = format_messages(kept, cache=True)
    for message in sent:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block["spoilt"] = True
    assert kept == before


# ── arguments


BROKEN = ['{"path": "a', "[1, 2]", "3", "null", '{"a": NaN}', "rm -rf /", "[" * 100_000]


@public("library")
@proves("req:S2-14")
@pytest.mark.parametrize("arguments", BROKEN)
def test_arguments_that_are_no_json_object_become_an_empty_one_with_a_warning(
    arguments: str, caplog: pytest.LogCaptureFixture
) -> None:
    """S2-14: a run goes on, and somebody can read why."""
    kept = [ASKED, Message(role="assistant", tool_calls=(ToolCall("t1", "ok"), ToolCall("t2", "read", arguments)))]
    with caplog.at_level(logging.WARNING, "clew.chat"):
        assert format_messages(kept)[1] == assistant(tool_use("t1", "ok"), tool_use("t2", "read"))
    (record,) = caplog.records
    assert record.getMessage().startswith("messages.1.tool_calls.1.arguments: the arguments of read are no")
    assert [change.path for change in formatted(kept).changes] == ["messages.1.tool_calls.1.arguments"]


@public("library")
@proves("req:S2-14")
@pytest.mark.parametrize("arguments", BROKEN)
def test_or_raise_a_clear_error_if_that_is_asked_for(arguments: str) -> None:
    """S2-14: which message, which call, which tool."""
    kept = [ASKED, Message(role="assistant", tool_calls=(ToolCall("t1", "read", arguments),))]
    with pytest.raises(
        RequestInvalid, match=r"messages\.1\.tool_calls\.0\.arguments: the arguments of read are no"
    ) as error:
        format_messages(kept, strict=True)
    assert error.value.path == "messages.1.tool_calls.0.arguments"


@pytest.mark.parametrize("arguments", ["", "  ", "{}", "\n{ }"])
def test_a_call_without_arguments_is_no_reason_to_warn(arguments: str) -> None:
    kept = [Message(role="assistant", tool_calls=(ToolCall("t1", "now", arguments),))]
    assert formatted(kept, strict=True).messages == [assistant(tool_use("t1", "now"))]
    assert formatted(kept).changes == ()


# ── another reader


THOUGHT_ELSEWHERE = format_response(answer(thinking("In my head.", "glm-signature"), X, CALL), target=target(GLM))


@public("library")
@proves("req:S2-17", "req:C17")
def test_raw_content_of_one_backend_is_projected_for_another() -> None:
    """S2-17: the thinking stays out, the rest goes, and the change says who made it."""
    kept = [ASKED, THOUGHT_ELSEWHERE, RESULT]
    done = formatted(kept, target=target(OPUS))
    assert done.messages == [user("Look for it."), assistant(X, CALL), user(tool_result("toolu_1", "here"))]
    assert done.changes == (Change("thinking", "messages.1.content.0", "left out", "made by glm"),)
    assert THOUGHT_ELSEWHERE.raw_content == [thinking("In my head.", "glm-signature"), X, CALL]


@public("library")
@proves("req:S2-17", "req:C17")
def test_raw_content_goes_back_to_its_maker_untouched() -> None:
    """S2-17: signed by whatever the vendor signs with, or by nothing."""
    unsigned = format_response(answer(thinking("Hm.", ""), X), target=target(GLM))
    kept = [ASKED, THOUGHT_ELSEWHERE, RESULT, unsigned, ASKED]
    done = formatted(kept, target=target(GLM))
    assert done.messages == format_messages(kept)
    assert done.changes == ()


@public("library")
@proves("req:S2-17")
def test_a_thought_is_handed_over_as_text_where_the_target_says_so() -> None:
    """S2-17: the target's policy, not the library's."""
    sent = format_messages([ASKED, THOUGHT_ELSEWHERE, RESULT], target=target(OPUS, foreign="text"))
    assert sent[1] == assistant("In my head.", X, CALL)


@public("library")
@proves("req:S2-17")
def test_models_of_one_realm_get_each_others_blocks() -> None:
    """S2-17: whether it reads them is the vendor's to say; leaving some out would spoil those after them."""
    kept = [ASKED, CALLED, RESULT, FOUND, ASKED]
    assert format_messages(kept, target=target(SONNET)) == format_messages(kept)


@public("library")
@proves("req:S2-17")
def test_what_nobody_knows_the_maker_of_goes_to_claude_if_it_is_signed_and_to_nobody_else() -> None:
    """S2-17: only Claude checks what it gets; everybody else would believe it."""
    kept = [ASKED, format_response(answer(T, X)), ASKED, format_response(answer(thinking("Hm.", ""), X)), ASKED]
    to_claude = [message["content"] for message in format_messages(kept, target=target(OPUS))]
    to_glm = [message["content"] for message in format_messages(kept, target=target(GLM))]
    assert (to_claude[1], to_claude[3]) == ([T, X], [X])
    assert (to_glm[1], to_glm[3]) == ([X], [X])


def test_calls_without_a_result_are_answered_for_a_target() -> None:
    """What would be refused is corrected by the projection; without a target, it goes as it is."""
    kept = [ASKED, CALLED, ASKED]
    assert [message["role"] for message in format_messages(kept)] == ["user", "assistant", "user"]
    sent = format_messages(kept, target=target(OPUS))
    (result, _) = (block for message in sent[2:] for block in message["content"])
    assert (result["type"], result["tool_use_id"], result["is_error"]) == ("tool_result", "toolu_1", True)


def test_system_messages_are_folded_for_a_target_that_has_none() -> None:
    kept = [ASKED, Message(role="system", content="Be done.")]
    (only,) = format_messages(kept, target=target(OPUS, profile=profile_for("claude-sonnet-4-5")))
    assert only["content"][-1]["text"] == "<system-message>\nBe done.\n</system-message>"


# ── laws


def noted(content: list[Any], maker: Any) -> Message:
    return format_response(answer(*content), target=target(maker) if maker else None)


said = st.lists(
    st.sampled_from([T, T2, R, X, thinking("Hm.", ""), text("And."), thinking("", "c2ln")]), min_size=1, max_size=5
)
answers = st.builds(noted, said.map(lambda blocks: [*blocks, X]), st.sampled_from([OPUS, SONNET, GLM, None]))
talks = st.lists(answers, min_size=1, max_size=6).map(lambda given: [each for one in given for each in (ASKED, one)])
readers = st.sampled_from([target(OPUS), target(SONNET), target(GLM), target(GLM, foreign="text"), None])


def is_thought(block: Any) -> bool:
    return isinstance(block, dict) and block["type"].endswith("thinking")


@public("library")
@proves("req:C14", "req:C15", "req:C16")
@settings(max_examples=examples(48, soak=4000))
@given(talks, readers)
def test_thinking_goes_as_it_came_in_its_order_or_not_at_all(kept: list[Message], reader: Any) -> None:
    """C14, C15, C16: none is moved, none invented, none made from what was shown."""
    sent = format_messages([*kept, ASKED], target=reader)
    for message, going in zip(kept[1::2], sent[1::2], strict=True):
        left = iter(message.raw_content or ())
        assert all(block in left for block in going["content"] if is_thought(block))


@public("library")
@proves("req:C17")
@settings(max_examples=examples(48, soak=4000))
@given(talks, readers)
def test_what_a_reader_gets_only_ever_grows(kept: list[Message], reader: Any) -> None:
    """Law 3: a conversation that goes on is sent as one that goes on."""
    done = [format_messages([*kept[:end], ASKED], target=reader) for end in range(0, len(kept) + 1, 2)]
    for shorter, longer in pairwise(done):
        assert longer[: len(shorter)] == shorter
