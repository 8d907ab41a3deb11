"""What an answer from outside the realm `anthropic` wears: seals, safe tool ids, or no thinking at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import StreamIllegal
from clew.model.blocks import THINKING_TYPES
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import AnswerContent
from clew.model.unfold import events_of
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.sealed_blocks import SealedBlocks
from clew.thinking.keys import answer_content, block_key
from clew.thinking.seal import INLINE_LIMIT, Seal, named_key
from clew.wire.events import encode_event
from tests.counts import examples
from tests.manifest import proves
from tests.model import streams
from tests.model.test_unfold import WHOLE
from tests.pipeline.stream.wearing import (
    ASKED,
    EXCHANGE,
    FOREIGN,
    HIDDEN,
    MAKER,
    REFERENCE,
    SEALED,
    SEALER,
    Passed,
    accumulated,
    answer_of,
    completed,
    events_in,
    odd_answers,
    passed_answer,
    wear,
)
from tests.properties.stream_strategies import cut, wire_bytes

worn = st.sampled_from(FOREIGN)


def said(events: list[Event], dress: ViewOptions) -> tuple[list[JsonObject], list[JsonObject]]:
    """The blocks as the maker said them, and as the client accumulates them."""
    passed = Passed([wire_bytes(events)], dress)
    return completed(accumulated(passed.relay.raw)), completed(accumulated(passed.all))


def proof(block: JsonObject) -> str:
    return str(block.get("signature" if block["type"] == "thinking" else "data") or "")


def opened(block: JsonObject) -> Seal:
    return SEALER.open(proof(block), str(block.get("thinking", "")), principal="local")


def thinking_in(blocks: list[JsonObject]) -> list[tuple[int, JsonObject]]:
    return [(index, block) for index, block in enumerate(blocks) if block["type"] in THINKING_TYPES]


def visible(blocks: list[JsonObject]) -> list[JsonObject]:
    """Without thinking, and tool calls without their ids."""
    rest = [block for block in blocks if block["type"] not in THINKING_TYPES]
    return [{**block, "id": ""} if block["type"] == "tool_use" else block for block in rest]


@proves("req:C10")
@given(events=odd_answers())
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_every_seal_opens_and_carries_what_the_maker_wants_back(events: list[Event]) -> None:
    """Design §4, C10: whatever the maker sent, none, an empty one, several, or one in the start."""
    own, held = said(events, SEALED)

    assert [(index, block["type"], block.get("thinking")) for index, block in thinking_in(held)] == [
        (index, block["type"], block.get("thinking")) for index, block in thinking_in(own)
    ]
    assert [opened(block) for _, block in thinking_in(held)] == [
        Seal("local", MAKER, EXCHANGE, index, proof(block).encode()) for index, block in thinking_in(own)
    ]
    assert visible(held) == visible(own)


@proves("req:S3-32")
@given(events=odd_answers())
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_a_thinking_block_gets_one_signature_and_that_just_before_its_stop(events: list[Event]) -> None:
    """S3-32, as the official SDKs read it: the last signature wins, and none may follow."""
    passed = Passed([wire_bytes(events)], SEALED)
    kinds: dict[int, list[str]] = {}
    for event in events_in(passed.all):
        if isinstance(event, BlockStart) and event.block_type == "thinking":
            kinds[event.index] = []
            assert (event.content_block["thinking"], event.content_block["signature"]) == ("", "")
        elif isinstance(event, BlockDelta | BlockStop) and event.index in kinds:
            kinds[event.index].append(event.kind if isinstance(event, BlockDelta) else event.type)
            assert not isinstance(event, BlockDelta) or event.kind != "signature_delta" or event.delta["signature"]
    for each in kinds.values():
        assert each[-2:] == ["signature_delta", "content_block_stop"]
        assert each.count("signature_delta") == 1


@given(events=odd_answers(), dress=worn)
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_the_recording_knows_what_the_client_holds(events: list[Event], dress: ViewOptions) -> None:
    """`Dress.held` is what a client accumulates from the dressed stream, block by block."""
    passed = Passed([wire_bytes(events)], dress)
    held = passed.dress.held(completed(accumulated(passed.relay.raw)))
    assert [json.loads(block.raw) for block in held] == completed(accumulated(passed.all))


@given(events=odd_answers(), dress=worn, data=st.data())
@settings(max_examples=examples(30, soak=2000), deadline=None)
def test_what_the_client_gets_does_not_depend_on_the_cut(
    events: list[Event], dress: ViewOptions, data: st.DataObject
) -> None:
    stream = wire_bytes(events)
    chunks = cut(stream, data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    assert Passed(chunks, dress).all == Passed([stream], dress).all


@given(events=odd_answers(), dress=worn)
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_streamed_or_not_the_client_gets_the_same_blocks(events: list[Event], dress: ViewOptions) -> None:
    """S3-30 for this dialect: and the recording is the same too."""
    passed = Passed([wire_bytes(events)], dress)
    answer = answer_of(passed.relay.raw)
    whole = ClientView(dress)
    message: Any = whole.show_message(answer.message)

    assert message == {**answer.message, "model": ASKED, "content": completed(accumulated(passed.all))}
    assert [each.raw for each in whole.held(answer.blocks)] == [each.raw for each in passed.dress.held(answer.blocks)]


@given(events=odd_answers())
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_hidden_thinking_leaves_no_trace_and_no_gap(events: list[Event]) -> None:
    """`show_reasoning = "hide"`: nothing foreign ever reaches the client's history."""
    passed = Passed([wire_bytes(events)], HIDDEN)
    told = events_in(passed.all)
    starts = [event.index for event in told if isinstance(event, BlockStart)]
    own = completed(accumulated(passed.relay.raw))
    assert starts == list(range(len(visible(own))))
    assert visible(completed(accumulated(passed.all))) == visible(own)
    assert not [event for event in told if isinstance(event, BlockStart) and event.block_type in THINKING_TYPES]


