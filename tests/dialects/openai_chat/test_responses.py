"""Whole answers: the same blocks as the stream of them."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.failures.reading import UNREADABLE
from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.responses import Answer, answer_of
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue
from tests.counts import examples
from tests.dialects.openai_chat.chat import ASKED, DONE, Told, chunk
from tests.manifest import proves


def body(message: JsonObject, finish: str = "stop", **more: JsonValue) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}).encode()


def test_an_answer_is_a_message_with_payloads_and_ids() -> None:
    """S3-30: thought, text and call, each as in a stream."""
    calls: list[JsonValue] = [{"id": "a.1", "type": "function", "function": {"name": "f", "arguments": '{"q":1}'}}]
    answer = answer_of(
        body({"reasoning_content": "r", "content": "x", "tool_calls": calls}, "tool_calls", usage={"completion_tokens": 5}),
        Asked("m", message_id="msg_2"),
    )

    assert answer == Answer(
        {
            "id": "msg_2",
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "r", "signature": ""},
                {"type": "text", "text": "x"},
                {"type": "tool_use", "id": "a_1", "name": "f", "input": {"q": 1}},
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
        },
        {0: {"field": "reasoning_content"}},
        {"a_1": "a.1"},
    )


def test_what_holds_no_answer_is_a_failure() -> None:
    """Case 6: errors in a 200, pages, and objects without choices."""
    assert answer_of(b"<html>", ASKED) == UNREADABLE
    assert answer_of(b'{"error":{"code":429,"message":"m"}}', ASKED) == Failure(429, "rate_limit_error", "m")
    assert isinstance(answer_of(b"{}", ASKED), Failure)


TEXTS = st.text(st.sampled_from("ab <>/think\n`é"), max_size=12)
BROKEN = '{"q'
CALLS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c.d", ""]), st.sampled_from(['{"q":1}', "{}", '{"q":"<think>"}', BROKEN])),
    max_size=3,
)


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@proves("req:S3-30")
@settings(max_examples=examples(60, soak=3000), deadline=None)
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

    answered = answer_of(body(message), ASKED)
    if BROKEN in [text for _, text in calls]:
        assert answered == Failure(502, "api_error", f"the arguments of the call of f are no JSON object: {BROKEN}")
    else:
        assert answered == Answer(told.message, told.stream.payloads, told.stream.wire_ids)
