"""By rote: a request that is like others goes as they went. The same bytes, the same records, whatever came before."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias
from unittest.mock import Mock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.backends.row import Backend, Secret
from clew.engine import engine as engines
from clew.engine.call import Call
from clew.engine.express import Express
from clew.engine.rote.by_rote import by_rote
from clew.engine.snapshot import Snapshot, snapshot_of
from clew.http.client.connection import ClientConnection
from clew.model.facts import models
from clew.settings.values import BuildSettings, Retry, Settings, StoreSettings, ThinkingSettings
from clew.thinking.secret import ring_of
from tests.build import assistant, text, thinking, user
from tests.counts import examples
from tests.engine.by_hand import ByHand, Plug, Seen
from tests.engine.kept_by_hand import KeptByHand

Form: TypeAlias = tuple[Callable[[object], bytes], bool]
"""A body around any messages, and whether a stream is asked for."""
Question: TypeAlias = tuple[bytes, int, list[bytes], bool]
"""A body, which snapshot it finds, what is answered read by read, and whether the connection ends then."""

Mood: TypeAlias = Literal["willing", "slow", "unwilling"]

OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-4-5"
SEALER = ring_of(b"a secret of thirty-two bytes, or more").sealer()


def snapshot(realm: str = "anthropic", model: str = "", **more: Any) -> Snapshot:
    keys = (Secret("sk-test-key"),)
    rows = {
        name: Backend(name=name, url="http://127.0.0.1:9", realm=realm, auth="key", keys=keys, model=model)
        for name in ("b", "spare")
    }
    built = Settings(active="b", backends=rows, failover=("spare",), models=models(), retry=Retry(retries=0), **more)
    return snapshot_of(built, SEALER)


SNAPSHOTS = (
    snapshot(),
    snapshot(),
    snapshot(model="claude-haiku-4-5"),
    snapshot("glm"),
    snapshot(thinking=ThinkingSettings(policy="session")),
    snapshot(build=BuildSettings(forced_tools="auto")),
    snapshot(first_content_seconds=1),
    snapshot(store=StoreSettings(content=False, bodies="off")),
)

PARAMETERS: dict[str, list[object]] = {
    "max_tokens": [100, 10**9],
    "temperature": [1, 0.3],
    "thinking": [{"type": "adaptive"}, {"type": "enabled", "budget_tokens": 2000}],
    "system": ["be brief", " ", [{"type": "text", "text": "a"}], [{"type": "text", "text": ""}]],
    "tools": [[{"name": "t", "input_schema": {"type": "object"}}]],
    "metadata": [{"user_id": "u", "messages": [{"role": "user", "content": "no"}]}],
    "stream": [True, False],
}
MESSAGES: list[Any] = [
    [user("hi")],
    [user("hi")],
    [user('"messages":[{"role":"user","content":"x"}]')],
    [user("schön \u2028 \\ \n \U0001f600")],
    [user("")],
    [user(" \n")],
    [user("hi", "there")],
    [{**user("hi"), "name": "me"}],
    [{**user("hi"), "output_config": {"effort": "low"}}],
    [{"role": "assistant", "content": "hi"}],
    [{"role": "system", "content": "hi"}],
    [user("hi"), user("there")],
    [user("  <system-reminder>hi</system-reminder> ")],
    [user("long words, " * 20)],
    [user("hi"), assistant(thinking("h", "s"), text("yes")), user("go on")],
    [],
    "hi",
    None,
]

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": OPUS,
    "content": [{"type": "thinking", "thinking": "h", "signature": "s"}, {"type": "text", "text": "yes"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1},
}
OTHERS: list[dict[str, Any]] = [
    {},
    {"model": "claude-other"},
    {"model": 7},
    {"usage": None, "stop_reason": None},
    {"usage": {"input_tokens": -1, "output_tokens": "2", "cache_creation_input_tokens": None}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    {"content": None, "usage": []},
    {"content": [{"type": "tool_use", "id": "t1", "name": "t", "input": {"a": 1}}, 7]},
    {"input_transformations": [{"type": "thinking_dropped", "path": "messages.0.content.0", "reason": "x"}]},
]
EVENTS = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "yes"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " sk-test-key"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "busy sk-test-key"}}


@st.composite
def forms(draw: st.DrawFn) -> Form:
    """All of a body but its messages: a function of these."""
    chosen = {name: draw(st.sampled_from(values)) for name, values in PARAMETERS.items() if draw(st.booleans())}
    fields: dict[str, object] = {"model": draw(st.sampled_from([OPUS, OPUS, SONNET])), "messages": None, **chosen}
    order = draw(st.sampled_from([list(fields), list(reversed(fields))]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    odd = draw(st.sampled_from(["", "", "", "", "trailing", "doubled"]))

    def body(messages: object) -> bytes:
        told = {name: messages if name == "messages" else fields[name] for name in order}
        raw = json.dumps(told, separators=separators).encode()
        return raw + b" \n" if odd == "trailing" else raw.replace(b"{", b'{"messages":[],', 1) if odd == "doubled" else raw

    return body, chosen.get("stream") is True


def sse(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def framed(body: bytes, *more: str, status: str = "200 OK", kind: str = "application/json", chunked: bool = False) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", "request-id: req_1", "x-other: no", *more]
    coding = ["transfer-encoding: chunked"] if chunked else [f"content-length: {len(body)}"]
    head = "".join(f"{line}\r\n" for line in [*lines, *coding]).encode() + b"\r\n"
    half = len(body) // 2
    parts = (body[:half], body[half:]) if half else (body,)
    return head + (
        b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part) + b"0\r\n\r\n" if chunked else body
    )


@st.composite
def wholes(draw: st.DrawFn) -> bytes:
    raw = json.dumps({**MESSAGE, **draw(st.sampled_from(OTHERS))}).encode()
    raw = draw(st.sampled_from([raw, raw, raw, raw[:-1], raw.replace(b"yes", b"\xff"), b"", b"[]"]))
    status = draw(st.sampled_from(["200 OK", "200 OK", "200 OK", "201 Created", "400 Bad Request", "529 Overloaded"]))
    kind = draw(st.sampled_from(["application/json", "application/json", "Application/JSON; charset=utf-8", "text/html"]))
    more = draw(st.sampled_from([(), (), ("content-encoding: gzip",), ("connection: close",), ("request-id: req_2",)]))
    return framed(raw, *more, status=status, kind=kind, chunked=draw(st.booleans()))


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    events = [sse(event) for event in EVENTS]
    at = draw(st.sampled_from([len(events)] * 4 + list(range(len(events)))))
    more = draw(st.sampled_from([events, events, events, [*events[:at]], [*events[:at], sse(ERROR)], [*events, events[-1]]]))
    return framed(b"".join(more), kind="text/event-stream", chunked=draw(st.booleans()))


@st.composite
def asked(draw: st.DrawFn, form: Form, usual: int) -> Question:
    """One question of this form; mostly under the usual snapshot, and with an answer of the kind that was asked for."""
    body, is_stream = form
    raw = body(draw(st.sampled_from(MESSAGES)))
    likely, other = (streams(), wholes()) if is_stream else (wholes(), streams())
    answer = draw(st.one_of(likely, likely, likely, likely, other))
    cuts = sorted(draw(st.lists(st.integers(1, len(answer)), max_size=3)))
    pieces = [answer[start:end] for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True) if start < end]
    gone = draw(st.sampled_from([False, False, False, True]))
    which = draw(st.sampled_from([usual] * 8 + list(range(len(SNAPSHOTS)))))
    return draw(st.sampled_from([raw, raw, raw, raw[:-1], b"\xff" + raw])), which, pieces[: -1 if gone else None], gone


@st.composite
def talks(draw: st.DrawFn) -> list[Question]:
    """A question as most are, then others like it, more or less."""
    form, usual = draw(forms()), draw(st.sampled_from([0] * 6 + list(range(len(SNAPSHOTS)))))
    good = framed(b"".join(map(sse, EVENTS)), kind="text/event-stream") if form[1] else framed(json.dumps(MESSAGE).encode())
    first = form[0](draw(st.sampled_from([MESSAGES[0]] * 4 + MESSAGES))), usual, [good], False
    return [first, *draw(st.lists(asked(form, usual), min_size=2, max_size=6))]


def heads() -> list[Call]:
    agent = {"x-claude-code-agent-id": "a", "anthropic-beta": "b1"}
    return [Call(body=b""), Call(body=b"", headers=agent), Call(body=b"", headers={"x-claude-code-session-id": "s"})]


async def both(
    talk: Sequence[Question],
    head: int = 0,
    then: Sequence[bytes] = (),
    snapshots: Sequence[Snapshot] = SNAPSHOTS,
    mood: Mood | None = None,
    slowly: bool = False,
) -> list[tuple[Seen, Seen]]:
    """Each question by one engine that remembers, and by one that never does. `mood`: of their stores, if they have any."""
    rote, plain = (ByHand(snapshots[0], KeptByHand(mood) if mood else None) for _ in range(2))
    rote.slowly = plain.slowly = slowly
    known, unknown = heads()[head], heads()[head]
    found: list[tuple[Seen, Seen]] = []
    for number, (body, which, pieces, gone) in enumerate(talk):
        rote.snapshot = plain.snapshot = snapshots[which]
        unknown.forms.clear()
        seen = await rote.asks(f"id{number}", known, body, pieces, ends=gone, then=then)
        found.append((seen, await plain.asks(f"id{number}", unknown, body, pieces, ends=gone, then=then)))
    return found


@pytest.mark.slow
@given(talks(), st.integers(0, 2), st.sampled_from([None, None, "willing", "willing", "slow", "unwilling"]))
@settings(max_examples=examples(200), deadline=None)
def test_by_rote_goes_what_would_have_gone_and_is_told_what_would_have_been_told(
    talk: list[Question], head: int, mood: Mood | None
) -> None:
    """Laws 2 and 5: a memo only skips what was decided before about the same bytes, under the same snapshot. Law 8: and with
    a store, the same is kept."""
    for by_rote_seen, seen in asyncio.run(both(talk, head, mood=mood)):
        assert by_rote_seen == seen


def question(words: str, **more: Any) -> bytes:
    return json.dumps({"model": OPUS, "messages": [user(words)], "max_tokens": 9, **more}).encode()


WHOLE = framed(json.dumps(MESSAGE).encode())
STREAM = framed(b"".join(map(sse, EVENTS)), kind="text/event-stream", chunked=True)
STARTED = framed(b"", kind="text/event-stream", chunked=True)[: -len(b"0\r\n\r\n")]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def block(index: int, block: dict[str, Any], *deltas: dict[str, Any], at: int | None = None) -> list[bytes]:
    """A block and its deltas; `at`: which block these are for, if not for it."""
    place = index if at is None else at
    return [
        sse({"type": "content_block_start", "index": index, "content_block": block}),
        *(sse({"type": "content_block_delta", "index": place, "delta": delta}) for delta in deltas),
        sse({"type": "content_block_stop", "index": index}),
    ]


TOOL: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "t", "input": {}}
WORD = {"type": "text_delta", "text": "yes"}
UNUSUAL = [
    block(
        0, TOOL, {"type": "input_json_delta", "partial_json": '{"a":'}, {"type": "input_json_delta", "partial_json": "1}"}
    ),
    block(0, TOOL, {"type": "input_json_delta", "partial_json": '{"a":'}),
    block(0, {"type": "fallback", "to": {"model": "claude-other"}}),
    block(0, {"type": "redacted_thinking", "data": "d"}) + block(1, {"type": "odd"}, WORD),
    block(0, {"type": "text", "text": "oh "}, WORD, {"type": "citations_delta", "citation": {}}),
    block(0, {"type": "text", "text": ""}, {"type": "thinking_delta", "thinking": "h"}),
    block(0, {"type": "text", "text": ""}, WORD, at=1),
    block(0, {"type": "text", "text": ""}, WORD) * 2,
    [each.replace(b'"yes"', b"yes") for each in block(0, {"type": "text", "text": ""}, WORD)],
]
"""What is between the start and the end of streams that are not like others, or not legal."""

ENDED = [
    [STARTED, *(chunk(sse(event)) for event in EVENTS), b"0\r\n\r\n"],
    *([STARTED, *(chunk(sse(event)) for event in EVENTS[:end]), chunk(sse(ERROR)), b"0\r\n\r\n"] for end in range(9)),
    *([STARTED, *map(chunk, [sse(EVENTS[0]), *odd, *map(sse, EVENTS[-2:])]), b"0\r\n\r\n"] for odd in UNUSUAL),
    [framed(b"{}", status="529 Overloaded")],
    [framed(b"{}", status="400 Bad Request")],
    [framed(json.dumps(ERROR).encode())],
    [WHOLE[:40], WHOLE[40:]],
    [STREAM, b"HTTP/1.1 200"],
    [STARTED + chunk(b"".join(map(sse, EVENTS))), b"0\r\n\r\n"],
]
BROKEN = [
    *([STARTED, *(chunk(sse(event)) for event in EVENTS[:end])] for end in range(len(EVENTS) + 1)),
    [STARTED, chunk(sse(EVENTS[4])), chunk(b"event: x\n")],
    [STARTED, chunk(b"".join(map(sse, EVENTS[:5]))), b"what"],
    [STARTED + chunk(b"".join(map(sse, EVENTS)))],
    [WHOLE[:-1]],
    [],
]


@pytest.mark.parametrize("mood", [None, "willing", "slow", "unwilling"])
@pytest.mark.parametrize("stream", [True, False])
def test_under_each_snapshot_the_same_question_has_the_same_end_three_times(stream: bool, mood: Mood | None) -> None:
    """Also where an answer is sealed, or counted, or asked for by another name; and with a store."""
    body, usual = question("hi", stream=stream), [STREAM if stream else WHOLE]
    for which in range(len(SNAPSHOTS)):
        for by_rote_seen, seen in asyncio.run(both([(body, which, usual, False)] * 3, mood=mood)):
            assert by_rote_seen == seen, which


@pytest.mark.parametrize("mood", [None, "willing", "unwilling"])
@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_whatever_an_answer_turns_out_to_be_it_ends_as_it_would_have(gone: bool, stream: bool, mood: Mood | None) -> None:
    """Wherever the way by rote is left, the other one goes on from there: a break, a refusal, another backend."""
    usual, body = (STREAM if stream else WHOLE), question("hi", stream=stream)
    for odd in [*ENDED, *BROKEN] if gone else ENDED:
        talk: list[Question] = [(body, 0, [usual], False), (body, 0, odd, gone), (body, 0, [usual], False)]
        for by_rote_seen, seen in asyncio.run(both(talk, then=[usual], mood=mood)):
            assert by_rote_seen == seen, odd


@pytest.mark.parametrize("mood", [None, "willing", "slow", "unwilling"])
@pytest.mark.parametrize("chunked", [True, False])
def test_an_answer_that_is_the_last_on_its_connection_is_asked_for_once(mood: Mood | None, chunked: bool) -> None:
    """The end of a connection that cannot be used again is no news to whoever has its answer."""
    last = framed(json.dumps(MESSAGE).encode(), "connection: close", chunked=chunked)
    for pieces in ([last], [last[:50], last[50:]], [last[:-3], last[-3:]]):
        for gone in (True, False):
            talk: list[Question] = [(question("one"), 0, [WHOLE], False), (question("two"), 0, pieces, gone)]
            for by_rote_seen, seen in asyncio.run(both(talk, mood=mood)):
                assert by_rote_seen == seen, (pieces, gone)
                assert len(seen.sent) == 1


def test_the_second_of_its_kind_goes_by_rote_and_others_do_not() -> None:
    """Else the property above would hold for nothing."""
    good, stream = [WHOLE], [STREAM]

    async def run() -> list[bool]:
        hand, call = ByHand(SNAPSHOTS[0]), Call(body=b"")
        await hand.asks("a", call, question("one"), good)
        await hand.asks("b", call, question("two"), good)
        await hand.asks("c", call, question("two", stream=True), stream)
        await hand.asks("d", call, question("three", stream=True), stream)
        await hand.asks("e", call, question("three", system="x"), good)
        hand.snapshot = SNAPSHOTS[1]
        await hand.asks("f", call, question("one"), good)
        await hand.asks("g", call, question("two"), good)
        return taken

    taken: list[bool] = []

    def noted(*asked: Any) -> bool:
        taken.append(by_rote(*asked))
        return taken[-1]

    with patch.object(engines, "by_rote", noted):
        assert asyncio.run(run()) == [False, True, False, True, False, False, True]


def test_what_fails_while_it_is_told_gives_its_connection_back_once() -> None:
    """Two exchanges must never share one."""

    async def run() -> int:
        hand, call = ByHand(SNAPSHOTS[0]), Call(body=b"")
        await hand.asks("a", call, question("one"), [WHOLE])
        with patch.object(hand.engine.parts.telling, "note", Mock(side_effect=[RuntimeError("odd"), None])):
            await hand.asks("b", call, question("two"), [WHOLE])
        return sum(len(form.stock.resting) for form in call.forms)

    assert asyncio.run(run()) <= 1


def test_who_has_let_its_connection_go_does_not_touch_it_again() -> None:
    """It may be somebody else's by then, while a turn waits for the store and its client leaves."""

    async def run() -> bool:
        hand, connection, news = ByHand(SNAPSHOTS[0]), ClientConnection(), Mock()
        express = Express(hand.engine.parts, Call(body=b""), Mock())
        express._on, connection.listener = connection, news
        express._let_go()  # as `cancel` does
        return connection.listener is news

    assert asyncio.run(run())


