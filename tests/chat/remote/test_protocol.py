"""Turns over a wire: what was said arrives byte for byte."""

from __future__ import annotations

import msgspec

from clew.chat.remote.protocol import RemoteTurn, remote_turn_of, stored_turn_of
from clew.chat.turns import StoredTurn, turn_of
from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.turn import Exchange, TokenUsage
from clew.store.values import Passage, Thread

THREAD = Thread(id="t1", principal="me", session="s1", agent="", title="T", pin="", created=1.0, used=2.0, turns=1)
ASKED = b'{"role": "user",  "content": [ {"type":"text","text":"\\u00e9"} ]}'
BLOCKS = (
    b'{"type":"thinking", "thinking":"1.0", "signature":"c2ln"}',
    b'{"type":"tool_use","id":"x","name":"r","input":{"n":1.0}}',
)


def spot() -> StoredTurn:
    recording = Recording(
        id="e2",
        principal="me",
        origin=Origin("anthropic", "claude", "claude-opus-5-5", "acc"),
        blocks=BLOCKS,
        keys=(b"\x00\xff",),
        said=AnswerContent(ids=("toolu_safe",), texts=()),
        place=b"\x01",
        strand=Strand(after="e1"),
        followed="e1",
        session="s1",
        thread="t1",
        whole=False,
    )
    exchange = Exchange(
        id="e2",
        principal="me",
        thread="t1",
        started=1.5,
        ended=2.0,
        asked_model="claude-opus-5-5",
        backend="claude",
        model="claude-opus-5-5",
        outcome="cut",
        changes=(Change("thinking", "messages.1", "restored", "because"),),
        usage=TokenUsage(input=3, output=4, estimated=True),
    )
    return StoredTurn(Passage(exchange="e2", at=1.5, asked=(ASKED,), recording=recording), exchange)


def test_a_turn_arrives_as_it_is() -> None:
    """All but what only the store has a use for."""
    before = spot()
    after = stored_turn_of(msgspec.json.decode(msgspec.json.encode(remote_turn_of(before)), type=RemoteTurn), THREAD)
    assert (after.passage.asked, after.answer.blocks if after.answer else ()) == ((ASKED,), BLOCKS)
    assert (after.id, after.follows, after.outcome, after.exchange) == ("e2", "e1", "cut", before.exchange)
    assert turn_of(after) == turn_of(before)
    assert after.passage.recording is not None
    assert (after.passage.recording.keys, after.passage.recording.place) == ((), b"")


def test_an_answer_that_is_forgotten_is_none() -> None:
    before = StoredTurn(Passage(exchange="e2", at=1.5, asked=(ASKED,), recording=None))
    after = stored_turn_of(remote_turn_of(before), THREAD)
    assert (after.answer, after.follows, after.exchange) == (None, "", None)
