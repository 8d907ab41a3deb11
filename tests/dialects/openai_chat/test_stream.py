"""Streamed answers as canonical events: which block gets what, and how it all ends."""

import json

import pytest

from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.shape import AnswerContext
from clew.model.events import BlockDelta, MessageDelta, MessageStart, MessageStop, Ping, StreamFailed
from clew.model.json import JsonObject
from tests.dialects.openai_chat.chat import DONE, Told, call, chunk, data, stream
from tests.manifest import proves

CUT = StreamFailed({"type": "api_error", "message": "the backend's stream ended before the answer did"})
NO_TOKENS = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}


@proves("req:S3-2", "req:S3-3", "req:S3-24", "req:S3-43")
def test_a_stream_starts_with_message_and_ping_and_ends_with_delta_and_stop() -> None:
    """S3-2, S3-3, S3-24, S3-43: the model as asked, the last known size, no block before the first delta."""
    told = Told(stream({"role": "assistant", "content": ""}))

    assert told.events == [
        MessageStart(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": "claude-x",
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 7, **NO_TOKENS},
            }
        ),
        Ping(),
        MessageDelta({"stop_reason": "end_turn", "stop_sequence": None}, {"input_tokens": 7, **NO_TOKENS}),
        MessageStop(),
    ]


@proves("req:S3-4", "req:S3-5", "req:S3-7", "req:S3-39")
def test_reasoning_is_a_thinking_block_and_content_a_text_block() -> None:
    """S3-4, S3-5, S3-7; each start and stop once (S3-39)."""
    told = Told(stream({"reasoning": "a"}, {"reasoning": "b"}, {"content": "x"}))

    assert told.steps == ["thinking 0", "+a", "+b", "stop 0", "text 1", "+x", "stop 1"]


@pytest.mark.parametrize("blank", [b"\n", b"\n\n", b"\r\n", b"\n\n\n"])
def test_empty_lines_in_front_of_a_stream_say_nothing(blank: bytes) -> None:
    """Some servers send them as a sign of life."""
    usual = stream({"content": "Yes."})
    assert Told(blank + usual).events == Told(usual).events


@proves("req:S3-1", "req:S3-6")
def test_an_eager_start_opens_a_text_block_before_anything_is_known() -> None:
    """S3-1, S3-6: message, empty text block, ping; reasoning then closes it."""
    told = Told(stream({"reasoning": "a"}, {"content": "x"}), eager=True)

    assert [event.type for event in told.events[:3]] == ["message_start", "content_block_start", "ping"]
    assert told.steps == ["text 0", "stop 0", "thinking 1", "+a", "stop 1", "text 2", "+x", "stop 2"]


@proves("req:S3-15", "req:S3-8")
def test_the_eager_block_is_used_by_content_and_lazy_content_starts_at_0() -> None:
    """S3-15, S3-8: without reasoning there is one text block, and no trace of thinking."""
    assert Told(stream({"content": "x"}), eager=True).steps == ["text 0", "+x", "stop 0"]
    assert Told(stream({"content": "x"})).steps == ["text 0", "+x", "stop 0"]


@proves("req:S3-9")
@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "", "content": "x"},
        {"reasoning": None, "content": "x"},
        {"reasoning_content": "", "reasoning_details": [], "thinking_blocks": None, "content": "x"},
        {"role": None, "tool_calls": None, "reasoning_content": None, "content": "x"},
        {"reasoning": 5, "reasoning_details": "no list", "tool_calls": {}, "content": "x"},
    ],
)
def test_empty_null_and_misshapen_fields_start_nothing(delta: JsonObject) -> None:
    """S3-9, and cases 7–9 and 18: null-filled deltas are nothing."""
    assert Told(stream({}, None, delta)).steps == ["text 0", "+x", "stop 0"]


@proves("req:S3-10", "req:C26")
def test_both_in_one_delta_are_told_one_after_the_other() -> None:
    """S3-10, C26: thinking is closed before text opens."""
    told = Told(stream({"reasoning": "r", "content": "c"}))

    assert told.steps == ["thinking 0", "+r", "stop 0", "text 1", "+c", "stop 1"]


