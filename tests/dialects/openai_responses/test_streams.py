"""Streamed answers of backends that speak the Responses API: what becomes of each kind of event."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from clew.dialects.openai_responses.detail import DIALECT_NAME
from clew.dialects.openai_responses.stream_events import ANNOTATION
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.shape import SentEvents
from clew.errors import AnswerTooLarge
from clew.model.events import BlockDelta, MessageDelta, MessageStop, StreamFailed
from clew.model.json import encoded
from clew.model.request import NativeRequest
from tests.counts import examples
from tests.dialects.openai_responses.accumulate import accumulated, events_in
from tests.dialects.openai_responses.wire import (
    CONTEXT,
    Json,
    added,
    argument_deltas,
    blocks_of,
    call,
    created,
    done,
    ended,
    event,
    message,
    message_of,
    read,
    reasoning,
    stream,
    text_deltas,
    thought_deltas,
)
from tests.model.streams import joined


def thinking(text: str, item: Json, **more: str) -> Json:
    payload = {"dialect": "openai-responses", "item": item, **more}
    return {"type": "thinking", "thinking": text, "signature": payload}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool_use(name: str, given: Any, call_id: str = "call_1") -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


THOUGHT = reasoning("rs_1", "**Plan**\n\nA", "B")


def test_a_reasoning_item_is_one_thought_that_carries_the_item_as_it_ended() -> None:
    """Parts are set apart by a blank line; the opaque value of the beginning is another one, and does not count."""
    begun = reasoning("rs_1", blob="EARLY")
    parts = [*thought_deltas(0, "**Plan**", "\n\nA"), *thought_deltas(0, "B", part=1)]
    found = blocks_of(created(), added(0, begun), parts, done(0, THOUGHT), added(1, message("")), ended())

    assert found == [thinking("**Plan**\n\nA\n\nB", THOUGHT)]


def test_a_thought_without_words_has_its_block_before_the_call() -> None:
    item = reasoning("rs_1")
    events = read(stream(created(), added(0, item), done(0, item), added(1, call("")), done(1, call("{}")), ended()))
    deltas = [each.kind for each in events if isinstance(each, BlockDelta)]

    assert deltas == ["signature_delta", "input_json_delta"]


def test_a_reasoning_item_with_nothing_in_it_is_no_block() -> None:
    item = reasoning("rs_1", blob=None)
    assert blocks_of(created(), added(0, item), done(0, item), done(1, message("Hi")), ended()) == [text("Hi")]


def test_items_keep_their_order() -> None:
    items = [reasoning("rs_1"), call("{}"), reasoning("rs_2"), call("{}", call_id="call_2"), message("Done")]
    found = blocks_of(created(), [done(at, item) for at, item in enumerate(items)], ended())

    assert found == [
        thinking("", items[0]),
        tool_use("f", {}),
        thinking("", items[2]),
        tool_use("f", {}, "call_2"),
        text("Done"),
    ]


def test_an_item_is_known_by_its_place_where_ids_differ_in_each_event() -> None:
    final = reasoning("rs_final", "why")
    words = {**text_deltas(1, "Hi")[0], "item_id": "msg_other"}
    begun = [added(0, reasoning("rs_begun")), *thought_deltas(0, "why"), done(0, final)]
    found = blocks_of(created(), begun, added(1, message("", "msg_a")), words, done(1, message("Hi", "msg_b")), ended())

    assert found == [thinking("why", final), text("Hi")]


def test_the_phase_of_a_message_is_kept_with_the_thought_before_it() -> None:
    item, said = reasoning("rs_1", "why"), message("I look.", phase="commentary")
    begun = added(1, {**said, "content": []})
    found = blocks_of(created(), done(0, item), begun, text_deltas(1, "I look."), done(1, said), ended())

    assert found == [thinking("why", item, phase="commentary"), text("I look.")]


@pytest.mark.parametrize("kind", ["response.reasoning_text.delta", "response.reasoning_text.done"])
def test_servers_of_open_weights_tell_the_thought_itself(kind: str) -> None:
    item: Json = {"id": "rs_1", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "why"}]}
    told = event(kind, output_index=0, content_index=0, **{"delta" if kind.endswith("delta") else "text": "why"})
    begun = added(0, {**item, "content": []})

    assert blocks_of(created(), begun, told, done(0, item), ended()) == [thinking("why", item)]
    assert blocks_of(created(), begun, done(0, item), ended()) == [thinking("why", item)]


def test_a_thought_that_comes_as_summary_and_as_content_is_told_once() -> None:
    raw = event("response.reasoning_text.delta", output_index=0, content_index=0, delta="raw")
    item = reasoning("rs_1", "why", content=[{"type": "reasoning_text", "text": "raw"}])

    assert blocks_of(created(), added(0, item), thought_deltas(0, "why"), raw, done(0, item), ended()) == [
        thinking("why", item)
    ]


def test_a_plain_thought_in_place_of_the_opaque_value_is_read_where_the_row_says_so() -> None:
    item = reasoning("rs_1", blob="I think.")
    assert blocks_of(created(), done(0, item), ended(), encrypted_is_text=True) == [thinking("I think.", item)]


def test_a_thought_that_was_cut_is_not_for_its_maker() -> None:
    item = reasoning("rs_1", "why", status="incomplete")
    details = {"reason": "max_output_tokens"}
    found = message_of(created(), added(0, item), thought_deltas(0, "wh"), ended("incomplete", incomplete_details=details))

    assert found["content"] == [{"type": "thinking", "thinking": "wh", "signature": ""}]
    assert found["stop_reason"] == "max_tokens"
    assert blocks_of(created(), done(0, item), ended("incomplete"))[0]["signature"] == ""


def test_an_item_that_has_no_block_goes_back_to_its_maker_and_the_client_hears_of_it() -> None:
    heard: list[str] = []
    item: Json = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"query": "x"}}
    searching = event("response.web_search_call.searching", output_index=0, item_id="ws_1")
    context = structs.replace(CONTEXT, unsaid=heard.append)
    found = blocks_of(created(), added(0, item), searching, done(0, item), done(1, message("Hi")), ended(), context=context)

    assert found == [thinking("", item), text("Hi")]
    assert heard == ["web_search_call"]


def test_what_only_this_dialect_has_passes_to_a_client_that_speaks_it() -> None:
    """Items that have no block, and annotations; told again as they came."""
    note: Json = {"type": "url_citation", "url": "http://a", "title": "A", "start_index": 0, "end_index": 2}
    search: Json = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"query": "x"}}
    noted, other = message("Hi"), message("Yo", "msg_2")
    noted["content"][0]["annotations"] = other["content"][0]["annotations"] = [note]
    told = event(ANNOTATION, output_index=1, content_index=0, annotation_index=0, annotation=note)
    heard: list[str] = []
    native = NativeRequest(dialect=DIALECT_NAME, raw=b"{}", detail=None)
    context = structs.replace(CONTEXT, native=native, unsaid=heard.append)
    begun = [added(1, message("")), *text_deltas(1, "Hi"), told, done(1, noted), done(2, other)]
    events = read(stream(created(), added(0, search), done(0, search), begun, ended()), context=context)
    writer = ResponsesStreamWriter(structs.replace(context, sent=SentEvents()))
    found = accumulated(b"".join(map(writer.write, events)))["output"]

    assert found[0] == search
    assert [part["annotations"] for item in found[1:] for part in item["content"]] == [[note], [note]]
    assert heard == []


def own_client(*events: Json | list[Json]) -> bytes:
    """What a client of this dialect gets."""
    context = structs.replace(CONTEXT, native=NativeRequest(dialect=DIALECT_NAME, raw=b"{}", detail=None))
    told = read(stream(*events), context=context)
    return b"".join(map(ResponsesStreamWriter(structs.replace(context, sent=SentEvents())).write, told))


def test_a_client_of_this_dialect_follows_a_tool_that_the_vendor_runs() -> None:
    """Each event under the client's number; the item begins as the vendor began it, and ends as it ended."""
    begun = {"id": "ws_1", "type": "web_search_call", "status": "in_progress"}
    over = {**begun, "status": "completed", "action": {"type": "search", "query": "x"}}
    kinds = [f"response.web_search_call.{what}" for what in ("in_progress", "searching", "completed")]
    meanwhile = [event(kind, output_index=0, item_id="ws_1", sequence_number=99) for kind in kinds]
    raw = own_client(created(), added(0, begun), meanwhile, done(0, over), ended())

    assert accumulated(raw)["output"] == [over]
    told = [each for each in events_in(raw) if each["type"] in (*kinds, "response.output_item.added")]
    assert [each["type"] for each in told] == ["response.output_item.added", *kinds]
    assert [each.get("item_id", "ws_1") for each in told] == ["ws_1"] * 4
    assert told[0]["item"] == begun
    assert [block["item"] for block in blocks_of_own(created(), added(0, begun), meanwhile, done(0, over), ended())] == [
        over
    ]


