"""By rote to a backend that speaks Chat Completions: the same bytes both ways, and the same records."""

import asyncio
import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.backends.row import Backend, Secret
from clew.engine import engine as engines
from clew.engine.call import Call
from clew.engine.rote.by_rote import by_rote
from clew.engine.snapshot import Snapshot, snapshot_of
from clew.model.facts import models
from clew.settings.values import Retry, Settings, StoreSettings, ThinkingSettings
from clew.thinking.secret import ring_of
from tests.build import user
from tests.counts import examples
from tests.engine.by_hand import ByHand
from tests.engine.chatting import DONE, chunk
from tests.engine.test_rote import MESSAGES, OPUS, PARAMETERS, Form, Question, both, framed, question

SEALER = ring_of(b"a secret of thirty-two bytes, or more").sealer()
LONG = "a_tool_" + "x" * 70
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("t", LONG)]


def snapshot(**more: Any) -> Snapshot:
    keys = (Secret("sk-test-key"),)
    rows = {
        name: Backend(
            name=name, url="http://127.0.0.1:9", dialect="openai-chat", realm="r", auth="key", keys=keys, model="m"
        )
        for name in ("b", "spare")
    }
    built = Settings(active="b", backends=rows, failover=("spare",), models=models(), retry=Retry(retries=0), **more)
    return snapshot_of(built, SEALER)


SNAPSHOTS = (
    snapshot(),
    snapshot(thinking=ThinkingSettings(show_reasoning="hide")),
    snapshot(thinking=ThinkingSettings(signature="empty")),
    snapshot(thinking=ThinkingSettings(stream_start="eager")),
    snapshot(thinking=ThinkingSettings(policy="session")),
    snapshot(store=StoreSettings(url="off")),
    snapshot(first_content_seconds=1),
)
ASKED: dict[str, list[object]] = {
    **PARAMETERS,
    "tools": [TOOLS],
    "stop_sequences": [["END"], ["a", "b", "c", "d", "e", "f"]],
    "output_config": [{"effort": "low"}, {"format": {"type": "json_schema", "schema": {"type": "object"}}}],
    "tool_choice": [{"type": "any"}, {"type": "tool", "name": LONG}],
}
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "t", "arguments": ""}}
USED = {"usage": {"prompt_tokens": 50, "completion_tokens": 7}}


def finished(reason: str) -> bytes:
    choice = {"index": 0, "delta": {}, "finish_reason": reason, "stop_reason": "END"}
    return b"data: " + json.dumps({"choices": [choice], **USED}).encode() + b"\n\n"


CHUNKS = [
    chunk(role="assistant", content=None, reasoning_content=""),
    chunk(reasoning_content="Hm,"),
    chunk(reasoning_content=" well."),
    chunk(content="Yes"),
    chunk(content=", sk-test-key."),
    chunk(content=[{"type": "image_url", "image_url": {"url": "data:,"}}], audio={"data": "AA", "transcript": "Oh."}),
    chunk(tool_calls=[CALL]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"a":'}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": "1}"}}]),
    finished("stop"),
    DONE,
]
ERROR = b'data: {"error":{"message":"busy sk-test-key","code":529}}\n\n'
STREAM = framed(b"".join(CHUNKS), "x-ratelimit-remaining-requests: 7", kind="text/event-stream", chunked=True)
WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}], **USED}


@st.composite
def forms(draw: st.DrawFn) -> Form:
    """All of a body but its messages: a function of these."""
    chosen = {name: draw(st.sampled_from(values)) for name, values in ASKED.items() if draw(st.booleans())}
    fields: dict[str, object] = {"model": OPUS, "messages": None, **chosen}
    fields["stream"] = draw(st.sampled_from([True] * 7 + [False]))
    order = draw(st.sampled_from([list(fields), list(reversed(fields))]))

    def body(messages: object) -> bytes:
        return json.dumps({name: messages if name == "messages" else fields[name] for name in order}).encode()

    return body, fields["stream"] is True


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    at = draw(st.integers(0, len(CHUNKS)))
    without = [each for each in CHUNKS if draw(st.integers(0, 3))]
    told = draw(st.sampled_from([CHUNKS, CHUNKS, without, CHUNKS[:at], [*CHUNKS[:at], ERROR]]))
    whole = framed(json.dumps(WHOLE).encode())
    stream = framed(b"".join(told), kind="text/event-stream", chunked=draw(st.booleans()))
    refused = framed(b'{"error":{"message":"no"}}', status=draw(st.sampled_from(["400 Bad Request", "429 Too Many"])))
    return draw(st.sampled_from([stream] * 6 + [whole, refused]))


