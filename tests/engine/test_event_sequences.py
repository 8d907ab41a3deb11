"""Reasoning of a Chat Completions backend as a client of the gateway reads it, event for event, over real sockets.

The document on reasoning in streams publishes three sequences: a model that reasons, one that does not, one that reasons and calls
tools. Here each goes through a gateway with either way to start, and so do the odd streams that it forbids to go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from clew.settings.values import ThinkingSettings
from tests.build import Json, user
from tests.dialects.openai_chat.chat import DONE, call, chunk, stream
from tests.engine.chatting import chat_row, telling
from tests.engine.conftest import Gating
from tests.engine.gate import Answer
from tests.engine.talk import MODEL, content_of
from tests.golden.legal import check
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

REASONS = stream({"reasoning": "First, "}, {"reasoning": "the code."}, {"content": "It "}, {"content": "works."})
SPEAKS = stream({"content": "It "}, {"content": "works."})
TOOL_A, TOOL_B = call(0, "call_a", "read", '{"q":1}'), call(1, "call_b", "edit", "{}")
CALLS = stream({"reasoning": "Look."}, {"content": "I look."}, TOOL_A, TOOL_B, finish="tool_calls")

Asking = Callable[..., Answer]


@pytest.fixture
def asking(gating: Gating) -> Asking:
    """`asking(bytes)`: what a client gets whose backend says these bytes. `settings` are those of `[thinking]`."""
    homes = iter(range(9))

    def ask(said: bytes, *, streamed: bool = True, **settings: Any) -> Answer:
        with telling(said) as backend:
            gate = gating(chat_row("local", backend.url), home=f"home-{next(homes)}", thinking=ThinkingSettings(**settings))
            return gate.ask({"model": MODEL, "max_tokens": 2000, "stream": streamed, "messages": [user("Why?")]})

    return ask


def short(answer: Answer, signatures: Any = "sealed") -> list[str]:
    """Each event in a word or two, of a stream that every client can read. Deltas of one kind in a row are named once: how
    many there are depends on how the backend's bytes were read."""
    check(answer.raw, signatures=signatures, model=MODEL)
    return [word for word, _ in groupby(_short(event) for event in answer.events)]


def _short(event: Json) -> str:
    match event["type"]:
        case "content_block_start":
            return f"start {event['content_block']['type']} {event['index']}"
        case "content_block_delta":
            return f"{event['delta']['type']} {event['index']}"
        case "content_block_stop":
            return f"stop {event['index']}"
        case kind:
            return kind


def edges(answer: Answer) -> list[str]:
    return [each for each in short(answer) if each.startswith(("start", "stop"))]


def said(blocks: list[Json]) -> list[tuple[str, str]]:
    """What an answer says, without signatures, ids and what is empty."""
    found = [(each["type"], each.get("thinking", "") + each.get("text", "") + each.get("name", "")) for each in blocks]
    return [pair for pair in found if pair[1]]


@public("gateway")
@proves("req:S3-2", "req:S3-4", "req:S3-5", "req:S3-7", "req:S3-24", "req:S3-32")
def test_a_model_that_reasons_starts_with_its_thought(asking: Asking) -> None:
    """S3-2, S3-7: message and ping, then the thought with its seal just before its stop, then the text, then the end."""
    assert short(asking(REASONS)) == [
        *("message_start", "ping"),
        *("start thinking 0", "thinking_delta 0", "signature_delta 0", "stop 0"),
        *("start text 1", "text_delta 1", "stop 1"),
        *("message_delta", "message_stop"),
    ]


@public("gateway")
@proves("req:S3-1", "req:S3-6", "req:S3-31", "req:C25")
def test_an_eager_start_with_an_empty_signature_is_the_documents_second_version(asking: Asking) -> None:
    """S3-1, S3-6: text at once, before the ping; reasoning closes it; text again behind it. S3-31: no signature."""
    answer = asking(REASONS, stream_start="eager", signature="empty")
    assert short(answer, "empty") == [
        *("message_start", "start text 0", "ping"),
        *("stop 0", "start thinking 1", "thinking_delta 1", "stop 1"),
        *("start text 2", "text_delta 2", "stop 2"),
        *("message_delta", "message_stop"),
    ]
    assert [block["signature"] for block in content_of(answer) if block["type"] == "thinking"] == [""]