def test_a_form_is_learnt_once() -> None:
    """Also where the first questions of its kind come at the same time, and no connection rests for the second."""

    async def run() -> int:
        hand, call = ByHand(SNAPSHOTS[0]), Call(body=b"")
        for number in range(3):
            gone = number < 2  # so that no connection rests
            await hand.asks(f"i{number}", call, question("x"), [WHOLE], ends=gone)
        return len(call.forms)

    assert asyncio.run(run()) == 1


def test_no_more_forms_are_kept_than_a_client_has() -> None:
    """What a client can make us remember is bounded."""

    async def run() -> int:
        hand, call = ByHand(SNAPSHOTS[0]), Call(body=b"")
        for number in range(20):
            body = json.dumps({"model": OPUS, "messages": [user("x")], "max_tokens": number + 1}).encode()
            await hand.asks(f"i{number}", call, body, [framed(json.dumps(MESSAGE).encode())])
        long = json.dumps({"model": OPUS, "messages": [user("x")], "max_tokens": 1, "system": "x" * 10_000}).encode()
        await hand.asks("long", call, long, [framed(json.dumps(MESSAGE).encode())])
        assert not any(len(form.before) + len(form.after) > 9000 for form in call.forms)
        return len(call.forms)

    assert asyncio.run(run()) == 4