def blocks_of_own(*events: Json | list[Json]) -> list[Json]:
    native = NativeRequest(dialect=DIALECT_NAME, raw=b"{}", detail=None)
    return message_of(*events, context=structs.replace(CONTEXT, native=native))["content"]


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_of_this_dialect_gets_a_refusal_as_one(streams: bool) -> None:
    """The response is complete, as OpenAI's own is."""
    said = {**message(""), "content": [{"type": "refusal", "refusal": "I can't."}]}
    words = [event("response.refusal.delta", output_index=0, content_index=0, delta=each) for each in ("I ", "can't.")]
    found = accumulated(own_client(created(), added(0, message("")), words if streams else [], done(0, said), ended()))

    assert found["status"] == "completed"
    assert found["output"][0]["content"] == [{"type": "refusal", "refusal": "I can't."}]


def test_each_part_of_a_message_is_a_text_block() -> None:
    both = {**message("one"), "content": [{"type": "output_text", "text": each} for each in ("one", "two")]}
    deltas = [*text_deltas(0, "one"), *text_deltas(0, "two", part=1)]

    assert blocks_of(created(), added(0, message("")), deltas, done(0, both), ended()) == [text("one"), text("two")]
    assert blocks_of(created(), done(0, both), ended()) == [text("one"), text("two")]


