"""The documents' request builder on plain values: history, order of steps, and what is in the payload."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import (
    BudgetEvent,
    BudgetRules,
    BuiltRequest,
    CacheRules,
    Change,
    ClewError,
    RequestParts,
    TrailingThinking,
    build_request,
    filter_trailing_thinking,
    is_thinking_block,
    normalise_messages,
)
from tests.build import assistant, redacted, text, thinking, tool_result, tool_use, user
from tests.counts import examples
from tests.manifest import proves, public

T, R = thinking("hmm", "sig=="), redacted("abc")
FILLER = {"type": "text", "text": "[No message content]", "citations": []}


def said(*content: Any, uuid: str = "u-1") -> dict[str, Any]:
    """An assistant message in a client's envelope."""
    inner = {"role": "assistant", "content": list(content), "id": "msg_1", "model": "claude-x", "usage": {"input_tokens": 3}}
    return {"type": "assistant", "uuid": uuid, "message": inner, "requestId": "req_1"}


def asked(content: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": "u-0", "message": {"role": "user", "content": content}}


def built(*messages: dict[str, Any], **more: Any) -> BuiltRequest[dict[str, Any]]:
    fields = {"model": "claude-sonnet-4-5", "max_tokens": 64000, "system": "be kind", "cache": CacheRules(off=True)}
    return build_request(RequestParts(messages=messages, **(fields | more)), send=lambda body: body)


@public("library")
@proves("req:S0-1")
def test_every_block_is_in_the_payload_in_order_and_with_its_fields() -> None:
    """S0-1: all five types."""
    content = [T, R, text("a", citations=[]), tool_use("t1", path="x"), text("b")]
    history = [asked("hi"), said(*content), asked([tool_result("t1", "ok", is_error=False)])]
    assert built(*history).body["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [tool_result("t1", "ok", is_error=False)]},
    ]


blocks = st.sampled_from([T, R, text("a"), tool_use("t1", a=[1, {"b": 2}]), tool_result("t1", [text("x")])])
messages_of = st.lists(
    st.one_of(
        st.builds(lambda content: said(*content), st.lists(blocks, max_size=5)),
        st.builds(lambda content: assistant(*content), st.lists(blocks, max_size=5)),
        st.builds(asked, st.lists(blocks, max_size=3) | st.just("words")),
    ),
    max_size=6,
)


@public("library")
@proves("req:S0-2", "req:C22")
@settings(max_examples=examples(48, soak=4000))
@given(messages_of)
def test_normalising_shares_nothing_with_the_history_and_leaves_it_alone(messages: list) -> None:
    """S0-2: deep compare, and no mutable object in common."""
    before = copy.deepcopy(messages)
    result, _ = normalise_messages(messages)
    assert messages == before
    assert _mutable(messages).isdisjoint(_mutable(result))


def _mutable(value: Any) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*(_mutable(each) for each in value.values()))
    return {id(value)}.union(*(_mutable(each) for each in value)) if isinstance(value, list) else set()


@public("library")
@proves("req:S0-2")
@settings(max_examples=examples(24, soak=2000))
@given(messages_of)
def test_filtering_is_idempotent_and_shortens_only_the_last_message(messages: list) -> None:
    once, _ = filter_trailing_thinking(messages)
    assert filter_trailing_thinking(once) == (once, None)
    assert once[:-1] == messages[:-1]


@public("library")
@proves("req:S0-3", "req:S0-4", "req:S0-5", "req:S0-10", "req:S0-11", "req:S0-14")
@pytest.mark.parametrize(
    "messages",
    [
        [],
        [said(T), asked("hi")],
        [asked("hi"), said(T, text("a"))],
        [asked("hi"), said()],
        [asked("hi"), said(text("a"), T), asked("more"), said(text("b"))],
        [asked("hi"), said(T, text("a")), asked("more")],
        [user("hi"), assistant(T, text("a"))],
        [asked("hi"), {"type": "assistant", "message": {"content": "a string"}}],
        [{"type": "assistant"}],
    ],
    ids=["empty-list", "user-last", "text-last", "empty-content", "earlier", "middle", "bare", "string", "no-message"],
)
def test_without_trailing_thinking_the_list_is_the_same_and_there_is_no_event(messages: list) -> None:
    """S0-3, S0-4, S0-5, S0-10, S0-11, S0-14."""
    result, event = filter_trailing_thinking(messages)
    assert result is messages
    assert event is None
    assert normalise_messages(messages) == (messages, None)


@public("library")
@proves("req:S0-6", "req:S0-7", "req:S0-8", "req:S0-9")
@pytest.mark.parametrize(
    ("content", "kept", "removed"),
    [
        ([T, text("a"), tool_use("t1"), T, T], [T, text("a"), tool_use("t1")], 2),
        ([text("a"), R], [text("a")], 1),
        ([text("a"), T, R, T], [text("a")], 3),
        ([T, T], [], 2),
        ([R], [], 1),
    ],
)
def test_trailing_thinking_is_removed_and_counted(content: list, kept: list, removed: int) -> None:
    """S0-6 … S0-9: one event with uuid and both counts; the filler where nothing is left."""
    result, event = filter_trailing_thinking([asked("hi"), said(*content)])
    assert result == [asked("hi"), said(*(kept or [FILLER]))]
    assert event == TrailingThinking("u-1", removed, len(kept))
    names = {"messageUUID": "u-1", "blocksRemoved": removed, "remainingBlocks": len(kept)}
    assert msgspec.to_builtins(event) == names


