"""What must hold for every stream that a backend can send, whatever is in it.

The bytes go the gateway's own way, through a translation and the relay that seals; a checker that shares no code with either
reads what comes out as the strictest client would. Bytes in one piece and bytes cut anywhere must agree. What comes out is
bounded by what goes in.
"""

import json
from collections.abc import Sequence
from typing import Any

from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.events import Event
from clew.pipeline.stream.client_view import ClientView
from clew.wire.events import decode_event
from clew.wire.sse import SseEvent
from tests.golden.driving import MODEL, wear
from tests.golden.legal import problems
from tests.model.streams import joined
from tests.pipeline.stream.wearing import translated_answer

_PER_BYTE = 60
"""The most bytes that one byte can become: a delta of one character, in the shortest chunk that there is."""


class Heard:
    """What the client got."""

    def __init__(self, pieces: Sequence[bytes], speech: ChatAnswerOptions) -> None:
        translation = ChatStreamReader(AnswerContext(model=MODEL, message_id="msg_1"), ChatOptions(answer=speech))
        relay = translated_answer(ClientView(wear()), translation, keep=False)
        out = [relay.feed(piece) for piece in pieces] + [relay.flush()]
        self.stream = b"".join([*out, *relay.held])
        self.begun = relay.begun
        self.failed = relay.failure is not None
        self.ended = relay.ended

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line[6:]) for line in self.stream.split(b"\n") if line.startswith(b"data: ")]

    @property
    def joined(self) -> list[Event]:
        """The events, with neighbouring deltas as one: how many there are depends on the reads."""
        return joined([decode_event(SseEvent(b"", json.dumps(event).encode())) for event in self.events])

    def said(self, kind: str) -> str:
        """All that deltas of one kind say: `text_delta`, `thinking_delta`, `input_json_delta`."""
        deltas = [event["delta"] for event in self.events if event["type"] == "content_block_delta"]
        return "".join(value for each in deltas if each["type"] == kind for name, value in each.items() if name != "type")


def judge(pieces: Sequence[bytes], speech: ChatAnswerOptions) -> Heard:
    """Fails with what is wrong. Whatever the code raises is wrong."""
    stream = b"".join(pieces)
    heard, at_once = Heard(pieces, speech), Heard([stream], speech)
    assert heard.joined == at_once.joined
    assert heard.ended is not heard.failed, "it ends, well or not"
    assert len(heard.stream) <= _PER_BYTE * len(stream) + 2000
    if heard.begun:
        assert problems(heard.stream, model=MODEL) == []
    return heard
