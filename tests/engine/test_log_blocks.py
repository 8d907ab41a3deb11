"""The life of a block in the log: for streams in another dialect, and only where somebody debugs them."""

from __future__ import annotations

from functools import partial

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.pipeline.stream.translation import TracedReader
from tests.engine.logs import Written
from tests.manifest import proves
from tests.model.streams import reads
from tests.store.turns import recorded, turn

STREAM = (
    b'data: {"choices":[{"index":0,"delta":{"reasoning":"a"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"reasoning":"b"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":"c"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def _told(written: Written) -> list[dict[str, object]]:
    translation = TracedReader(ChatStreamReader(AnswerContext(model="m"), ChatOptions()), partial(written.log.lived, "x1"))
    for read in reads(STREAM):
        list(translation.feed(read))
    list(translation.flush())
    return written.lines()


def _line(level: str, event: str, state: str, index: int, kind: str, deltas: int) -> dict[str, object]:
    fields = {"exchange": "x1", "state": state, "index": index, "type": kind, "delta_count": deltas}
    return {"level": level, "event": event, **fields}


@proves("req:S3-35", "req:S3-36")
def test_a_block_says_when_it_starts_and_stops_and_after_how_many_deltas() -> None:
    """S3-35, S3-36; the seal's own delta is one of them."""
    assert _told(Written(level="debug", debug=True)) == [
        _line("debug", "Started thinking block", "started", 0, "thinking", 0),
        _line("debug", "Closed thinking block, transitioning to content", "stopped", 0, "thinking", 3),
        _line("debug", "Started text block", "started", 1, "text", 0),
        _line("debug", "Closed text block", "stopped", 1, "text", 1),
    ]


@proves("req:S3-35")
def test_each_delta_has_a_line_with_its_index_where_traces_are_asked_for() -> None:
    lines = _told(Written(level="trace", debug=True))
    deltas = [(line["index"], line["type"]) for line in lines if line["event"] == "delta"]
    thoughts = ["thinking_delta", "thinking_delta", "signature_delta"]
    assert deltas == [*((0, each) for each in thoughts), (1, "text_delta")]


@proves("req:S3-35", "req:S3-36")
def test_a_block_in_which_the_stream_broke_off_has_a_last_line_too() -> None:
    """However it broke: the end of the request says so."""
    written, whole = Written(level="debug", debug=True), turn(recorded("r")).exchange
    reader = ChatStreamReader(AnswerContext(model="m"), ChatOptions())
    list(TracedReader(reader, partial(written.log.lived, whole.id)).feed(STREAM.partition(b"\n\n")[0] + b"\n\n"))
    written.log.finished(whole, None)
    *_, broken, _ = written.lines()
    fields = {"state": "stopped", "index": 0, "type": "thinking", "delta_count": 1}
    assert broken == {"level": "debug", "event": "Broke off thinking block", "exchange": whole.id, **fields}


@proves("req:S3-35")
def test_without_debug_there_is_none() -> None:
    assert _told(Written(level="trace")) == []


def test_a_followed_translation_says_what_it_would_have_said_anyway() -> None:
    plain = ChatStreamReader(AnswerContext(model="m"), ChatOptions())
    followed = TracedReader(ChatStreamReader(AnswerContext(model="m"), ChatOptions()), lambda *_: None)
    assert [*followed.feed(STREAM), *followed.flush()] == [*plain.feed(STREAM), *plain.flush()]