@public("library")
@proves("req:S0-12")
def test_every_other_field_of_a_filtered_message_is_kept() -> None:
    """S0-12: uuid, id, model, usage and the rest; in an envelope or bare."""
    given = said(text("a"), T) | {"isSidechain": False, "parentUuid": None}
    result, _ = filter_trailing_thinking([given])
    assert result == [given | {"message": given["message"] | {"content": [text("a")]}}]
    bare = assistant(T) | {"id": "msg_1", "usage": {"x": 1}}
    assert filter_trailing_thinking([bare]) == ([bare | {"content": [FILLER]}], TrailingThinking(None, 1, 0))


@public("library")
@proves("req:S0-13")
@pytest.mark.parametrize(
    ("block", "is_thinking"),
    [
        ({"type": "thinking"}, True),
        ({"type": "redacted_thinking"}, True),
        ({"type": "text"}, False),
        ({"type": "tool_use"}, False),
        ({"type": "tool_result"}, False),
        ({"type": "hologram"}, False),
        ({}, False),
        ({"type": None}, False),
        ({"type": ["thinking"]}, False),
        (None, False),
        ("thinking", False),
    ],
)
def test_only_the_two_types_are_thinking(block: Any, is_thinking: bool) -> None:
    """S0-13: no exception for anything."""
    assert is_thinking_block(block) is is_thinking


@public("library")
@proves("req:S0-14", "req:S0-21")
@pytest.mark.parametrize("words", ['with "quotes"', "new\nlines\r\n", "😀", "lone \ud800 surrogate", ""])
def test_thinking_in_the_middle_goes_with_text_and_signature_intact(words: str) -> None:
    """S0-14, S0-21: also through normalising and marking."""
    block = thinking(words, "sig/+==")
    history = [asked("hi"), said(block, text("a")), asked("more")]
    sent = built(*history, cache=CacheRules()).body["messages"]
    assert sent[1]["content"][0] == block


@public("library")
@proves("req:S0-43")
def test_a_block_that_compaction_kept_goes_whole_and_one_that_it_dropped_is_gone_whole() -> None:
    """S0-43: never a text without its signature, nor a signature without its text."""
    kept = built(asked("Summary."), said(T, text("a")), asked("go on")).body["messages"]
    dropped = built(asked("Summary."), said(text("a")), asked("go on")).body["messages"]
    assert kept[1]["content"] == [T, text("a")]
    assert "sig" not in str(dropped)


@public("library")
@proves("req:S0-51")
def test_the_steps_run_in_the_documented_order() -> None:
    """S0-51: budget → normalise → cache → build → send, and the sender gets what was built."""
    calls: list[Any] = []
    result = build_request(RequestParts(model="m", messages=[asked("hi")], max_tokens=10), send=calls.append)
    assert result.trace == ("budget", "normalise", "cache", "build", "send")
    assert calls == [result.body]
    assert result.answer is None


@public("library")
@proves("req:S0-52", "req:S0-36")
def test_the_payload_has_its_four_fields_and_the_others_only_if_defined() -> None:
    """S0-52."""
    plain = built(asked("hi"))
    assert plain.body == {
        "model": "claude-sonnet-4-5",
        "system": "be kind",
        "messages": [user("hi")],
        "max_tokens": 64000,
    }
    assert plain.betas == ()
    full = built(asked("ultrathink"), preserve_thinking=True, tools=[{"name": "Bash"}])
    assert full.body == plain.body | {
        "messages": [user("ultrathink")],
        "tools": [{"name": "Bash"}],
        "thinking": {"type": "enabled", "budget_tokens": 31999},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    }
    assert full.betas == ("context-management-2025-06-27",)


@public("library")
@proves("req:S0-29", "req:S0-6")
def test_events_come_back_in_the_order_of_the_steps() -> None:
    """S0-29, S0-6: returned, not logged."""
    result = built(asked("hi"), said(T), budget=BudgetRules(variable="50000"))
    assert result.events == (BudgetEvent("anthropic", 50000), TrailingThinking("u-1", 1, 0))
    assert result.body["thinking"] == {"type": "enabled", "budget_tokens": 50000}
    assert result.warnings == ()


@public("library")
@proves("req:S0-30", "req:S0-31", "req:S0-32", "req:S0-36")
@pytest.mark.parametrize(("variable", "warnings"), [("0", 0), ("-5", 0), ("abc", 1)])
def test_without_a_budget_there_is_no_thinking_key(variable: str, warnings: int) -> None:
    """S0-30, S0-31, S0-32, S0-36: absent, not null."""
    result = built(asked("ultrathink"), budget=BudgetRules(variable=variable), preserve_thinking=True)
    assert "thinking" not in result.body
    assert "context_management" not in result.body
    assert len(result.warnings) == warnings
    assert result.events == ()


