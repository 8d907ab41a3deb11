"""The founding document on reasoning in streams: its ten issues, its never and always, and its own event order.

It fixed a proxy in which 848 reasoning deltas had become visible text. Each test is one of its points, run through what the
gateway runs: a translation and the relay that seals. `stream_start = "eager"` with `signature = "empty"` is the document's own
stream, event for event; the default begins as Claude itself does.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.model.json import JsonObject
from clew.pipeline.stream.client_view import ClientView
from tests.dialects.openai_chat.chat import ASKED, DONE, call, chunk, stream
from tests.golden.driving import wear
from tests.golden.legal import check
from tests.manifest import proves
from tests.model.streams import reads
from tests.pipeline.stream.wearing import translated_answer

GROK = stream({"reasoning": "First, "}, {"reasoning": "the code."}, {"content": "It "}, {"content": "works."})
"""Its first scenario: a model that reasons, then answers."""
GPT = stream({"content": "It "}, {"content": "works."})
"""Its second: one that does not."""
WITH_TOOLS = stream(
    {"reasoning": "Look."}, {"content": "I look."}, call(0, "a", "read", '{"q":1}'), call(1, "b", "edit", "{}")
)
"""Its third: reasoning, text and tools."""


def told(backend: bytes, *, eager: bool = False, blank: bool = False) -> list[dict[str, Any]]:
    """The events that a client reads; every stream is held to what clients need."""
    relay = translated_answer(
        ClientView(wear(blank=blank)), ChatStreamReader(structs.replace(ASKED, eager=eager), ChatOptions())
    )
    out = b"".join([relay.begin(), *map(relay.feed, reads(backend)), relay.flush(), *relay.held])
    check(out, signatures="empty" if blank else "sealed", model="claude-x")
    return [json.loads(line.removeprefix("data: ")) for line in out.decode().split("\n") if line.startswith("data: ")]


def short(events: list[dict[str, Any]]) -> list[str]:
    """Each event in a word or two."""
    return [_short(event) for event in events]


def _short(event: dict[str, Any]) -> str:
    match event["type"]:
        case "content_block_start":
            return f"start {event['content_block']['type']} {event['index']}"
        case "content_block_delta":
            return f"{event['delta']['type']} {event['index']}"
        case "content_block_stop":
            return f"stop {event['index']}"
        case kind:
            return kind


def joined(events: list[dict[str, Any]], member: str) -> str:
    return "".join(event["delta"].get(member, "") for event in events if event["type"] == "content_block_delta")


@proves("req:S3-12")
def test_issue_1_reasoning_is_not_mixed_with_content() -> None:
    """848 reasoning deltas, all of them thinking, none of them text."""
    words = [f"word{n} " for n in range(848)]
    events = told(stream(*({"reasoning": word} for word in words), {"content": "Done."}))

    assert [event["delta"]["thinking"] for event in events if _short(event) == "thinking_delta 0"] == words
    assert joined(events, "text") == "Done."


@proves("req:S3-4", "req:S3-7")
def test_issue_2_thinking_has_blocks_of_its_own() -> None:
    assert [each for each in short(told(GROK)) if each.startswith("start")] == ["start thinking 0", "start text 1"]


@proves("req:S3-4", "req:S3-5")
def test_issue_3_each_block_has_its_own_kind_of_delta() -> None:
    deltas = [each for each in short(told(GROK)) if "delta" in each and each != "message_delta"]
    assert deltas == ["thinking_delta 0", "thinking_delta 0", "signature_delta 0", "text_delta 1", "text_delta 1"]


@proves("req:S3-7", "req:S3-11")
def test_issue_4_a_thought_is_closed_before_text_starts_and_text_before_a_thought() -> None:
    again = stream({"reasoning": "a"}, {"content": "x"}, {"reasoning": "b"}, {"content": "y"})
    edges = [each for each in short(told(again)) if each.startswith(("start", "stop"))]
    assert edges == [
        *("start thinking 0", "stop 0", "start text 1", "stop 1"),
        *("start thinking 2", "stop 2", "start text 3", "stop 3"),
    ]


@proves("req:S3-13")
@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "thinking"])
def test_issue_5_no_backend_needs_code_of_its_own(name: str) -> None:
    """Its adapters had no place for thinking. Here the names of reasoning are data."""
    assert short(told(stream({name: "a"}, {"content": "x"}))) == short(told(stream({"reasoning": "a"}, {"content": "x"})))


@proves("req:S3-37")
@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ("x", ["text"]),
        ([{"type": "text", "text": "x"}], ["text"]),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"type": "text", "text": "x"}],
            ["thinking", "text"],
        ),
        ("<think>a</think>x", ["thinking", "text"]),
    ],
)
def test_issue_5_content_may_be_text_or_thinking_or_both(content: Any, kinds: list[str]) -> None:
    """Its adapters were to say which; what says nothing of it is read as before."""
    assert [kind for kind, _ in _said(told(stream({"content": content})))] == kinds


@proves("req:S3-2", "req:S3-24")
def test_issue_6_the_events_are_in_the_order_of_the_protocol() -> None:
    assert short(told(GROK)) == [
        *("message_start", "ping"),
        *("start thinking 0", "thinking_delta 0", "thinking_delta 0", "signature_delta 0", "stop 0"),
        *("start text 1", "text_delta 1", "text_delta 1", "stop 1"),
        *("message_delta", "message_stop"),
    ]


def test_issue_7_what_is_going_on_can_be_seen_while_it_goes_on() -> None:
    """A thought is open from its first delta on, so a client can say that the model thinks."""
    relay = translated_answer(ClientView(wear()), ChatStreamReader(ASKED, ChatOptions()))
    begun = relay.feed(chunk({"reasoning": "a"}))

    assert begun.count(b"content_block_start") == 2  # its event and its data
    assert b"content_block_stop" not in begun


def test_issue_8_nothing_waits_to_be_told_all_at_once() -> None:
    """Each delta goes out with the read that brought it."""
    relay = translated_answer(ClientView(wear()), ChatStreamReader(ASKED, ChatOptions()))
    pieces = [relay.feed(chunk({"reasoning": word})) for word in ("a", "b", "c")]
    pieces += [relay.feed(chunk({"content": word})) for word in ("x", "y")]

    assert [b'"%b"}' % word in piece for word, piece in zip((b"a", b"b", b"c", b"x", b"y"), pieces, strict=True)] == [
        True
    ] * 5


@proves("req:S3-31", "req:S3-32")
def test_issue_9_a_thought_has_its_signature_or_an_empty_one_if_that_is_chosen() -> None:
    """The document leaves it empty, in the block's start; the default is the seal."""
    start = {"type": "thinking", "thinking": "", "signature": ""}
    sealed, blank = told(GROK), told(GROK, blank=True)

    assert [event["content_block"] for event in (sealed[2], blank[2])] == [start, start]
    assert joined(sealed, "signature") == 'clew1.{"field":"reasoning"}'
    assert [each for each in short(blank) if "signature" in each] == []


