"""A summary in place of an answer: how it is asked for, and what the client gets of it."""

import json
from collections.abc import Iterator, Sequence

import pytest

from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStart, MessageStop
from clew.model.json import JsonObject
from clew.model.unfold import events_of
from clew.pipeline.compaction import PROMPT, SummaryReader, ask_for_summary, with_summary
from clew.wire.requests import encode
from tests.build import assistant, request, text, thinking, tool_result, tool_use, user


class Told:
    """Reads these events, one with each feed."""

    late: JsonObject | None = None

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = iter(events)

    def begin(self) -> Sequence[Event]:
        return ()

    def feed(self, data: bytes) -> Sequence[Event]:
        return [next(self._events)]

    def flush(self) -> Iterator[Event]:
        return self._events


def sealed(words: str) -> str:
    return f"clew1.{words}"


def answer(*content: JsonObject) -> JsonObject:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [*content],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 4},
    }


SPOKEN = answer(thinking("Hm."), text("They want "), tool_use("toolu_1"), text("a parser.\n"))


def test_the_wish_for_a_summary_is_the_last_message_and_everything_before_stays() -> None:
    asked = request(user("Write a parser."), assistant(text("I wrote it.")), user("Thanks."), tools=[{"name": "Bash"}])
    going = ask_for_summary(asked)
    sent, before = json.loads(encode(going)), json.loads(encode(asked))
    assert sent["messages"][:-1] == before["messages"]
    assert sent["messages"][-1] == user(text(PROMPT))
    assert sent["tool_choice"] == {"type": "none"}
    assert sent["tools"] == before["tools"]


def test_without_tools_nothing_is_said_about_them() -> None:
    assert "tool_choice" not in json.loads(encode(ask_for_summary(request(user("Hi."), assistant(text("Hello."))))))


def test_an_open_call_at_the_end_is_followed_by_the_wish_all_the_same() -> None:
    asked = request(user("Go."), assistant(tool_use("toolu_1")), user(tool_result("toolu_1")))
    assert [message.role for message in ask_for_summary(asked).messages] == ["user", "assistant", "user", "user"]


def test_of_a_whole_answer_only_its_text_is_left_under_a_seal() -> None:
    shown = with_summary(SPOKEN, sealed)
    assert shown["content"] == [{"type": "compaction", "content": None, "encrypted_content": "clew1.They want a parser."}]
    assert {**shown, "content": SPOKEN["content"]} == SPOKEN


def test_a_stream_tells_one_block_that_begins_with_the_answer_and_ends_with_it() -> None:
    events = [*events_of(SPOKEN, chunk=4)]
    reader = SummaryReader(Told(events), sealed)
    fed = [[*reader.feed(b"")] for _ in events]
    first = next(index for index, event in enumerate(events) if isinstance(event, BlockStart))
    assert [type(event) for event in fed[first]] == [BlockStart]  # the client hears at once that something comes
    told = [event for each in fed for event in each]
    assert [type(event) for event in told] == [MessageStart, BlockStart, BlockDelta, BlockStop, MessageDelta, MessageStop]
    assembler = Assembler()
    for event in told:
        assembler.feed(event)
    assert assembler.message()["content"] == with_summary(SPOKEN, sealed)["content"]
    assert [*reader.flush()] == []


@pytest.mark.parametrize("content", [(), (thinking("Hm."),), (text(" \n"),), (tool_use("toolu_1"),)])
def test_an_answer_without_text_is_no_summary(content: Sequence[JsonObject]) -> None:
    with pytest.raises(StreamIllegal, match="no summary"):
        with_summary(answer(*content), sealed)
    reader = SummaryReader(Told([*events_of(answer(*content), chunk=99)]), sealed)
    with pytest.raises(StreamIllegal, match="no summary"):
        list(reader.flush())