def test_an_answer_of_hidden_thinking_alone_is_an_empty_answer() -> None:
    block = [streams.start_thinking(0), streams.thinking(0, "Hm."), streams.stop(0)]
    passed = Passed([wire_bytes([streams.opening(), *block, streams.ending(), streams.DONE])], HIDDEN)
    assert [event.type for event in events_in(passed.all)] == ["message_start", "message_delta", "message_stop"]


@pytest.mark.parametrize("size", [1, INLINE_LIMIT, INLINE_LIMIT + 1])
@pytest.mark.parametrize("dress", [SEALED, REFERENCE], ids=["inline", "reference"])
def test_a_payload_that_is_too_large_or_must_not_travel_stays_in_the_store(size: int, dress: ViewOptions) -> None:
    """Design §4: above 16 KiB, or with `seal = "reference"`, the seal holds only the block's key."""
    signature = "s" * size
    block = [streams.start_thinking(0), streams.thinking(0, "Hm."), streams.signature(0, signature), streams.stop(0)]
    _, [held] = said([streams.opening(), *block], dress)
    seal = opened(held)
    by_reference = size > INLINE_LIMIT or dress is REFERENCE
    assert seal.reference is by_reference
    assert seal.payload == (block_key("thinking", signature) if by_reference else signature.encode())


def test_what_has_no_signature_has_nothing_to_refer_to() -> None:
    block = [streams.start_thinking(0), streams.thinking(0, "Hm."), streams.stop(0)]
    _, [held] = said([streams.opening(), *block], REFERENCE)
    assert opened(held) == Seal("local", MAKER, EXCHANGE, 0, b"", False)