@public("gateway")
@proves("req:S3-8", "req:S3-9", "req:S3-15")
def test_a_model_that_does_not_reason_leaves_no_trace_of_thinking(asking: Asking) -> None:
    """S3-8, S3-9: also where its reasoning is there and empty. S3-15: the eager block is the one that is used."""
    rest = ["text_delta 0", "stop 0", "message_delta", "message_stop"]
    nothing = stream({"reasoning": None, "content": "It "}, {"reasoning": "", "content": "works."})
    assert short(asking(SPEAKS)) == short(asking(nothing)) == ["message_start", "ping", "start text 0", *rest]
    assert short(asking(SPEAKS, stream_start="eager")) == ["message_start", "start text 0", "ping", *rest]


@public("gateway")
@proves("req:S3-26", "req:S3-28", "req:C25")
def test_tools_are_counted_on_from_what_came_before_them(asking: Asking) -> None:
    """S3-26: lazy 0 to 3, eager one more. S3-28: a call may follow a thought directly."""
    starts = ["start thinking 0", "start text 1", "start tool_use 2", "start tool_use 3"]
    eager = ["start text 0", "start thinking 1", "start text 2", "start tool_use 3", "start tool_use 4"]
    assert [each for each in short(asking(CALLS)) if "start " in each] == starts
    assert [each for each in short(asking(CALLS, stream_start="eager")) if "start " in each] == eager
    direct = stream({"reasoning": "Look."}, TOOL_A, finish="tool_calls")
    assert edges(asking(direct)) == ["start thinking 0", "stop 0", "start tool_use 1", "stop 1"]


@public("gateway")
@proves("req:C24")
@pytest.mark.parametrize("backend", [REASONS, SPEAKS, CALLS], ids=["reasons", "speaks", "calls"])
def test_both_starts_end_in_the_same_message(asking: Asking, backend: bytes) -> None:
    """C24: but for an empty text."""
    lazy, eager = asking(backend), asking(backend, stream_start="eager")
    assert said(content_of(lazy)) == said(content_of(eager)) != []
    assert lazy.events[-2]["delta"] == eager.events[-2]["delta"]


@public("gateway")
@proves("req:S3-3", "req:S3-43")
def test_the_message_start_has_all_its_fields_and_the_end_has_both_counts(asking: Asking) -> None:
    """S3-3, S3-43."""
    counted = chunk({}, finish="stop", usage={"prompt_tokens": 12, "completion_tokens": 5})
    events = asking(chunk({"content": "Yes."}) + counted + DONE).events
    message = events[0]["message"]
    assert message["id"].startswith("msg_")
    assert (message["type"], message["role"], message["content"], message["model"]) == ("message", "assistant", [], MODEL)
    assert (message["stop_reason"], message["stop_sequence"]) == (None, None)
    assert set(message["usage"]) >= {"input_tokens", "output_tokens"}
    assert (events[-2]["usage"]["input_tokens"], events[-2]["usage"]["output_tokens"]) == (12, 5)


@public("gateway")
@proves("req:S3-10", "req:S3-11", "req:S3-16", "req:S3-17", "req:S3-39", "req:C26")
@pytest.mark.parametrize("start", ["lazy", "eager"])
def test_one_block_is_open_at_a_time_whatever_comes_together(asking: Asking, start: str) -> None:
    """S3-10: both in one delta; S3-11: reasoning again; S3-16, S3-17, S3-39: no gap, and each edge once and in its turn."""
    both: Json = {"reasoning": "r", "content": "c"}
    answer = asking(stream(both, {"reasoning": "again"}, both, TOOL_A, finish="tool_calls"), stream_start=start)
    found = edges(answer)
    kinds = ["thinking", "text", "thinking", "text", "tool_use"]
    first = ["text"] if start == "eager" else []
    expected = [edge for n, kind in enumerate([*first, *kinds]) for edge in (f"start {kind} {n}", f"stop {n}")]
    assert found == expected
    assert said(content_of(answer)) == [
        ("thinking", "r"),
        ("text", "c"),
        ("thinking", "againr"),
        ("text", "c"),
        ("tool_use", "read"),
    ]


@public("gateway")
@proves("req:S3-12")
def test_848_reasoning_deltas_are_all_thinking_and_none_of_them_is_text(asking: Asking) -> None:
    words = [f"word{n} " for n in range(848)]
    deltas: list[Json] = [{"reasoning": word} for word in words]
    answer = asking(stream(*deltas, {"content": "Done."}))
    assert [each for each in short(answer) if "_delta " in each] == ["thinking_delta 0", "signature_delta 0", "text_delta 1"]
    assert said(content_of(answer)) == [("thinking", "".join(words)), ("text", "Done.")]