def test_issue_10_what_is_said_to_happen_is_what_happens() -> None:
    """Its log said that reasoning was seen, and it was text all the same: here the payload says what the block is."""
    events = told(GROK)
    thoughts = [event["index"] for event in events if event.get("content_block", {}).get("type") == "thinking"]
    signed = [event["index"] for event in events if event.get("delta", {}).get("type") == "signature_delta"]

    assert thoughts == signed == [0]


@proves("req:S3-1", "req:S3-6", "req:C24", "req:C25")
def test_its_second_version_event_for_event() -> None:
    """Text at once, before the ping; reasoning closes it; text again behind it."""
    assert short(told(GROK, eager=True, blank=True)) == [
        *("message_start", "start text 0", "ping"),
        *("stop 0", "start thinking 1", "thinking_delta 1", "thinking_delta 1", "stop 1"),
        *("start text 2", "text_delta 2", "text_delta 2", "stop 2"),
        *("message_delta", "message_stop"),
    ]


@proves("req:S3-15", "req:S3-8")
def test_its_second_version_for_a_model_that_does_not_reason() -> None:
    """The first block is used, and there is no trace of thinking."""
    assert short(told(GPT, eager=True, blank=True)) == [
        *("message_start", "start text 0", "ping", "text_delta 0", "text_delta 0", "stop 0"),
        *("message_delta", "message_stop"),
    ]


@proves("req:S3-26", "req:C25")
def test_its_third_scenario_counts_from_the_thought_and_its_second_version_from_the_text() -> None:
    """It says both: thinking 0, text 1, tools 2 and 3; and text 0, thinking 1. Lazy is the one, eager the other."""
    starts = ["start thinking 0", "start text 1", "start tool_use 2", "start tool_use 3"]
    eager = ["start text 0", "start thinking 1", "start text 2", "start tool_use 3", "start tool_use 4"]

    assert [each for each in short(told(WITH_TOOLS)) if each.startswith("start")] == starts
    assert [each for each in short(told(WITH_TOOLS, eager=True)) if each.startswith("start")] == eager