def test_white_space_alone_is_no_text() -> None:
    spaced = [*text_deltas(0, "\n", "\n"), done(0, message("\n\n")), added(1, message("")), *text_deltas(1, "\n", "Hi")]
    assert blocks_of(created(), added(0, message("")), spaced, done(1, message("\nHi")), ended()) == [text("\nHi")]


def test_a_refusal_is_text_and_ends_as_one() -> None:
    deltas = [event("response.refusal.delta", output_index=0, content_index=0, delta=each) for each in ("I ", "won't.")]
    item = {**message(""), "content": [{"type": "refusal", "refusal": "I won't."}]}
    for events in ([added(0, message("")), *deltas, done(0, item)], [done(0, item)]):
        found = message_of(created(), events, ended())
        assert (found["content"], found["stop_reason"]) == ([text("I won't.")], "refusal")


def test_annotations_are_left_out_and_reported_once() -> None:
    heard: list[str] = []
    note = event("response.output_text.annotation.added", output_index=0, annotation={"type": "url_citation"})
    noted = message("Hi")
    noted["content"][0]["annotations"] = [{"type": "url_citation"}]
    events = [added(0, message("")), *text_deltas(0, "Hi"), note, note, done(0, noted)]
    message_of(created(), events, ended(), context=structs.replace(CONTEXT, unsaid=heard.append))

    assert heard == ["annotation"]


def test_arguments_stream_as_they_come() -> None:
    events = [created(), added(0, call("")), *argument_deltas(0, '{"a"', ":1}"), done(0, call('{"a":1}')), ended()]
    found = read(*[stream(each) for each in events])

    assert [each.delta["partial_json"] for each in found if isinstance(each, BlockDelta)] == ['{"a"', ":1}"]


def test_arguments_that_come_only_at_the_end_count() -> None:
    finished = event("response.function_call_arguments.done", output_index=0, arguments='{"a":1}')
    assert blocks_of(created(), done(0, call('{"a":1}')), ended()) == [tool_use("f", {"a": 1})]
    assert blocks_of(created(), added(0, call("")), finished, ended()) == [tool_use("f", {"a": 1})]


