"""Backends that do not count what they said: an estimate stands in its place, and says that it is one."""

from __future__ import annotations

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.model.events import BlockDelta, BlockStart, BlockStop, MessageDelta, MessageStart, MessageStop
from clew.wire.events import encode_event
from tests.build import Json, user
from tests.dialects.openai_chat.chat import DONE, chunk, stream
from tests.engine.chatting import chat_row, telling
from tests.engine.conftest import Gating
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

WORDS = "The sky is blue because air scatters short waves of light more than long ones. " * 5
UNCOUNTED = stream({"reasoning": WORDS}, {"content": WORDS})
UNCOUNTED_MESSAGES = b"".join(
    map(
        encode_event,
        (
            MessageStart({"id": "msg_1", "type": "message", "role": "assistant", "model": "local", "content": []}),
            BlockStart(0, {"type": "thinking", "thinking": "", "signature": ""}),
            *(BlockDelta(0, {"type": "thinking_delta", "thinking": f"{word} "}) for word in WORDS.split()),
            BlockStop(0),
            BlockStart(1, {"type": "text", "text": ""}),
            *(BlockDelta(1, {"type": "text_delta", "text": f"{word} "}) for word in WORDS.split()),
            BlockStop(1),
            MessageDelta({"stop_reason": "end_turn"}),
            MessageStop(),
        ),
    )
)


def asked(*, streamed: bool = True, **more: object) -> Json:
    return {"model": MODEL, "max_tokens": 2000, "stream": streamed, "messages": [user("Why?")], **more}


@public("gateway")
@proves("req:S3-43")
def test_an_output_that_nobody_counted_is_estimated_and_marked_in_the_answer_and_in_the_store(gating: Gating) -> None:
    with telling(UNCOUNTED) as backend:
        gate = gating(chat_row("local", backend.url))
        answer = gate.ask(asked())
        whole = gate.ask(asked(streamed=False)).json["usage"]
        kept = exchange_of(gate, answer).usage
    usage = answer.events[-2]["usage"]
    assert usage["output_tokens_estimated"] is True
    assert 150 < usage["output_tokens"] < 250
    assert (whole["output_tokens"], whole["output_tokens_estimated"]) == (usage["output_tokens"], True)
    assert kept is not None
    assert (kept.output, kept.estimated) == (usage["output_tokens"], True)


@public("gateway")
@proves("req:S3-43")
def test_what_was_counted_is_told_as_it_was_counted(gating: Gating) -> None:
    counted = chunk({}, finish="stop", usage={"prompt_tokens": 12, "completion_tokens": 5})
    with telling(chunk({"content": WORDS}) + counted + DONE) as backend:
        gate = gating(chat_row("local", backend.url))
        answer = gate.ask(asked())
        kept = exchange_of(gate, answer).usage
    usage = answer.events[-2]["usage"]
    assert (usage["output_tokens"], "output_tokens_estimated" in usage) == (5, False)
    assert kept is not None
    assert kept.estimated is False


def messages_row(url: str) -> Backend:
    return Backend(url=url, name="local", realm="local", auth="key", keys=(Secret("key"),))


@public("gateway")
@proves("req:S3-43")
@pytest.mark.parametrize("stored", [True, False])
def test_a_messages_backend_that_counts_nothing_is_counted_for(gating: Gating, stored: bool) -> None:
    with telling(UNCOUNTED_MESSAGES) as backend:
        gate = gating(messages_row(backend.url), store=stored)
        streamed = gate.ask(asked()).events[-2]["usage"]
        whole = gate.ask(asked(streamed=False)).json["usage"]
    assert streamed["output_tokens_estimated"] is True
    assert 150 < streamed["output_tokens"] < 250
    assert (whole["output_tokens"], whole["output_tokens_estimated"]) == (streamed["output_tokens"], True)
