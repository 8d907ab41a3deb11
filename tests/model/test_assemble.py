"""Events to message: what the official SDKs accumulate, and what they fail to refuse."""

import pytest

from clew.errors import BlockMismatch, StreamIllegal
from clew.model.assemble import AssembledBlock, Assembler, assemble
from clew.model.events import Event, MessageDelta, Unknown
from clew.model.json import JsonObject
from clew.model.lifecycle import STRICT
from tests.manifest import accepts, proves, refuses
from tests.model.streams import (
    DONE,
    PING,
    citation,
    compaction,
    ending,
    failed,
    json_piece,
    opening,
    signature,
    start,
    start_text,
    start_thinking,
    start_tool,
    stop,
    text,
    thinking,
    unknown_delta,
)


def content(*events: Event) -> object:
    return assemble([opening(), *events])["content"]


def fed(*events: Event) -> Assembler:
    assembler = Assembler()
    for event in (opening(), *events):
        assembler.feed(event)
    return assembler


@proves("req:S0-45")
@accepts("rule:R66", "rule:R70")
def test_thinking_its_signature_and_text_become_two_blocks() -> None:
    """S0-45."""
    message = assemble(
        [
            opening(),
            start_thinking(0),
            PING,
            thinking(0, "a"),
            thinking(0, "b"),
            signature(0, "S"),
            stop(0),
            start_text(1),
            text(1, "hel"),
            text(1, "lo"),
            stop(1),
            ending(),
            DONE,
        ]
    )

    assert message == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "thinking", "thinking": "ab", "signature": "S"}, {"type": "text", "text": "hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


@proves("req:S0-46")
@accepts("rule:R70")
def test_a_second_signature_replaces_the_first() -> None:
    """S0-46: assign, not append, as the official SDKs and Claude Code do."""
    block: JsonObject = {"type": "thinking", "thinking": "", "signature": "second"}

    assert content(start_thinking(0), signature(0, "first"), signature(0, "second"), stop(0)) == [block]


def test_a_signature_ahead_of_its_text_counts() -> None:
    """clients 1.5: signature_delta before the thinking deltas is fine."""
    block: JsonObject = {"type": "thinking", "thinking": "t", "signature": "S"}

    assert content(start_thinking(0), signature(0, "S"), thinking(0, "t"), stop(0)) == [block]


@proves("req:S0-47")
def test_a_signature_for_a_text_block_is_refused() -> None:
    """S0-47."""
    assembler = fed(start_text(0), text(0, "a"))
    with pytest.raises(BlockMismatch, match="Content block is not a thinking block") as caught:
        assembler.feed(signature(0, "S"))

    assert caught.value.name == "content_block_type_mismatch_thinking_signature"
    assert assembler.message()["content"] == [{"type": "text", "text": "a"}]


@proves("req:S0-49")
@refuses("rule:R70")
@pytest.mark.parametrize("event", [thinking(0, "t"), text(5, "a"), stop(1), start_text(2)], ids=repr)
def test_what_does_not_fit_is_refused_and_leaves_the_message_as_it_was(event: Event) -> None:
    """S0-49. The SDK skips a delta of the wrong type and crashes on an unknown index."""
    assembler = fed(start_text(0), text(0, "a"))
    before = (assembler.message(), assembler.blocks())
    with pytest.raises(StreamIllegal):
        assembler.feed(event)

    assert (assembler.message(), assembler.blocks()) == before


@proves("req:S0-48")
@accepts("rule:R71")
@pytest.mark.parametrize("begin", [start_thinking(0), start(0, "thinking", thinking="")], ids=["empty", "absent"])
def test_a_block_that_was_never_signed_is_marked(begin: Event) -> None:
    """S0-48, R71: signature is "" or absent, as it came."""
    done = fed(begin, thinking(0, "t")).feed(stop(0))

    assert done is not None
    assert (done.unsigned, done.block.get("signature", "")) == (True, "")


@proves("req:S0-50")
@accepts("rule:R66")
@pytest.mark.parametrize("deltas", [[], [thinking(0, "")]], ids=["no delta", "one empty delta"])
def test_omitted_thinking_is_a_whole_block(deltas: list[Event]) -> None:
    """S0-50, C-11: display omitted, both forms of it. Never empty, never deleted."""
    done = fed(start_thinking(0), *deltas, signature(0, "S")).feed(stop(0))

    assert done == AssembledBlock(0, {"type": "thinking", "thinking": "", "signature": "S"}, complete=True, unsigned=False)


@accepts("rule:R71")
def test_a_block_counts_from_its_stop_event() -> None:
    """C8: a caller records the block when `feed` returns it; a cut stream leaves the last one incomplete."""
    assembler = Assembler()
    events = [opening(), start_thinking(0), signature(0, "S"), stop(0), PING, start_text(1), text(1, "cut of")]
    signed = AssembledBlock(0, {"type": "thinking", "thinking": "", "signature": "S"}, complete=True, unsigned=False)

    assert [assembler.feed(event) for event in events] == [None, None, None, signed, None, None, None]
    assert assembler.blocks() == [
        signed,
        AssembledBlock(1, {"type": "text", "text": "cut of"}, complete=False, unsigned=False),
    ]


@accepts("rule:R66", "rule:R70")
@pytest.mark.parametrize(
    ("pieces", "value"),
    [
        ([], {}),
        ([""], {}),
        (["", "{}"], {}),
        (
            ["", '{"path": "o', '.py", "n": [1, 2.0', ", 12345678901234567890123]}"],
            {"path": "o.py", "n": [1, 2.0, 12345678901234567890123]},
        ),
    ],
)
def test_tool_input_is_the_json_of_its_pieces(pieces: list[str], value: JsonObject) -> None:
    """R66: concatenation is JSON, empty is {}."""
    assert content(start_tool(0), *(json_piece(0, piece) for piece in pieces), stop(0)) == [
        {"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": value}
    ]


@accepts("rule:R66")
def test_a_tool_call_that_max_tokens_cut_keeps_its_whole_values_and_is_incomplete() -> None:
    """R66: no content_block_stop for that block."""
    assembler = fed(start_tool(0), json_piece(0, '{"path":"o.py","text":"cut o'), ending("max_tokens"), DONE)

    assert assembler.blocks() == [
        AssembledBlock(
            0,
            {"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": {"path": "o.py"}},
            complete=False,
            unsigned=False,
        )
    ]
    assert assembler.message()["stop_reason"] == "max_tokens"


@accepts("rule:R66")
def test_tool_input_that_is_no_json_is_kept_as_text() -> None:
    """R66: with eager input streaming it may end as invalid JSON; the SDK raises, a recorder must not."""
    done = fed(start_tool(0), json_piece(0, '{"a":1, b')).feed(stop(0))

    assert done is not None
    assert (done.complete, done.block["input"], done.unparsed) == (True, {"a": 1}, '{"a":1, b')


@accepts("rule:R66")
def test_citations_pile_up() -> None:
    cited = [{"type": "char_location", "cited_text": "x"}, {"type": "char_location", "cited_text": "y"}]

    assert content(start_text(0), text(0, "a"), citation(0, "x"), citation(0, "y"), stop(0)) == [
        {"type": "text", "text": "a", "citations": cited}
    ]


@accepts("rule:R66", "rule:R70")
def test_a_compaction_delta_fills_the_block() -> None:
    assert content(start(0, "compaction", content=None), compaction(0, content="sum", encrypted_content="E"), stop(0)) == [
        {"type": "compaction", "content": "sum", "encrypted_content": "E"}
    ]


@accepts("rule:R72", "rule:R70")
def test_a_fallback_block_renames_the_model() -> None:
    """R70, R72: the last hop's block names the model that served the answer."""
    hop = start(0, "fallback", **{"from": {"model": "claude-opus-5-5"}, "to": {"model": "claude-sonnet-5-5"}})

    assert assemble([opening(), hop, stop(0)])["model"] == "claude-sonnet-5-5"


@accepts("rule:R66")
def test_unknown_blocks_stay_as_they_came_and_unknown_deltas_change_nothing() -> None:
    assert content(
        start(0, "mystery", x=1),
        unknown_delta(0),
        text(0, "a"),
        stop(0),
        start_text(1),
        unknown_delta(1),
        stop(1),
        Unknown("future", b"{}"),
    ) == [{"type": "mystery", "x": 1}, {"type": "text", "text": ""}]


@accepts("rule:R67", "rule:R70")
def test_usage_is_cumulative_and_null_leaves_what_was_there() -> None:
    """R67, R70: totals overwrite the values of message_start; absent and null ones let them stand."""
    first = opening(usage={"input_tokens": 10, "cache_read_input_tokens": 7, "output_tokens": 1, "service_tier": "standard"})
    last = ending("end_turn", input_tokens=12, cache_read_input_tokens=None, output_tokens_details={"thinking_tokens": 3})

    assert assemble([first, ending(None), last, DONE])["usage"] == {
        "input_tokens": 12,
        "cache_read_input_tokens": 7,
        "output_tokens": 5,
        "service_tier": "standard",
        "output_tokens_details": {"thinking_tokens": 3},
    }


@accepts("rule:R67", "rule:R68")
def test_the_end_brings_its_reason_and_what_came_with_it() -> None:
    """R67, R68: stop fields, container, context_management and input_transformations arrive in message_delta."""
    refusal: JsonObject = {"type": "refusal", "category": "cyber", "explanation": None}
    end = MessageDelta(
        {"stop_reason": "refusal", "stop_sequence": None, "stop_details": refusal, "container": {"id": "c"}},
        {"output_tokens": 5},
        extra={"context_management": {"applied_edits": []}, "input_transformations": None},
    )
    message = assemble([opening(container=None, input_transformations=[]), end, DONE])

    assert {name: message[name] for name in ("stop_reason", "stop_details", "container", "context_management")} == {
        "stop_reason": "refusal",
        "stop_details": refusal,
        "container": {"id": "c"},
        "context_management": {"applied_edits": []},
    }
    assert message["input_transformations"] == []


@accepts("rule:R69")
def test_an_error_leaves_what_came_before_it() -> None:
    """R69: the blocks that were whole stay so."""
    assembler = fed(start_text(0), text(0, "a"), stop(0), start_text(1), failed())

    assert [block.complete for block in assembler.blocks()] == [True, False]


@refuses("rule:R70")
def test_there_is_no_message_before_its_start() -> None:
    """R70: message_start must be first."""
    assembler = Assembler()
    assembler.feed(PING)
    with pytest.raises(StreamIllegal):
        assembler.feed(start_text(0))
    with pytest.raises(StreamIllegal, match="no message before message_start"):
        assembler.message()


def test_the_events_that_were_fed_are_not_changed() -> None:
    begin, first = start_text(0), opening()
    assembler = Assembler(STRICT)
    for event in (first, begin, citation(0, "x"), text(0, "a"), stop(0), ending(), DONE):
        assembler.feed(event)

    assert (begin, first) == (start_text(0), opening())


@pytest.mark.slow
def test_long_blocks_cost_linear_time() -> None:
    """200,000 pieces in well under the test's time limit; appending strings would copy gigabytes."""
    done = fed(start_text(0), *(text(0, "abcdefgh") for _ in range(200_000))).feed(stop(0))

    assert done is not None
    assert len(str(done.block["text"])) == 1_600_000