def test_a_call_whose_name_comes_late_is_told_then() -> None:
    events = [*argument_deltas(0, '{"a":1}'), done(0, call('{"a":1}'))]
    assert blocks_of(created(), events, ended()) == [tool_use("f", {"a": 1})]


def test_a_custom_call_has_its_text_as_input() -> None:
    item: Json = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": ""}
    deltas = [event("response.custom_tool_call_input.delta", output_index=0, delta=each) for each in ('+"', "é\n")]
    for events in ([*deltas, done(0, {**item, "input": '+"é\n'})], [*deltas, done(0, item)]):
        assert blocks_of(created(), added(0, item), events, ended()) == [tool_use("patch", {"input": '+"é\n'})]


def test_one_call_for_several_is_those_calls() -> None:
    uses = [{"recipient_name": f"functions.{each}", "parameters": {"q": each}} for each in ("a", "b")]
    arguments = json.dumps({"tool_uses": uses})
    for name in ("parallel", "multi_tool_use.parallel"):
        found = blocks_of(
            created(), added(0, call("", name)), argument_deltas(0, arguments), done(0, call(arguments, name)), ended()
        )
        assert found == [tool_use("a", {"q": "a"}, "call_1_0"), tool_use("b", {"q": "b"}, "call_1_1")]


def test_a_tool_of_that_name_is_called_as_it_is() -> None:
    arguments = json.dumps({"tool_uses": [{"recipient_name": "functions.a"}]})
    context = structs.replace(CONTEXT, document=json.dumps({"tools": [{"name": "parallel"}]}).encode())
    found = blocks_of(created(), done(0, call(arguments, "parallel")), ended(), context=context)

    assert found == [tool_use("parallel", json.loads(arguments))]


def test_a_call_that_was_cut_ends_with_the_limit() -> None:
    details = {"reason": "max_output_tokens"}
    found = message_of(
        created(), added(0, call("")), argument_deltas(0, '{"a":'), ended("incomplete", incomplete_details=details)
    )
    assert found["stop_reason"] == "max_tokens"


