"""Whole answers: the same blocks as the stream of them."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.failures.reading import UNREADABLE
from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.shape import AnswerContext
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue
from tests.counts import examples
from tests.dialects.openai_chat.chat import ASKED, DONE, Told, chunk, read_signatures
from tests.manifest import proves


def body(message: JsonObject, finish: str = "stop", **more: JsonValue) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}).encode()


def test_an_answer_is_a_message_with_payloads_and_ids() -> None:
    """S3-30: thought, text and call, each as in a stream."""
    calls: list[JsonValue] = [{"id": "a.1", "type": "function", "function": {"name": "f", "arguments": '{"q":1}'}}]
    answer = read_message(
        body({"reasoning_content": "r", "content": "x", "tool_calls": calls}, "tool_calls", usage={"completion_tokens": 5}),
        AnswerContext(model="m", message_id="msg_2"),
        ChatOptions(),
    )

    assert answer == {
        "id": "msg_2",
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "r", "signature": '{"field":"reasoning_content"}'},
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "a.1", "name": "f", "input": {"q": 1}},
        ],
        "model": "m",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 5,
        },
    }


def test_what_holds_no_answer_is_a_failure() -> None:
    """Case 6: errors in a 200, pages, and objects without choices."""
    assert read_message(b"<html>", ASKED, ChatOptions()) == UNREADABLE
    assert read_message(b'{"error":{"code":429,"message":"m"}}', ASKED, ChatOptions()) == Failure(
        429, "rate_limit_error", "m"
    )
    assert isinstance(read_message(b"{}", ASKED, ChatOptions()), Failure)


TEXTS = st.text(st.sampled_from("ab <>/think\n`é"), max_size=12)
BROKEN = '{"q'
CALLS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c.d", ""]), st.sampled_from(['{"q":1}', "{}", '{"q":"<think>"}', BROKEN])),
    max_size=3,
)


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@proves("req:S3-30")
@settings(max_examples=examples(36, soak=3000), deadline=None)
@given(TEXTS, st.sampled_from(["reasoning", "reasoning_content", "thinking"]), TEXTS, CALLS, st.integers(1, 5))
def test_a_whole_answer_has_the_blocks_of_its_stream(
    thought: str, field: str, content: str, calls: list[tuple[str, str]], size: int
) -> None:
    """S3-30: however the stream was cut into deltas. Only arguments that are broken are told by a stream, which shows them."""
    message: JsonObject = {
        field: thought,
        "content": content,
        "tool_calls": [{"id": call_id, "function": {"name": "f", "arguments": text}} for call_id, text in calls],
    }
    deltas: list[JsonObject] = [{field: piece} for piece in cut(thought, size)]
    deltas += [{"content": piece} for piece in cut(content, size)]
    for index, (call_id, text) in enumerate(calls):
        deltas.append({"tool_calls": [{"index": index, "id": call_id, "function": {"name": "f"}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in cut(text, size)]
    told = Told(*map(chunk, deltas), chunk({}, finish="stop"), DONE)

    answered = read_message(body(message), ASKED, ChatOptions())
    if BROKEN in [text for _, text in calls]:
        assert answered == Failure(502, "api_error", f"the arguments of the call of f are not a JSON object: {BROKEN}")
    else:
        assert isinstance(answered, dict)
        assert read_signatures(answered) == read_signatures(told.whole)
