"""An answer that is not whole has one word and one count, in the log, on the pages, in the commands and in the library."""

from __future__ import annotations

import pytest

from clew.chat.display.summary import summary_of
from clew.chat.turns import StoredTurn, turn_of
from clew.cli.threads import exchange_lines
from clew.model.turn import Exchange
from clew.pipeline.stream.client_view import heard_tokens
from clew.store.text import failure_of
from clew.testing import Simulator
from clew.web.rows import row_of
from clew.web.turns import shown_turns
from tests.engine.conftest import Gating
from tests.engine.gate import Gate, claude
from tests.engine.kept import store_of
from tests.faults.scene import Client, impatient, kept, question

pytestmark = pytest.mark.slow

SHOWN = {"thinking": {"type": "adaptive", "display": "summarized"}}


def words_for(gate: Gate, exchange: Exchange) -> list[str]:
    """How it ended, as the log says it, the page Now, the thread's page and a conversation of the library."""
    store = store_of(gate)
    passages = store.passages("local", exchange.thread)
    [shown] = shown_turns(passages, 0, 1, {exchange.id: exchange}, {})
    [head, *_] = exchange_lines(exchange)
    turn = turn_of(StoredTurn(passages[0], exchange))
    said = next(word for word in ("stopped", "cut off") if f"  {word}  " in head.text)
    return [said, row_of(exchange).ending, shown.ending, turn.ending]


def test_an_answer_that_its_client_left_is_stopped_everywhere(gating: Gating, a: Simulator) -> None:
    """With about as many tokens as the client heard: the vendor's last count came with the first event."""
    gate = gating(claude(a), **impatient())
    a.fault("stall 60 before=message_delta")
    client = Client(gate).asks(question("[[scenario:thinking]] Why?", **SHOWN))
    client.read_until(b"text_delta")
    client.leaves()
    [exchange] = kept(gate)

    assert (exchange.outcome, failure_of(exchange)) == ("cut", "")
    assert words_for(gate, exchange) == ["stopped"] * 4
    assert exchange.usage is not None
    assert (exchange.usage.estimated, exchange.usage.output > 5) == (True, True)
    [passage] = store_of(gate).passages("local", exchange.thread)
    summary = summary_of(turn_of(StoredTurn(passage, exchange)), None)
    assert summary.usage == exchange.usage
    assert f"{exchange.usage.output:,} out" in "\n".join(line.text for line in exchange_lines(exchange))


def test_an_answer_that_its_backend_broke_off_is_cut_off_everywhere(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a), **impatient())
    a.fault("cut before=message_delta how=rst")
    gate.ask(question("[[scenario:thinking]] Why?", **SHOWN))
    [exchange] = kept(gate)

    assert exchange.outcome == "cut"
    assert "closed" in failure_of(exchange) or "broke off" in failure_of(exchange)
    assert words_for(gate, exchange) == ["cut off"] * 4


def test_what_was_heard_is_thought_said_and_called() -> None:
    thought = {"type": "thinking", "thinking": "one two three", "signature": "s"}
    said = {"type": "text", "text": "four five six"}
    called = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}
    each = [heard_tokens({"content": [block]}) for block in (thought, said, called)]
    assert min(each) >= 3
    assert abs(heard_tokens({"content": [thought, said, called]}) - sum(each)) <= 1
    assert heard_tokens({"content": [{"type": "redacted_thinking", "data": "x" * 999}]}) == 0
    assert heard_tokens({}) == 0
