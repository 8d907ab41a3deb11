"""Deltas that pass from a backend to a client of the same dialect: two values replaced, and all else as the vendor wrote it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.passed_deltas import passed_deltas
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.shape import AnswerContext
from clew.pipeline.stream.answer import AnswerSoFar
from clew.pipeline.stream.client_view import ClientView
from clew.pipeline.stream.translation import TranslatedAnswer
from tests.counts import examples
from tests.dialects.openai_responses.accumulate import accumulated, events_in
from tests.golden.driving import wear

TEXT, THOUGHT, CALL = "output_text", "reasoning_summary_text", "function_call_arguments"
Json = dict[str, Any]


def sse(kind: str, **members: Any) -> bytes:
    data = json.dumps({"type": kind, **members}, separators=(",", ":"), ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def deltas(kind: str, index: int, *texts: str, part: int = 0, **more: Any) -> list[bytes]:
    """As OpenAI writes them: members by their names, with padding."""
    own = {TEXT: {"content_index": part}, THOUGHT: {"summary_index": part}, CALL: {}}[kind]
    id = {TEXT: "msg_b", THOUGHT: "rs_b", CALL: "fc_b"}[kind]
    return [
        sse(f"response.{kind}.delta", **own, delta=text, item_id=id, **more, output_index=index, sequence_number=7 + at)
        for at, text in enumerate(texts)
    ]


def answer_in(thoughts: list[str], texts: list[str], arguments: list[str], **more: Any) -> list[bytes]:
    """A whole answer, an event in each piece."""
    thought: Json = {"id": "rs_b", "type": "reasoning", "summary": [{"type": "summary_text", "text": "".join(thoughts)}]}
    said = {"type": "output_text", "text": "".join(texts), "annotations": []}
    message: Json = {"id": "msg_b", "type": "message", "role": "assistant", "content": [said]}
    call: Json = {"id": "fc_b", "type": "function_call", "call_id": "c", "name": "f", "arguments": "".join(arguments)}
    items = [{**thought, "encrypted_content": "BLOB"}, message, call]
    pieces = [deltas(THOUGHT, 0, *thoughts), deltas(TEXT, 1, *texts, **more), deltas(CALL, 2, *arguments)]
    begun = [{**thought, "summary": []}, {**message, "content": []}, {**call, "arguments": ""}]
    out = [sse("response.created", response={"id": "resp_b", "output": []})]
    for index, own in enumerate(pieces):
        out.append(sse("response.output_item.added", output_index=index, item=begun[index]))
        out += own
        out.append(sse("response.output_item.done", output_index=index, item=items[index]))
    usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    return [
        *out,
        sse("response.completed", response={"id": "resp_b", "status": "completed", "output": items, "usage": usage}),
    ]


def relay(*, passes: bool = True) -> TranslatedAnswer:
    context = AnswerContext(model="m", message_id="msg_x1")
    reader, writer = ResponsesStreamReader(context, ResponsesOptions()), ResponsesStreamWriter(context)
    passed = passed_deltas(reader, writer) if passes else None
    return TranslatedAnswer(ClientView(wear(safe_ids=False, whole=True)), reader, writer, passed=passed)


def told(pieces: list[bytes], *, passes: bool = True) -> tuple[bytes, AnswerSoFar]:
    answer = relay(passes=passes)
    out = b"".join([answer.feed(piece) for piece in pieces]) + answer.flush() + b"".join(answer.held)
    return out, answer.answer()


def said_in(answer: AnswerSoFar) -> Any:
    return answer.blocks, answer.stop_reason, answer.usage


USUAL = answer_in(["I ", "look", " first"], ["Two", " words", '\n\\ "é" 🦊'], ['{"a":', "1", "}"])


@pytest.mark.parametrize("together", [1, 2, 3, 5, 99])
def test_the_client_puts_together_what_it_would_have_got(together: int) -> None:
    """And the recording is the same, however many events come in one read."""
    pieces = [b"".join(USUAL[at : at + together]) for at in range(0, len(USUAL), together)]
    passed, own = told(pieces)
    read, other = told(USUAL, passes=False)

    assert accumulated(passed) == accumulated(read)
    assert said_in(own) == said_in(other)
    assert [each["sequence_number"] for each in events_in(passed)] == list(range(len(events_in(passed))))


def test_all_else_stays_as_the_vendor_wrote_it() -> None:
    """Log probabilities and padding too; the first delta of a block is read, and the next ones are spelled like it."""
    odds = [{"token": "Hi", "logprob": -0.25, "bytes": [72], "top_logprobs": []}]
    first, *others = deltas(TEXT, 0, "Hi", " you", " there", logprobs=odds, obfuscation="x7Y")
    message: Json = {"id": "msg_b", "type": "message", "role": "assistant", "content": []}
    answer = relay()
    answer.feed(
        sse("response.created", response={"id": "resp_b"}) + sse("response.output_item.added", output_index=0, item=message)
    )
    begun = answer.feed(first)
    count = len(events_in(begun))

    for number, other in enumerate(others, count):
        own = other.replace(b'"item_id":"msg_b"', b'"item_id":"msg_x1_0"')
        expected = own.replace(b'"sequence_number":%d' % (number - count + 8), b'"sequence_number":%d' % number)
        assert answer.feed(other) == expected


ODD = {
    "another item": deltas(TEXT, 9, "!"),
    "another part": deltas(TEXT, 1, "!", part=1),
    "another order": [deltas(TEXT, 1, "!")[0].replace(b'"content_index":0,', b"").replace(b"}\n", b',"content_index":0}\n')],
    "an unknown member": deltas(TEXT, 1, "!", weather="fine"),
    "another id": [deltas(TEXT, 1, "!")[0].replace(b"msg_b", b"msg_c")],
    "no event name": [deltas(TEXT, 1, "!")[0].partition(b"\n")[2]],
    "windows": [deltas(TEXT, 1, "!")[0].replace(b"\n", b"\r\n")],
    "no text": deltas(TEXT, 1, ""),
    "half a character": [
        deltas(TEXT, 1, "!")[0].replace(b'"!"', b'"\\ud83e"'),
        deltas(TEXT, 1, "!")[0].replace(b'"!"', b'"\\udd8a"'),
    ],
    "no text at all": [deltas(TEXT, 1, "!")[0].replace(b'"!"', b'"\xff"')],
    "a bad escape": [deltas(TEXT, 1, "!")[0].replace(b'"!"', b'"\\x"')],
    "a comment": [b": alive\n\n", *deltas(TEXT, 1, "!")],
}


@pytest.mark.parametrize("odd", ODD)
def test_a_delta_that_is_unlike_the_others_is_read(odd: str) -> None:
    at = USUAL.index(deltas(TEXT, 1, "Two", " words")[1])
    pieces = [*USUAL[: at + 1], *ODD[odd], *USUAL[at + 1 :]]
    passed, own = told(pieces)
    read, other = told(pieces, passes=False)

    assert said_in(own) == said_in(other)
    assert events_in(passed)[-1]["type"] == events_in(read)[-1]["type"]
    if events_in(read)[-1]["type"] == "response.completed":
        assert accumulated(passed) == accumulated(read)


def test_what_passed_is_there_when_a_stream_breaks_off() -> None:
    answer = relay()
    begun = USUAL[: USUAL.index(deltas(TEXT, 1, "Two", " words")[1]) + 1]
    out = b"".join([answer.feed(piece) for piece in begun])

    assert [block["text"] for block in answer.answer().cut] == ["Two words"]
    assert events_in(out + answer.flush())[-1]["type"] == "response.failed"


def test_many_deltas_are_read_now_and_then() -> None:
    words = [f"{number} " for number in range(2000)]
    passed, own = told(answer_in(["Hm"], words, ["{}"]))

    assert own.blocks[1]["text"] == "".join(words)
    assert accumulated(passed)["output"][1]["content"][0]["text"] == "".join(words)


TEXTS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=9), min_size=1, max_size=6)


@settings(max_examples=examples(40, soak=3000), deadline=None)
@given(TEXTS, TEXTS, st.lists(st.integers(0, 1 << 16), max_size=8))
def test_no_cut_of_the_bytes_matters(thoughts: list[str], texts: list[str], cuts: list[int]) -> None:
    raw = b"".join(answer_in(thoughts, ["x", *texts], ['{"a":', "1}"]))
    places = [0, *sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]
    passed, own = told([raw[start:end] for start, end in pairwise(places)])
    read, other = told([raw], passes=False)

    assert accumulated(passed) == accumulated(read)
    assert said_in(own) == said_in(other)