@pytest.mark.parametrize(
    ("status", "more", "reason"),
    [
        ("completed", {}, "end_turn"),
        ("completed", {"end_turn": False}, "pause_turn"),
        ("completed", {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refusal"),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "max_tokens"),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, "refusal"),
        ("incomplete", {}, "max_tokens"),
    ],
)
def test_each_end_has_its_stop_reason(status: str, more: Json, reason: str) -> None:
    assert message_of(created(), done(0, message("Hi")), ended(status, **more))["stop_reason"] == reason


def test_usage_is_told_without_what_was_cached() -> None:
    assert message_of(created(), done(0, message("Hi")), ended())["usage"] == {
        "input_tokens": 5,
        "cache_creation_input_tokens": 1,
        "cache_read_input_tokens": 4,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
    }


def test_output_that_nobody_counted_is_estimated_and_marked() -> None:
    usage = message_of(created(), done(0, message("Hello there")), ended(usage=None))["usage"]
    assert usage["output_tokens_estimated"] is True
    assert usage["output_tokens"] > 0
    assert usage["input_tokens"] == 5


def test_items_that_are_only_in_the_last_event_are_told() -> None:
    items = [reasoning("rs_1", "why"), message("Hi")]
    assert blocks_of(created(), ended(output=items)) == [thinking("why", items[0]), text("Hi")]
    assert blocks_of(created(), done(0, items[0]), ended(output=items)) == [thinking("why", items[0]), text("Hi")]
    begun = [added(0, reasoning("rs_1")), *thought_deltas(0, "why")]
    assert blocks_of(created(), begun, ended(output=items)) == [thinking("why", items[0]), text("Hi")]


def test_no_events_but_those_that_end_items_are_needed() -> None:
    assert blocks_of(done(0, message("Hi")), ended()) == [text("Hi")]


def test_events_without_a_place_belong_to_the_item_that_is_open() -> None:
    bare = [{name: value for name, value in each.items() if name != "output_index"} for each in text_deltas(0, "H", "i")]
    begun = event("response.output_item.added", item=message(""))
    over = event("response.output_item.done", item=message("Hi"))
    second = [event("response.output_item.added", item=call("")), event("response.output_item.done", item=call("{}"))]

    assert blocks_of(created(), begun, bare, over, second, ended()) == [text("Hi"), tool_use("f", {})]


def test_a_server_that_gives_every_item_the_same_place_is_understood() -> None:
    first = [added(0, message("", "msg_1")), *text_deltas(0, "Hi"), done(0, message("Hi", "msg_1"))]
    second = [added(0, call("")), *argument_deltas(0, "{}"), done(0, call("{}"))]
    items = [message("Hi", "msg_1"), call("{}")]

    assert blocks_of(created(), first, second, ended(output=items)) == [text("Hi"), tool_use("f", {})]
    assert blocks_of(created(), first[:-1], second[:-1], ended(output=items)) == [text("Hi"), tool_use("f", {})]


def test_a_call_that_is_begun_after_its_end_is_one_call() -> None:
    late = added(0, call(""))
    assert blocks_of(created(), done(0, call("{}")), late, ended(output=[call("{}")])) == [tool_use("f", {})]
    assert blocks_of(created(), added(0, call("")), done(0, call("{}")), late, done(0, call("{}")), ended()) == [
        tool_use("f", {})
    ]


def test_items_that_come_in_turns_are_told_one_after_the_other() -> None:
    calls = [call("", call_id=f"call_{at}") for at in range(3)]
    begun = [added(at, each) for at, each in enumerate(calls)]
    turns = [each for piece in ('{"a"', ":1}") for at in range(3) for each in argument_deltas(at, piece)]
    over = [done(at, {**each, "arguments": '{"a":1}'}) for at, each in reversed(list(enumerate(calls)))]

    assert blocks_of(created(), begun, turns, over, ended()) == [tool_use("f", {"a": 1}, f"call_{at}") for at in range(3)]


def test_too_much_out_of_turn_is_refused() -> None:
    later = [argument_deltas(1, "x")[0], argument_deltas(2, "x")[0]] * 5_001
    with pytest.raises(AnswerTooLarge, match="out of turn"):
        read(stream(created(), added(0, call("")), later))


@pytest.mark.parametrize(
    ("error", "status", "kind", "words"),
    [
        ({"code": "rate_limit_exceeded", "message": "Slow. Please try again in 1.5s."}, 429, "rate_limit_error", "Slow"),
        ({"code": "insufficient_quota", "message": "You exceeded your current quota"}, 402, "billing_error", "quota"),
        ({"code": "context_length_exceeded", "message": "Your input"}, 400, "invalid_request_error", "prompt is too long"),
        ({"code": "server_is_overloaded", "message": "Busy"}, 529, "overloaded_error", "Busy"),
        ({"code": "slow_down", "message": "Busy"}, 529, "overloaded_error", "Busy"),
        ({"code": "invalid_prompt", "message": "No"}, 400, "invalid_request_error", "No"),
        ({"code": "server_error", "message": "Oops"}, 500, "api_error", "Oops"),
        ({"type": "server_error", "code": None, "message": "Oops", "param": None}, 500, "api_error", "Oops"),
    ],
)
def test_each_error_has_its_status_however_it_is_told(error: Json, status: int, kind: str, words: str) -> None:
    flat = event("error", **{name: value for name, value in error.items() if name != "type"})
    forms: list[list[Json]] = [
        [event("error", error=error)],
        [flat],
        [flat, ended("failed", error=error)],
        [ended("failed", error=error)],
        [ended("completed", status="failed", error=error)],
    ]
    for form in forms:
        failed = read(stream(created(), form))[-1]
        assert isinstance(failed, StreamFailed)
        assert (failed.status, failed.error["type"]) == (status, kind)
        assert words in str(failed.error["message"])


def test_an_error_that_is_no_event_of_the_protocol_is_one() -> None:
    failed = read(b'data: {"error":{"code":429,"message":"slow down"}}\n\n')[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.status == 429


def test_a_failure_after_content_leaves_its_block_open() -> None:
    events = read(stream(created(), added(0, message("")), text_deltas(0, "Hi"), ended("failed", error={"message": "Oops"})))
    assert [each.type for each in events[-3:]] == ["content_block_start", "content_block_delta", "error"]


def test_a_response_that_failed_without_a_word_is_a_failure() -> None:
    failed = read(stream(created(), ended("failed", error=None)))[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.status == 500


def test_what_comes_behind_the_end_is_ignored() -> None:
    whole = stream(created(), done(0, message("Hi")), ended(), done_mark=True)
    assert isinstance(read(whole + b"data: nonsense\n\n" + stream(created()))[-1], MessageStop)


def test_deltas_of_one_read_are_taken_as_one_and_say_the_same() -> None:
    """Whatever stands between them, and where one of them is spelled in a way that the strict decoder refuses."""
    deltas = text_deltas(0, *"Hello")
    odd = [event("response.output_text.delta", output_index=0, content_index=0, delta=each) for each in ("\ud83d", "\ude00")]
    nothing = [event("response.output_text.delta", output_index=0, content_index=0, delta=None)]
    for told in (deltas, [*deltas, *odd], [*deltas[:2], *nothing, *deltas[2:]]):
        events = [created(), added(0, message("")), *told, done(0, message("")), ended()]
        together, apart = read(stream(events)), read(*[stream(each) for each in events])
        assert joined(together) == joined(apart)
    begun, untyped = stream(created(), added(0, message(""))), b'data: {"type":[],"delta":"x"}\n\n' * 2
    assert sum(isinstance(each, BlockDelta) for each in read(begun + untyped + stream(deltas))) == 1


def test_keep_alives_comments_and_unknown_events_say_nothing() -> None:
    odd = stream(event("keepalive"), event("response.audio.delta", delta="x"), event("response.queued"))
    whole = stream(created()) + odd + b": comment\n\n" + stream(done(0, message("Hi")), odd_event(), ended())
    assert isinstance(read(whole)[-1], MessageStop)


def odd_event() -> Json:
    return event("response.something.new", output_index=0)


def test_an_end_without_its_event_is_a_cut_unless_the_row_says_otherwise() -> None:
    begun = stream(created(), done(0, message("Hi")), done_mark=True)
    assert isinstance(read(begun)[-1], StreamFailed)
    assert isinstance(read(begun, cut_is_end=True)[-1], MessageStop)


def test_names_of_events_stand_in_for_types_that_are_missing() -> None:
    whole = stream(created(), done(0, message("Hi")), ended())
    bare = b"\n".join(
        line if not line.startswith(b"data: ") else b"data: " + json.dumps(_untyped(json.loads(line[6:]))).encode()
        for line in whole.split(b"\n")
    )
    assert isinstance(read(bare)[-1], MessageStop)


def _untyped(value: Json) -> Json:
    return {name: each for name, each in value.items() if name != "type"}


def test_halves_of_a_character_are_put_together() -> None:
    halves = b"".join(
        b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"%b"}\n\n' % half
        for half in (rb"a\ud83d", rb"\ude00b")
    )
    events = read(stream(created(), added(0, message(""))), halves, stream(done(0, message("a😀b")), ended()))
    texts = [each.delta["text"] for each in events if isinstance(each, BlockDelta)]
    assert "".join(map(str, texts)) == "a😀b"


def test_an_eager_answer_begins_with_an_empty_text() -> None:
    context = structs.replace(CONTEXT, eager=True)
    found = message_of(created(), done(0, reasoning("rs_1", "why")), done(1, message("Hi")), ended(), context=context)
    assert [block["type"] for block in found["content"]] == ["text", "thinking", "text"]


PARTS: list[Json] = [
    created(),
    added(0, reasoning("rs_1")),
    *thought_deltas(0, "why", " é"),
    *thought_deltas(0, "and", part=1),
    done(0, reasoning("rs_1", "why é", "and")),
    added(1, message("")),
    *text_deltas(1, "Hi", " there"),
    done(1, message("Hi there")),
    added(2, call("")),
    *argument_deltas(2, '{"a"', ":1}"),
    done(2, call('{"a":1}')),
    event("keepalive"),
    event("error", code="server_error", message="Oops"),
    ended("failed", error={"code": "server_error", "message": "Oops"}),
    ended("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ended(output=[reasoning("rs_1", "why é", "and"), message("Hi there"), call('{"a":1}')]),
]


@settings(max_examples=examples(36, soak=4000), deadline=None)
@given(st.lists(st.integers(1, 4000), max_size=8))
def test_no_cut_of_the_bytes_matters(cuts: list[int]) -> None:
    whole = stream(PARTS[:13], PARTS[-1])
    places = [0, *sorted({cut for cut in cuts if cut < len(whole)}), len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(places)]

    assert joined(read(*pieces)) == joined(read(whole))


ODD = [
    {**text_deltas(1, "x")[0], "content_index": None},
    {**text_deltas(1, "x")[0], "delta": 3},
    {**text_deltas(1, "x")[0], "output_index": "1"},
    text_deltas(1, "", part=1)[0],
    text_deltas(1, "x", part=1)[0],
    text_deltas(9, "x")[0],
    {**thought_deltas(0, "x")[0], "type": "response.reasoning_text.delta"},
]


@settings(max_examples=examples(48, soak=8000), deadline=None)
@given(st.lists(st.sampled_from(PARTS + ODD), max_size=24), st.binary(max_size=3), st.integers(0, 2000))
def test_a_read_for_each_event_tells_what_one_read_tells(events: list[Json], new: bytes, at: int) -> None:
    """Also where an event is spoilt."""
    reads = [b"event: %b\ndata: %b\n\n" % (each["type"].encode(), encoded(each)) for each in events]
    whole = b"".join(reads)
    if reads:
        place = at % len(reads)
        cut = at % len(reads[place])
        reads[place] = reads[place][:cut] + new + reads[place][cut:]
        whole = b"".join(reads)

    assert joined(read(*reads)) == joined(read(whole))


def test_nothing_is_told_behind_a_failure_however_the_bytes_are_cut() -> None:
    """A delta that comes alone is read in one step; that step must know that the answer failed."""
    delta = {"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "content_index": 0, "delta": "Hi"}
    said = b"event: response.output_text.delta\ndata: %b\n\n" % encoded(delta)
    reads = [said, said, b"event: response.output_text.delta\ndata: {spoilt\n\n", said, said]
    assert joined(read(*reads)) == joined(read(b"".join(reads)))


@settings(max_examples=examples(48, soak=8000), deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=24), st.integers(1, 200))
def test_events_in_any_order_are_told_legally(events: list[Json], size: int) -> None:
    """And what is not told to its end fails."""
    whole = stream(events)
    found = read(*[whole[at : at + size] for at in range(0, len(whole), size)])

    assert isinstance(found[-1], MessageStop | StreamFailed)
    has_end = any(each["type"] in ("response.completed", "response.incomplete") for each in events)
    assert has_end or not any(isinstance(each, MessageDelta) for each in found)


@settings(max_examples=examples(48, soak=8000), deadline=None)
@given(st.integers(0, 4000), st.binary(max_size=6), st.integers(0, 8))
def test_bytes_that_are_spoilt_break_nothing(at: int, new: bytes, lost: int) -> None:
    whole = stream(PARTS[:13], PARTS[-1])
    at %= len(whole)
    assert isinstance(read(whole[:at] + new + whole[at + lost :])[-1], MessageStop | StreamFailed)


def test_what_a_server_keeps_to_itself_until_the_end_makes_nothing_be_told_twice() -> None:
    """A call that is told twice is made twice."""
    spoken, called = message("So."), call("{}")
    whole = [reasoning("rs_0", "Hm."), spoken, reasoning("rs_1", "Hm, hm."), called]
    streamed = [added(1, {**spoken, "content": []}), done(1, spoken), added(3, {**called, "arguments": ""}), done(3, called)]
    assert blocks_of(created(), *streamed, ended(output=whole)) == [text("So."), tool_use("f", {})]
    another = call("{}", call_id="call_2")
    assert blocks_of(created(), *streamed, ended(output=[*whole, another]))[2:] == [tool_use("f", {}, "call_2")]