@proves("req:S3-11", "req:S3-16", "req:S3-17")
def test_reasoning_after_content_is_a_block_of_its_own() -> None:
    """S3-11, S3-16, S3-17: interleaved, without gaps and without overlap."""
    told = Told(stream({"reasoning": "a"}, {"content": "x"}, {"reasoning": "b"}, {"content": "y"}))

    assert told.blocks == [("thinking", "a"), ("text", "x"), ("thinking", "b"), ("text", "y")]


@proves("req:S3-12")
def test_of_848_reasoning_deltas_none_is_text() -> None:
    """S3-12: the founding document's own count."""
    told = Told(stream(*({"reasoning": f"{n} "} for n in range(848)), {"content": "done"}))

    assert [event.delta for event in told.events if isinstance(event, BlockDelta)] == [
        *({"type": "thinking_delta", "thinking": f"{n} "} for n in range(848)),
        {"type": "text_delta", "text": "done"},
    ]


@proves("req:S3-18", "req:S3-19")
def test_what_is_open_at_the_end_is_closed_and_nothing_is_put_behind_a_thought() -> None:
    """S3-18, S3-19; an empty text block behind it would go into the client's history, and vendors refuse empty texts."""
    assert Told(stream({"reasoning": "a"})).steps == ["thinking 0", "+a", "stop 0"]
    assert Told(stream(call(0, "c", "f", "{}"))).steps == ["tool_use 0", "+{}", "stop 0"]


@proves("req:S3-18")
def test_a_thought_that_the_limit_cut_stays_last() -> None:
    """Case 17: a thinking block and max_tokens, no text block, as the vendor itself does it."""
    told = Told(stream({"reasoning": "a"}, finish="length"))

    assert (told.steps, told.stop) == (["thinking 0", "+a", "stop 0"], "max_tokens")


@proves("req:S3-20")
def test_the_end_is_the_end_once() -> None:
    """S3-20, case 3: doubled [DONE], chunks and junk behind it."""
    told = Told(stream({"content": "x"}), DONE, chunk({"content": "y"}), b"data: junk\n\n")

    assert told.events == Told(stream({"content": "x"})).events


@proves("req:S3-21")
def test_a_missing_done_ends_all_the_same_if_the_answer_was_finished() -> None:
    """Case 5: finish seen, nothing more."""
    whole = stream({"content": "x"})

    assert Told(whole.removesuffix(DONE)).events == Told(whole).events


@proves("req:S3-21")
def test_a_done_without_a_finish_reason_is_an_end_but_not_of_half_a_call() -> None:
    """The backend says that this was all. Half of a call's arguments show that it was not."""
    assert Told(chunk({"content": "a"}), DONE).stop == "end_turn"
    for arguments in ('{"q": 1}', ""):
        assert Told(chunk(call(0, "c", "f", arguments)), DONE).stop == "tool_use"
    half = Told(chunk(call(0, "c", "f", '{"q":')), DONE)
    assert half.steps == ["tool_use 0", '+{"q":']
    assert half.events[-1] == CUT


@proves("req:S3-17", "req:S3-21")
@pytest.mark.parametrize(
    ("delta", "steps"),
    [
        ({"reasoning": "a"}, ["thinking 0", "+a"]),
        ({"content": "a"}, ["text 0", "+a"]),
        ({"content": "<think>a</thi"}, ["thinking 0", "+a"]),
        (call(0, "c", "f", '{"q":'), ["tool_use 0", '+{"q":']),
    ],
)
def test_a_stream_that_breaks_off_inside_a_block_fails_and_does_not_stop_the_block(
    delta: JsonObject, steps: list[str]
) -> None:
    """Rule 6.8, case 5: no finish, no [DONE]. A stop would say that the block is whole."""
    told = Told(chunk(delta))

    assert told.steps == steps
    assert told.events[-1] == CUT


def test_the_row_of_a_backend_may_say_that_its_streams_just_end() -> None:
    assert Told(chunk({"content": "a"}), speech=ChatAnswerOptions(cut_is_end=True)).stop == "end_turn"


