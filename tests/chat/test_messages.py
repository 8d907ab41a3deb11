"""`Message`: saved and loaded without loss."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import Message, ToolCall, format_response
from clew.errors import RequestInvalid
from tests.build import GLM, target
from tests.chat.said import CALL, R, T, X, answer
from tests.counts import examples
from tests.manifest import proves, public

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
words = st.text(alphabet=st.characters(codec=None))
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=st.none() | words,
    tool_calls=st.lists(st.builds(ToolCall, id=words, name=words, arguments=words), max_size=2).map(tuple),
    tool_call_id=st.none() | words,
    is_error=st.booleans(),
    raw_content=values | st.lists(st.sampled_from([T, R, X, CALL])),
    origin=st.none() | st.just(GLM),
    stop_reason=st.none() | words,
    usage=st.none() | st.dictionaries(st.text(), st.integers()),
)


@public("library")
@proves("req:S2-15", "req:C16")
@settings(max_examples=examples(48, soak=4000))
@given(messages)
def test_a_message_survives_saving_and_loading(message: Message) -> None:
    """S2-15: halves of characters, huge numbers and all."""
    saved = message.to_json()
    assert "\n" not in saved
    assert Message.from_json(saved) == message
    assert Message.from_json(saved.encode()).to_json() == saved


@public("library")
@proves("req:S2-15")
def test_raw_content_is_the_same_after_saving_and_loading() -> None:
    """S2-15: every byte of a signature, and the order of members."""
    message = format_response(answer(T, R, X, CALL), target=target(GLM))
    loaded = Message.from_json(message.to_json())
    assert loaded == message
    assert json.dumps(loaded.raw_content) == json.dumps([T, R, X, CALL])


def test_what_is_not_there_is_not_written() -> None:
    assert Message(role="assistant", content="").to_json() == '{"role": "assistant", "content": ""}'


def test_members_of_a_later_version_are_no_obstacle() -> None:
    assert Message.from_json('{"role": "user", "content": "a", "mood": "good"}') == Message(role="user", content="a")


@pytest.mark.parametrize("text", ["", "[]", '{"role": "robot"}', '{"content": "a"}', '{"role": "user", "content": 3}', "{"])
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalid, match="this is not a message"):
        Message.from_json(text)


@pytest.mark.parametrize("value", [[float("nan")], [object()], [{1, object()}]])
def test_what_json_cannot_say_is_refused(value: list[object]) -> None:
    with pytest.raises(RequestInvalid, match="cannot be written as JSON"):
        Message(role="assistant", raw_content=value).to_json()