def test_with_a_store_answers_go_by_rote_and_those_in_a_session_do_not() -> None:
    """What a session did before is in the store."""

    async def run() -> list[int]:
        hand = ByHand(SNAPSHOTS[0], KeptByHand())
        calls = heads()
        await hand.asks("a", calls[0], question("one"), [WHOLE])
        await hand.asks("b", calls[1], question("one", stream=True), [STREAM])
        await hand.asks("c", calls[2], question("one"), [WHOLE])
        await hand.asks("d", calls[2], question("one", stream=True), [STREAM])
        return [len(call.forms) for call in calls]

    assert asyncio.run(run()) == [1, 1, 0]


def test_the_end_of_a_stream_that_was_kept_goes_out_in_one_write() -> None:
    """A write of its own for five bytes would wake the client once more."""

    async def run() -> list[bytes]:
        hand, call, writes, write = ByHand(SNAPSHOTS[0], KeptByHand()), Call(body=b""), list[bytes](), Plug.write
        await hand.asks("a", call, question("one", stream=True), [STREAM])
        with patch.object(Plug, "write", lambda plug, data: (writes.append(data), write(plug, data))):
            await hand.asks("b", call, question("two", stream=True), [STREAM])
        return [data for data in writes if data.endswith(b"0\r\n\r\n")]

    [end] = asyncio.run(run())
    assert b"message_stop" in end


