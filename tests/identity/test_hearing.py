"""How the imitation reads a stream: clients 1.5 and 1.9."""

from tests.build import Json, redacted, text, thinking, tool_use
from tests.identity.hearing import heard


def start(index: int, block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, field: str, value: str) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: value}}


def stop(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def test_pieces_make_blocks() -> None:
    """Thinking with a signature, text, a tool's input, a redacted block."""
    events = [
        {"type": "message_start", "message": {}},
        start(0, thinking("", "")),
        delta(0, "thinking_delta", "thinking", "a"),
        delta(0, "thinking_delta", "thinking", "b"),
        delta(0, "signature_delta", "signature", "S"),
        stop(0),
        start(1, redacted("d")),
        stop(1),
        start(2, text("")),
        delta(2, "text_delta", "text", "hi"),
        stop(2),
        start(3, tool_use("t")),
        delta(3, "input_json_delta", "partial_json", '{"command":'),
        delta(3, "input_json_delta", "partial_json", ' "ls"}'),
        stop(3),
        {"type": "message_stop"},
    ]

    assert heard(events) == [thinking("ab", "S"), redacted("d"), text("hi"), tool_use("t", command="ls")]


def test_what_stands_in_the_start_is_lost() -> None:
    """Text, signature and tool input must come as deltas; unknown blocks are kept verbatim."""
    blocks = [thinking("lost", "lost"), tool_use("t", command="lost"), {"type": "novel", "x": 1}]
    events = [event for i, block in enumerate(blocks) for event in (start(i, block), stop(i))]

    assert heard(events) == [thinking("", ""), tool_use("t"), {"type": "novel", "x": 1}]


def test_only_the_last_signature_survives() -> None:
    """A signature in two parts is truncated."""
    events = [
        start(0, thinking("", "")),
        delta(0, "signature_delta", "signature", "one"),
        delta(0, "signature_delta", "signature", "two"),
        stop(0),
    ]

    assert heard(events) == [thinking("", "two")]


def test_a_block_without_its_stop_has_never_been() -> None:
    """It vanishes from history, and so does a delta before any start."""
    events = [
        delta(7, "text_delta", "text", "x"),
        start(0, text("")),
        delta(0, "text_delta", "text", "x"),
        start(1, redacted("d")),
        stop(1),
    ]

    assert heard(events) == [redacted("d")]


def test_a_tool_input_that_is_no_json_stays_text_and_an_empty_one_is_an_object() -> None:
    """To be wrapped when it is sent back."""
    events = [
        start(0, tool_use("t")),
        delta(0, "input_json_delta", "partial_json", '{"a'),
        stop(0),
        start(1, tool_use("u")),
        stop(1),
    ]

    assert heard(events) == [{**tool_use("t"), "input": '{"a'}, tool_use("u")]