def test_nothing_at_all_is_a_failure_before_any_start() -> None:
    """The client can still get a status."""
    for empty in (b"", DONE, b": only comments\n\n"):
        assert [event.type for event in Told(empty).events] == ["error"]


@proves("req:S3-22")
def test_an_error_stops_no_block_and_nothing_follows_it() -> None:
    """S3-22, case 4: an error object inside a 200, in mid-thought."""
    error = data({"error": {"code": 429, "message": "slow down"}})
    told = Told(chunk({"reasoning": "a"}), error, chunk({"content": "x"}), DONE)

    assert told.steps == ["thinking 0", "+a"]
    assert told.events[-1] == StreamFailed({"type": "rate_limit_error", "message": "slow down"})
    assert told.stream.failure is not None and told.stream.failure.status == 429


def test_an_error_that_comes_first_is_all_there_is() -> None:
    """Case 4: no message was started, so the status can still be set."""
    told = Told(data({"error": {"code": 503, "message": "down"}}))

    assert told.events == [StreamFailed({"type": "overloaded_error", "message": "down"})]


def test_data_that_is_no_json_object_is_a_failure_until_the_finish() -> None:
    """Something was lost; better said than skipped."""
    assert Told(chunk({"content": "x"}), b"data: <html>\n\n", DONE).error == {
        "type": "api_error",
        "message": "the backend sent an event that is not a JSON object",
    }
    assert Told(chunk({"content": "x"}, finish="stop"), b"data: <html>\n\n", DONE).error is None


def test_comments_line_ends_and_missing_spaces_do_not_matter() -> None:
    """Cases 1 and 3: keep-alive comments, CRLF, `data:` without a space, no blank line at the end."""
    plain = stream({"reasoning": "a"}, {"content": "x"}).removesuffix(DONE)
    odd = (
        b": OPENROUTER PROCESSING\n\n"
        + plain.replace(b"\n", b"\r\n").replace(b"data: ", b"data:")
        + b": keep-alive\n\ndata: [DONE]"
    )

    assert Told(odd).events == Told(plain).events


def test_white_space_alone_is_no_text_block() -> None:
    """Case 19: gpt-oss sends line ends between thought and call."""
    told = Told(stream({"reasoning": "a"}, {"content": "\n\n"}, call(0, "c", "f", "{}")))

    assert told.blocks == [("thinking", "a"), ("c", "f", {})]
    assert Told(stream({"content": "\n"}, {"content": " x"})).blocks == [("text", "\n x")]


def test_a_refusal_is_text_and_a_refusal_stop() -> None:
    """Case 21: the refusal channel."""
    told = Told(stream({"refusal": "I can"}, {"refusal": "not"}))

    assert (told.blocks, told.stop) == ([("text", "I cannot")], "refusal")