@public("gateway")
@proves("req:S3-13")
@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "a"},
        {"reasoning_content": "a"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "a"}]},
        {"reasoning": "a", "reasoning_content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
    ],
    ids=["reasoning", "reasoning_content", "details-text", "details-summary", "all-at-once"],
)
def test_every_name_of_reasoning_counts_and_counts_once(asking: Asking, delta: Json) -> None:
    """S3-13."""
    assert said(content_of(asking(stream(delta, {"content": "x"})))) == [("thinking", "a"), ("text", "x")]


@public("gateway")
@proves("req:S3-37")
@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ("x", ["text"]),
        ([{"type": "text", "text": "x"}], ["text"]),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}], ["thinking"]),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"type": "text", "text": "x"}],
            ["thinking", "text"],
        ),
        ("<think>a</think>x", ["thinking", "text"]),
    ],
    ids=["plain", "text", "thinking", "mixed", "tags"],
)
def test_content_may_be_text_or_thinking_or_both(asking: Asking, content: Any, kinds: list[str]) -> None:
    """S3-37: a backend may say of its content what it is; what says nothing is read as before."""
    assert [kind for kind, _ in said(content_of(asking(stream({"content": content}))))] == kinds


@public("gateway")
@proves("req:S3-18", "req:S3-19", "req:S3-20", "req:S3-21")
@pytest.mark.parametrize(
    ("last", "end"),
    [
        ({"reasoning": "Hm."}, chunk({}, finish="stop") + DONE),
        ({"content": "So."}, chunk({}, finish="stop") + DONE),
        (TOOL_A, chunk({}, finish="tool_calls") + DONE),
        ({"content": "So."}, chunk({}, finish="stop") + DONE + DONE),
        ({"content": "So."}, chunk({}, finish="stop")),
        ({"content": "So."}, DONE),
    ],
    ids=["in-a-thought", "in-text", "in-a-call", "two-ends", "no-marker", "no-reason"],
)
def test_what_is_open_at_the_end_is_closed_once(asking: Asking, last: Json, end: bytes) -> None:
    """S3-18, S3-19: before the message's end; S3-20, S3-21: and there is one end, however the backend says it."""
    found = short(asking(chunk(last) + end))
    assert found[-2:] == ["message_delta", "message_stop"]
    assert found.count("message_stop") == found.count("message_delta") == 1
    assert found.count("stop 0") == 1


@public("gateway")
@proves("req:S3-25", "req:C27")
@pytest.mark.parametrize(
    ("finish", "delta", "reason"),
    [
        ("stop", {"content": "x"}, "end_turn"),
        ("length", {"content": "x"}, "max_tokens"),
        ("content_filter", {"content": "x"}, "refusal"),
        ("tool_calls", TOOL_A, "tool_use"),
        ("stop", TOOL_A, "tool_use"),
    ],
)
def test_the_stop_reason_is_the_true_one(asking: Asking, finish: str, delta: Json, reason: str) -> None:
    """S3-25, C27: also where a backend stops with calls and does not say so."""
    assert asking(stream(delta, finish=finish)).events[-2]["delta"]["stop_reason"] == reason


@public("gateway")
@proves("req:S3-27", "req:S3-29")
def test_arguments_in_pieces_join_to_json_and_double_ids_become_unique(asking: Asking) -> None:
    """S3-27, S3-29."""
    pieces = [call(0, "same", "read", '{"pa'), call(0, arguments='th": "a.'), call(0, arguments='py"}')]
    answer = asking(stream(*pieces, call(1, "same", "edit", "{}"), finish="tool_calls"))
    assert [each for each in short(answer) if "_delta " in each] == ["input_json_delta 0", "input_json_delta 1"]
    read, edit = content_of(answer)
    assert (read["input"], edit["input"]) == ({"path": "a.py"}, {})
    assert read["id"] != edit["id"]


@public("gateway")
@proves("req:S3-30")
def test_an_unstreamed_answer_has_the_same_blocks(asking: Asking) -> None:
    """S3-30: anyone who asks without `stream` gets one message."""
    streamed, whole = asking(CALLS), asking(CALLS, streamed=False)
    assert whole.headers["content-type"].startswith("application/json")
    assert said(content_of(whole)) == said(content_of(streamed))
    assert whole.json["stop_reason"] == streamed.events[-2]["delta"]["stop_reason"] == "tool_use"