@st.composite
def talks(draw: st.DrawFn) -> list[Question]:
    """A question as most are, then others like it, more or less."""
    (body, _), usual = draw(forms()), draw(st.sampled_from([0] * 4 + list(range(len(SNAPSHOTS)))))
    first = body(draw(st.sampled_from([MESSAGES[0]] * 4 + MESSAGES))), usual, [STREAM], False
    return [first, *(draw(asked(body, usual)) for _ in range(draw(st.integers(2, 5))))]


@st.composite
def asked(draw: st.DrawFn, body: Any, usual: int) -> Question:
    raw, answer = body(draw(st.sampled_from(MESSAGES))), draw(answers())
    cuts = sorted(draw(st.lists(st.integers(1, len(answer)), max_size=3)))
    pieces = [answer[start:end] for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True) if start < end]
    gone = draw(st.sampled_from([False, False, False, True]))
    which = draw(st.sampled_from([usual] * 6 + list(range(len(SNAPSHOTS)))))
    return raw, which, pieces[: -1 if gone else None], gone


@pytest.mark.slow
@given(talks(), st.integers(0, 1))
@settings(max_examples=examples(150), deadline=None)
def test_by_rote_is_sent_and_told_what_would_have_been_in_another_dialect_too(talk: list[Question], head: int) -> None:
    """Laws 2 and 5: a memo only skips what was decided before about the same bytes, under the same snapshot."""
    for by_rote_seen, seen in asyncio.run(both(talk, head, snapshots=SNAPSHOTS)):
        assert by_rote_seen == seen


def test_under_each_snapshot_the_same_question_has_the_same_end_three_times() -> None:
    """Also where thinking is hidden, or unsigned, or counted."""
    body = question("hi", stream=True, tools=TOOLS)
    for which in range(len(SNAPSHOTS)):
        for by_rote_seen, seen in asyncio.run(both([(body, which, [STREAM], False)] * 3, snapshots=SNAPSHOTS)):
            assert by_rote_seen == seen, which


@pytest.mark.parametrize("gone", [True, False])
def test_wherever_an_answer_breaks_off_it_ends_as_it_would_have(gone: bool) -> None:
    """Read by read, and with another backend behind it that answers well."""
    body, head = question("hi", stream=True), framed(b"", kind="text/event-stream", chunked=True)[: -len(b"0\r\n\r\n")]
    for end in range(len(CHUNKS) + 1):
        odd = [head, *(b"%x\r\n%b\r\n" % (len(each), each) for each in CHUNKS[:end])]
        told = odd if gone else [*odd, b"%x\r\n%b\r\n0\r\n\r\n" % (len(ERROR), ERROR)]
        talk: list[Question] = [(body, 0, [STREAM], False), (body, 0, told, gone), (body, 0, [STREAM], False)]
        for by_rote_seen, seen in asyncio.run(both(talk, then=[STREAM], snapshots=SNAPSHOTS)):
            assert by_rote_seen == seen, end


def test_the_second_of_its_kind_goes_by_rote_and_others_do_not() -> None:
    """Else the property above would hold for nothing."""
    named = json.dumps({"model": OPUS, "messages": [{**user("hi"), "name": "me"}], "max_tokens": 9, "stream": True})

    async def run() -> list[bool]:
        hand, call = ByHand(SNAPSHOTS[0]), Call(body=b"")
        await hand.asks("a", call, named.encode(), [STREAM])
        await hand.asks("b", call, question("one", stream=True), [STREAM])
        await hand.asks("c", call, question("two", stream=True), [STREAM])
        await hand.asks("d", call, named.encode(), [STREAM])
        await hand.asks("e", call, question("two"), [framed(json.dumps(WHOLE).encode())])
        await hand.asks("f", call, question("two"), [framed(json.dumps(WHOLE).encode())])
        return taken

    taken: list[bool] = []

    def noted(*asked: Any) -> bool:
        taken.append(by_rote(*asked))
        return taken[-1]

    with patch.object(engines, "by_rote", noted):
        assert asyncio.run(run()) == [False, False, True, False, False, False]