def test_other_choices_are_not_mixed_in() -> None:
    """Case 22: n > 1 was never asked for."""
    other = data({"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]})

    assert (
        Told(chunk({"content": "x"}), other, stream({"content": "y"})).events
        == Told(chunk({"content": "x"}), stream({"content": "y"})).events
    )


def test_half_a_character_waits_for_its_other_half() -> None:
    """Rule 6.12: an emoji cut between its two escapes; a lone half becomes the replacement mark."""
    halves = chunk({"reasoning": "\ud83d"}) + chunk({"reasoning": "\ude00!"}) + stream({"content": "x\ud83d"})

    assert b"\\ud83d" in halves
    assert Told(halves).blocks == [("thinking", "😀!"), ("text", "x�")]


def test_snapshots_add_only_what_is_new_and_honest_repetitions_stay() -> None:
    """Case 14: MiniMax, cumulative or incremental."""
    speech = ChatAnswerOptions(snapshots=True)
    grown = stream({"reasoning": "He"}, {"reasoning": "Hello"}, {"reasoning": "Hello"}, {"content": "a"}, {"content": "ab"})
    plain = stream({"reasoning": "ha"}, {"reasoning": "ha"}, {"reasoning": "haha"})

    assert Told(grown, speech=speech).blocks == [("thinking", "Hello"), ("text", "ab")]
    assert Told(plain, speech=speech).blocks == [("thinking", "hahahaha")]


def test_pieces_that_begin_alike_cost_no_more_than_themselves_where_deltas_may_be_snapshots() -> None:
    """Case 14: what two deltas look like must not take off the beginning of every later one."""
    alike = stream({"content": "I"}, {"content": "I see"}, {"content": " that"}, {"content": " it"}, {"content": " works"})
    anew = stream(
        {"reasoning": "He"}, {"reasoning": "Hello"}, {"reasoning": "Now"}, {"reasoning": "Now I"}, {"content": "x"}
    )

    assert Told(alike, speech=ChatAnswerOptions(snapshots=True)).blocks == [("text", "I see that it works")]
    assert Told(anew, speech=ChatAnswerOptions(snapshots=True)).blocks == [("thinking", "HelloNow I"), ("text", "x")]


def test_an_explicitly_empty_thought_before_a_call_counts_where_it_must_go_back() -> None:
    """Rule 6.3: DeepSeek needs the key back even if it was empty."""
    deltas = stream({"reasoning_content": ""}, call(0, "c", "f", "{}"))

    told = Told(deltas, speech=ChatAnswerOptions(empty_counts=True))
    assert (told.blocks, told.stream.payloads) == ([("thinking", ""), ("c", "f", {})], {0: {"field": "reasoning_content"}})
    assert Told(deltas).blocks == [("c", "f", {})]


@proves("req:S3-25", "req:C27")
@pytest.mark.parametrize(
    ("finish", "called", "reason"),
    [
        ("stop", False, "end_turn"),
        ("stop", True, "tool_use"),
        ("STOP", True, "tool_use"),
        ("eos", True, "tool_use"),
        ("function_call", True, "tool_use"),
        ("tool_calls", True, "tool_use"),
        ("tool_calls", False, "end_turn"),
        ("length", False, "max_tokens"),
        ("length", True, "max_tokens"),
        ("content_filter", False, "refusal"),
        ("sensitive", False, "refusal"),
        ("model_context_window_exceeded", False, "model_context_window_exceeded"),
    ],
)
def test_the_stop_reason_is_the_true_one(finish: str, called: bool, reason: str) -> None:
    """S3-25, C27, case 44: calls that were seen weigh more than the word, a cut weighs more than calls."""
    assert Told(stream(call(0, "c", "f", "{}") if called else {"content": "x"}, finish=finish)).stop == reason


def test_a_call_without_any_finish_reason_is_tool_use() -> None:
    """Case 44: finish_reason null at the end, then [DONE]."""
    assert Told(chunk(call(0, "c", "f", "{}")), DONE).stop == "tool_use"


def test_a_stop_sequence_is_named_if_it_was_asked_for() -> None:
    """Rule 6.8: vLLM's stop_reason, SGLang's matched_stop; numbers and other words are ordinary ends."""
    asked = AnswerContext(model="m", document=b'{"stop_sequences":["END"]}')
    ended = {
        name: data({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop", name: "END"}]})
        for name in ("stop_reason", "matched_stop")
    }

    for end in ended.values():
        message = Told(end, DONE, asked=asked).message
        assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")
        assert Told(end, DONE).stop == "end_turn"


def test_the_events_can_be_written() -> None:
    """What was decoded is JSON, whatever halves of characters the wire held."""
    told = Told(
        stream({"reasoning_details": [{"type": "x", "data": "\udc00"}]}, call(0, "\ud83d", "f\udc00", {"a": "\ud83d"}))
    )

    assert json.dumps(told.message, ensure_ascii=False).encode()
    assert json.dumps([told.stream.payloads, told.stream.wire_ids], ensure_ascii=False, default=str).encode()


def test_an_error_may_stand_in_a_list_of_one() -> None:
    """Gemini's OpenAI endpoint says its errors so; a list of anything else is no event."""
    told = Told(b'data: [{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]\n\n')
    assert told.stream.failure is not None
    assert (told.stream.failure.status, told.stream.failure.message) == (529, "The model is overloaded.")
    other = Told(b'data: [{"choices":[]}]\n\n')
    assert other.stream.failure is not None
    assert other.stream.failure.status == 502


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429, "message": "slow down"}, 429),
        ({"code": "rate_limit_exceeded", "message": "slow down"}, 429),
        ({"message": "slow down"}, 502),
        ({"code": 503, "message": "no room"}, 529),
    ],
)
def test_a_choice_that_ended_in_an_error_says_which(error: JsonObject, status: int) -> None:
    """Case 4: OpenRouter's `finish_reason: "error"`, with the error in the choice alone. What it says of itself counts."""
    told = Told(data({"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": error}]}))

    assert told.stream.failure is not None
    assert (told.stream.failure.status, told.stream.failure.message) == (status, error["message"])