@given(events=odd_answers())
@settings(max_examples=examples(30, soak=1000), deadline=None)
def test_the_seal_of_a_maker_that_wants_no_signature_back_carries_none(events: list[Event]) -> None:
    """`signed = false`: redacted data goes back all the same, since it is all that there is."""
    own, held = said(events, wear(sealer=SEALER, carries=False))
    assert [opened(block).payload for _, block in thinking_in(held) if block["type"] == "thinking"] == [
        b"" for _, block in thinking_in(own) if block["type"] == "thinking"
    ]
    assert [opened(block).payload for _, block in thinking_in(held) if block["type"] != "thinking"] == [
        proof(block).encode() for _, block in thinking_in(own) if block["type"] != "thinking"
    ]


def calls(*ids: str) -> list[Event]:
    blocks = [
        [streams.start(index, "tool_use", id=id, name="Bash", input={}), streams.stop(index)] for index, id in enumerate(ids)
    ]
    return [streams.opening(), *(event for block in blocks for event in block), streams.ending("tool_use"), streams.DONE]


def test_every_tool_call_gets_an_id_of_its_own_however_its_maker_numbers() -> None:
    """Design §4: `call_0`, `functions.Bash:3` and empty ids exist."""
    _, first = said(calls("call_0", "call_0", "", "functions.Bash:3"), SEALED)
    _, second = said(calls("call_0", "call_0", "", "functions.Bash:3"), wear(sealer=SEALER, safe_ids=True, exchange="019a"))
    ids = [block["id"] for block in (*first, *second)]
    assert len(set(ids)) == 8
    assert ids[:4] == [f"toolu_{EXCHANGE}_{index}" for index in range(4)]


def test_ids_of_a_backend_that_numbers_well_pass() -> None:
    _, held = said(calls("toolu_1", "toolu_2"), wear(sealer=SEALER))
    assert [block["id"] for block in held] == ["toolu_1", "toolu_2"]


def test_server_tools_keep_their_ids() -> None:
    """Their results stand in the same answer and name them."""
    answer = {**WHOLE, "content": [block for block in WHOLE["content"] if "server" in str(block)]}  # type: ignore[union-attr]
    own, held = said([*events_of(answer, chunk=5)], SEALED)
    assert held == own


def test_only_what_must_be_dressed_is_written_anew() -> None:
    """Law 5: every other event is the maker's, byte for byte."""
    stream = wire_bytes([*events_of(WHOLE, chunk=3)])
    went = Passed([stream], SEALED).all.split(b"\n\n")
    own = set(stream.split(b"\n\n"))
    anew = [json.loads(each.partition(b"data: ")[2]) for each in went if each not in own]
    kinds = [(each["type"], each.get("delta", each.get("content_block", {})).get("type")) for each in anew]
    assert kinds == [
        ("message_start", None),
        ("content_block_delta", "signature_delta"),
        ("content_block_delta", "signature_delta"),
        ("content_block_delta", "signature_delta"),
        ("content_block_start", "redacted_thinking"),
        ("content_block_start", "tool_use"),
        ("content_block_start", "tool_use"),
    ]


def test_an_event_of_the_block_is_passed_as_it_came_where_nothing_changes() -> None:
    events = [streams.start_thinking(0), streams.thinking(0, "Hm."), streams.stop(0), streams.start_text(1), streams.stop(1)]
    went = Passed([wire_bytes([streams.opening(), *events])], SEALED).all
    assert all(encode_event(event) in went for event in events)


def test_what_is_redacted_is_told_with_its_stop_and_never_by_half() -> None:
    """Its seal may refer to the store, which keeps a block that has come to its stop; one that never does is not told of."""
    sealing = SealedBlocks(ClientView(REFERENCE))
    start, stop = BlockStart(0, {"type": "redacted_thinking", "data": "x"}), streams.stop(0)
    assert sealing.feed(start) == ()
    shown, last = sealing.feed(stop)
    assert isinstance(shown, BlockStart) and last is stop