@public("library")
@proves("req:S0-37", "req:S0-38")
@pytest.mark.parametrize(
    ("model", "max_tokens", "sent", "changes"),
    [
        ("claude-sonnet-4-5", 8000, {"thinking": {"type": "enabled", "budget_tokens": 6976}}, 1),
        ("claude-sonnet-4-5", 64000, {"thinking": {"type": "enabled", "budget_tokens": 31999}}, 0),
        ("claude-opus-5-5", 64000, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}, 2),
        ("claude-sonnet-4-5", 500, {"thinking": {"type": "disabled"}}, 1),
        ("some-other-model", 64000, {"thinking": {"type": "enabled", "budget_tokens": 31999}}, 0),
    ],
)
def test_the_budget_is_fitted_to_the_model(model: str, max_tokens: int, sent: dict[str, Any], changes: int) -> None:
    """S0-37, S0-38: and each change is said once."""
    result = built(asked("ultrathink"), model=model, max_tokens=max_tokens)
    assert {key: result.body[key] for key in ("thinking", "output_config") if key in result.body} == sent
    assert len(result.changes) == changes
    assert all(isinstance(change, Change) for change in result.changes)


@public("library")
@proves("req:S0-15", "req:S0-24")
def test_marks_in_tools_and_system_count() -> None:
    """S0-24: at most four in the whole request."""
    mark = {"cache_control": {"type": "ephemeral"}}
    history = [asked("a"), said(text("b")), asked("c")]
    result = built(
        *history,
        cache=CacheRules(),
        system=[text("s", **mark), text("t")],
        tools=[{"name": "x"} | mark, {"name": "y"} | mark],
    )
    assert str(result.body).count("cache_control") == 4
    assert result.body["messages"] == [user("a"), assistant(text("b")), user(text("c", **mark))]


def test_a_history_that_is_nested_too_deeply_is_refused_in_words() -> None:
    """No crash of the process for ten thousand levels."""
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(ClewError, match="nested too deeply"):
        normalise_messages([asked(deep)])


@public("library")
@proves("req:S0-24", "req:S0-23")
def test_of_marks_in_tools_and_system_the_last_four_stay_and_none_where_marks_are_off() -> None:
    """S0-24: each that goes is a change; S0-23: off means no marks at all."""
    mark = {"cache_control": {"type": "ephemeral"}}
    parts = {"tools": [{"name": "x"} | mark, {"name": "y"} | mark], "system": [text(each, **mark) for each in "stu"]}
    result = built(asked("a"), cache=CacheRules(), **parts)
    assert (result.body["tools"], result.body["system"]) == ([{"name": "x"}, parts["tools"][1]], parts["system"])
    assert result.body["messages"] == [user("a")]
    assert [(change.path, change.what) for change in result.changes] == [("tools.0.cache_control", "removed")]
    off = built(asked("a"), cache=CacheRules.from_variables({"DISABLE_PROMPT_CACHING": "1"}), **parts)
    assert "cache_control" not in str(off.body)
    assert len(off.changes) == 5
    assert str(parts).count("cache_control") == 5  # the parts are the caller's own


@public("library")
@proves("req:S0-24")
def test_marks_inside_tool_results_are_moved_too() -> None:
    """The mark on the result covers what it holds."""
    mark = {"cache_control": {"type": "ephemeral"}}
    held = [text(each, **mark) for each in "abcd"]
    [message] = built(asked([tool_result("t1", held)]), cache=CacheRules()).body["messages"]
    assert message["content"] == [tool_result("t1", [text(each) for each in "abcd"], **mark)]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"model": ""}, "model: a request needs the name of a model"),
        ({"max_tokens": 0}, "max_tokens: expected a number above 0, got 0"),
        ({"messages": [{"type": "summary", "summary": "…"}]}, "messages.0: expected a message of user, .* got 'summary'"),
        ({"messages": [asked("a"), "b"]}, "messages.1: expected a message of user, .* got None"),
    ],
)
def test_parts_of_which_no_request_can_be_made_are_refused_in_words(fields: dict[str, Any], says: str) -> None:
    parts = {"model": "m", "max_tokens": 9, "messages": [asked("a")]} | fields
    with pytest.raises(ClewError, match=says):
        build_request(RequestParts(**parts))


@public("library")
@proves("req:S0-51")
def test_without_a_sender_nothing_is_sent_and_the_trace_says_so() -> None:
    result = build_request(RequestParts(model="m", messages=[asked("hi")], max_tokens=10))
    assert (result.trace, result.answer) == (("budget", "normalise", "cache", "build"), None)


@public("library")
@proves("req:S0-29", "req:S0-6")
def test_events_have_the_names_that_claude_code_logs() -> None:
    result = built(asked("hi"), said(T), budget=BudgetRules.from_variables({"MAX_THINKING_TOKENS": "5000"}))
    assert [event.name for event in result.events] == ["tengu_thinking", "tengu_filtered_trailing_thinking_block"]