@proves("req:C24")
@pytest.mark.parametrize("backend", [GROK, GPT, WITH_TOOLS])
def test_both_beginnings_end_in_the_same_message_but_for_an_empty_text(backend: bytes) -> None:
    assert _said(told(backend, eager=True)) == _said(told(backend))


def _said(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Type and content of each block that says something."""
    blocks: dict[int, tuple[str, str]] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = (event["content_block"]["type"], "")
        elif event["type"] == "content_block_delta":
            kind, text = blocks[event["index"]]
            blocks[event["index"]] = (kind, text + next(value for key, value in event["delta"].items() if key != "type"))
    return [(kind, text) for kind, text in blocks.values() if text or kind != "text"]


ANY = [
    GROK,
    GPT,
    WITH_TOOLS,
    stream({"reasoning": "r", "content": "c"}, {"content": "d", "reasoning": "s"}),
    stream({"content": "x"}, {"reasoning": "r"}, call(0, "a", "f", "{}")),
    stream({"reasoning": "r"}, finish="length"),
    chunk({"reasoning": "r"}) + chunk({"content": "x"}),
    chunk({"reasoning": "r"}),
    stream({"reasoning": ""}, {"content": ""}),
]
"""Streams in which a careless translator breaks one of its rules."""


def is_cut(backend: bytes) -> bool:
    """Whether it ends inside a block. Such a block has no stop: it is not whole."""
    return b'finish_reason": "' not in backend


@pytest.mark.parametrize("backend", ANY)
@pytest.mark.parametrize("eager", [False, True])
class TestNeverAndAlways:
    """Its maintenance notes, for every stream and both beginnings."""

    @proves("req:S3-10")
    def test_never_mix_reasoning_and_content(self, backend: bytes, eager: bool) -> None:
        said = [
            json.loads(line.removeprefix("data: ")) for line in backend.decode().split("\n") if line.startswith("data: {")
        ]
        deltas: list[JsonObject] = [choice["delta"] for each in said for choice in each["choices"]]
        events = told(backend, eager=eager)

        assert joined(events, "thinking") == "".join(str(delta.get("reasoning") or "") for delta in deltas)
        assert joined(events, "text") == "".join(str(delta.get("content") or "") for delta in deltas)

    @proves("req:S3-4", "req:S3-5")
    def test_never_send_reasoning_as_text_and_always_the_right_delta(self, backend: bytes, eager: bool) -> None:
        kinds = {"thinking": {"thinking_delta", "signature_delta"}, "text": {"text_delta"}, "tool_use": {"input_json_delta"}}
        types: dict[int, str] = {}
        for event in told(backend, eager=eager):
            if event["type"] == "content_block_start":
                types[event["index"]] = event["content_block"]["type"]
            elif event["type"] == "content_block_delta":
                assert event["delta"]["type"] in kinds[types[event["index"]]]

    @proves("req:C26", "req:S3-17")
    def test_never_start_a_block_before_the_one_before_it_is_complete(self, backend: bytes, eager: bool) -> None:
        edges = [each.split()[0] for each in short(told(backend, eager=eager)) if each.startswith(("start", "stop"))]
        assert edges == ["start", "stop"] * (len(edges) // 2) + (["start"] if is_cut(backend) else [])

    @proves("req:S3-16")
    def test_never_skip_an_index(self, backend: bytes, eager: bool) -> None:
        starts = [event["index"] for event in told(backend, eager=eager) if event["type"] == "content_block_start"]
        assert starts == list(range(len(starts)))

    @proves("req:S3-18", "req:S3-19")
    def test_never_forget_to_close_a_block(self, backend: bytes, eager: bool) -> None:
        events = told(backend, eager=eager)
        edges = {
            kind: [event["index"] for event in events if event["type"] == f"content_block_{kind}"]
            for kind in ("start", "stop")
        }
        assert edges["stop"] == (edges["start"][:-1] if is_cut(backend) else edges["start"])

    @proves("req:S3-39")
    def test_never_say_the_same_event_twice(self, backend: bytes, eager: bool) -> None:
        edges = [each for each in short(told(backend, eager=eager)) if each.startswith(("start", "stop", "message"))]
        assert len(edges) == len(set(edges))

    @proves("req:S3-20", "req:S3-21", "req:S3-22")
    def test_always_end_once(self, backend: bytes, eager: bool) -> None:
        """With `[DONE]`, with two, or without; and a stream that was cut ends with an error instead."""
        ends = ["error"] if is_cut(backend) else ["message_delta", "message_stop"]
        for each in (backend, backend.replace(DONE, b""), backend.replace(DONE, DONE + DONE)):
            found = [
                event for event in short(told(each, eager=eager)) if event in ("message_delta", "message_stop", "error")
            ]
            assert found == ends