def test_a_seal_covers_deltas_of_every_spelling_in_their_order() -> None:
    """Runs are read together at the stop, a delta that is spelled otherwise at once: neither overtakes the other."""
    words = ["a", "b", "c", "\ud83d", "\ude00", "d"]
    deltas = [json.dumps({"type": "thinking_delta", "thinking": word}, separators=(",", ":")) for word in words]
    usual = '{"type":"content_block_delta","index":0,"delta":%s}'
    odd = '{"index": 0, "type":"content_block_delta", "delta":%s}'
    spelled = [odd % each if number in (2, 5) else usual % each for number, each in enumerate(deltas)]
    run = "".join(f"event: content_block_delta\ndata: {each}\n\n" for each in spelled).encode()
    start, stop = wire_bytes([streams.opening(), streams.start_thinking(0)]), wire_bytes([streams.stop(0)])

    for chunks in ([start + run + stop], [start, run, stop], [bytes([byte]) for byte in start + run + stop]):
        [block] = completed(accumulated(Passed(chunks, SEALED).all))
        assert block["thinking"] == "abc😀d"
        assert opened(block) == Seal("local", MAKER, EXCHANGE, 0)


def test_thinking_that_cannot_be_read_gets_no_seal() -> None:
    """Broken JSON in a run is found when the run is read: at the stop, which then does not go out."""
    start = wire_bytes([streams.opening(), streams.start_thinking(0)])
    broken = (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta"\n\n'
    )
    relay = passed_answer(ClientView(SEALED))
    relay.feed(start + broken)

    with pytest.raises(StreamIllegal, match="cannot be read"):
        relay.feed(wire_bytes([streams.stop(0)]))


# ── for clients that lose the text

WHOLE_SEALS = wear(sealer=SEALER, whole=True)
CLAUDES = wear(sealer=SEALER, whole=True, origin=Origin("anthropic", "claude", "claude-opus-5-5"))


@given(events=odd_answers(), dress=st.sampled_from([WHOLE_SEALS, CLAUDES]))
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_a_whole_seal_brings_the_block_that_the_maker_said(events: list[Event], dress: ViewOptions) -> None:
    own, held = said(events, dress)

    for (index, block), (_, shown) in zip(thinking_in(own), thinking_in(held), strict=True):
        seal = SEALER.open(proof(shown), "what a client makes of it", principal="local")
        assert (seal.kind, seal.index, seal.payload.decode("utf-8", "surrogatepass")) == (block["type"], index, proof(block))
        assert seal.text == str(block.get("thinking", ""))


def test_the_key_of_claudes_sealed_block_is_that_of_the_block_and_anothers_is_its_own() -> None:
    """Claude's strands are rows of its own blocks. The proofs of others may be alike."""
    block: JsonObject = {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}
    claudes, others = ClientView(CLAUDES), ClientView(WHOLE_SEALS)
    first, second = others.show_block(0, block), others.show_block(1, block)

    assert named_key(proof(claudes.show_block(0, block))) == block_key("thinking", "EqQB")
    assert named_key(proof(first)) != named_key(proof(second))


def test_a_whole_block_above_the_limit_stays_in_the_store_which_is_told_first() -> None:
    told: list[str] = []
    view = ClientView(CLAUDES)
    view.when_referring = lambda: told.append("told")
    block: JsonObject = {"type": "thinking", "thinking": "x" * INLINE_LIMIT, "signature": "EqQB"}

    seal = SEALER.open(proof(view.show_block(0, block)), "", principal="local")

    assert (seal.reference, seal.text, seal.payload, told) == (True, "", b"", ["told"])
    assert seal.key == block_key("thinking", "EqQB")


def test_a_client_that_joins_texts_holds_them_as_one() -> None:
    view = ClientView(wear(sealer=SEALER, joins_texts=True))
    blocks: list[JsonObject] = [
        {"type": "text", "text": "a "},
        {"type": "tool_use", "id": "t"},
        {"type": "text", "text": "b"},
    ]

    assert answer_content(view.held(blocks)) == AnswerContent(("t",), ("a b",))