@pytest.mark.parametrize("end", [DONE, b""])
@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        (b'event: error\ndata: {"code":"Throttling.RateQuota","message":"slow down"}\n\n', 429, "slow down"),
        (b'event: error\ndata: {"message":"no room","status":503}\n\n', 529, "no room"),
        (b"event:error\ndata:upstream is gone\n\n", 500, "upstream is gone"),
    ],
)
def test_an_event_that_is_named_an_error_is_one(said: bytes, status: int, message: str, end: bytes) -> None:
    """Whatever shape its data have: else an answer that broke off would be told as a whole one, or in other words."""
    told = Told(chunk({"content": "a"}), said, end)

    assert told.events[-1].type == "error"
    assert told.stream.failure is not None
    assert (told.stream.failure.status, told.stream.failure.message) == (status, message)


@pytest.mark.parametrize(
    "reason",
    [
        *("malformed_function_call", "MALFORMED_FUNCTION_CALL", "function_call_filter: MALFORMED_FUNCTION_CALL"),
        *("unexpected_tool_call", "malformed_response", "NETWORK_ERROR"),
    ],
)
def test_an_answer_that_its_backend_threw_away_is_a_failure(reason: str) -> None:
    """Dialects 2.11: else an agent would take it for an answer that says nothing, and stop. To ask again helps."""
    told = Told(chunk({"role": "assistant", "content": ""}), chunk({}, finish=reason), DONE)

    assert told.stream.failure is not None
    assert (told.stream.failure.status, told.stream.failure.type) == (502, "api_error")
    assert reason.rpartition(" ")[2].lower() in told.stream.failure.message


@pytest.mark.parametrize(
    "events",
    [
        b'data: {"choices":\n\ndata: [{"delta":{"content":"x"}}]}\n\ndata: {} {}\n\n',
        b'data: {"choices":[{"delta":{"content":"a}\n\ndata: {b"}}]}\n\ndata: {} {}\n\n',
        b'data: {"choices":[]\n}\n\n',
        b'data: {"choices":[]}\ndata: {"choices":[]}\n\n',
    ],
    ids=["value over two", "text over two", "bare line", "two lines of data"],
)
def test_no_event_reaches_into_the_next_one_of_its_read(events: bytes) -> None:
    told = Told(chunk({"content": "a"}), events, burst=True)

    assert told.stream.failure is not None
    assert told.events == Told(chunk({"content": "a"}), events).events


def test_texts_of_one_read_say_what_they_say_alone() -> None:
    """Also where tags, a mirror or what stands for a hidden thought come between them."""
    deltas: list[JsonObject] = [
        *({"reasoning": word} for word in ("one ", "[REDACTED]", "two ", " ")),
        *({"reasoning_content": word} for word in ("one", "two", "three")),
        *({"content": word} for word in ("<thi", "nk>", "four", "</think>", " ", "five ", "six")),
        {"reasoning": "seven"},
        *({"content": word} for word in (" ", "eight", "")),
    ]
    alone = Told(stream(*deltas), DONE)
    together = Told(stream(*deltas) + DONE, burst=True)

    assert together.blocks == alone.blocks
    assert together.message["stop_reason"] == alone.message["stop_reason"]