def test_a_stream_that_lasts_is_kept_while_it_comes_and_ends_as_it_would_have() -> None:
    """A process that dies does not take along what came: after a moment it is kept as open, as any other is."""
    which = next(at for at, each in enumerate(SNAPSHOTS) if each.settings.store.bodies == "off")
    body, usual = question("hi", stream=True), [STREAM]

    async def run(odd: list[bytes], gone: bool) -> list[tuple[Seen, Seen]]:
        talk: list[Question] = [(body, which, usual, False), (body, which, odd, gone), (body, which, usual, False)]
        return await both(talk, then=usual, mood="willing", slowly=True)

    with (
        patch("clew.engine.rote.streams.FIRST_FLUSH", 0.0),
        patch.object(Express, "go_on_streaming", autospec=True, side_effect=Express.go_on_streaming) as lasted,
        patch.object(KeptByHand, "record_open", autospec=True, side_effect=KeptByHand.record_open) as opened,
    ):
        for odd, gone in [*((each, False) for each in ENDED), *((each, True) for each in [*ENDED, *BROKEN])]:
            for by_rote_seen, seen in asyncio.run(run(odd, gone)):
                assert by_rote_seen == seen, odd
    assert lasted.call_count > 20
    assert opened.call_count > 20


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_while_its_turn_is_kept_takes_nothing_along(stream: bool) -> None:
    """Law 8 does not depend on who waits: the turn is kept, told once, and its connection serves the next."""
    answer = [STREAM if stream else WHOLE]

    async def run() -> tuple[int, int, int]:
        store = KeptByHand()
        hand, call = ByHand(SNAPSHOTS[0], store), Call(body=b"")
        await hand.asks("a", call, question("one", stream=stream), answer)
        store.mood, hand.engine.parts.commit_seconds = "slow", 0.2
        store.came.clear()
        asking = asyncio.create_task(hand.asks("b", call, question("two", stream=stream), answer))
        await store.came.wait()
        assert hand.client is not None
        assert hand.client.responder.holder is not None
        assert b"end_turn" not in hand.client.plug.written, "the turn is kept first"
        hand.client.responder.holder.cancel()
        seen = await asking
        return len(seen.told), len(seen.kept), sum(len(form.stock.resting) for form in call.forms)

    assert asyncio.run(run()) == (1, 1, 1)


def test_what_an_answer_brought_under_the_session_policy_is_known_to_the_next_request() -> None:
    """Its table is not of this request alone, so nothing that it decides about is learnt by rote."""
    sessions = next(at for at, each in enumerate(SNAPSHOTS) if each.settings.thinking.policy == "session")
    thoughts = [WHOLE.replace(b'"thinking": "h"', b'"thinking": "%b"' % words) for words in (b"1", b"2")]
    told = [user("hi"), assistant(thinking("2", "s"), text("yes")), user("go on")]
    talk: list[Question] = [(question("hi"), sessions, [answer], False) for answer in thoughts]
    talk.append((json.dumps({"model": OPUS, "messages": told, "max_tokens": 9}).encode(), sessions, [WHOLE], False))
    for by_rote_seen, seen in asyncio.run(both(talk)):
        assert by_rote_seen == seen
