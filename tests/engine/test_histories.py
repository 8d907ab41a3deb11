"""An engine that remembers histories sends, tells and records what one would that reads each request anew."""

import asyncio
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.engine import driver, histories, preparing
from clew.engine.histories import Histories
from clew.exchange.call import Call
from tests.build import tool_result, tool_use, user
from tests.counts import examples
from tests.engine.by_hand import ByHand
from tests.engine.kept_by_hand import KeptByHand
from tests.engine.questions import EVENTS, OPUS, SNAPSHOTS, framed, sse

HEADS: list[dict[str, Any]] = [{}, {"headers": {"x-claude-code-session-id": "s"}}, {"principal": "other"}]
SWITCHES = [0, 0, 0, 2, 3]
"""Mostly the usual snapshot; then another model, and another realm."""


class Turn(NamedTuple):
    """What the client does: where it goes on from, what becomes of its bytes, who it is, and who answers."""

    back: int
    edit: str
    head: int
    switch: int
    calls: bool


turns = st.lists(
    st.builds(
        Turn,
        st.sampled_from([0, 0, 0, 0, 1, 3]),
        st.sampled_from(["", "", "", "", "forged", "spaced", "marked", "stripped"]),
        st.sampled_from([0, 0, 0, 1, 2]),
        st.sampled_from(SWITCHES),
        st.booleans(),
    ),
    min_size=2,
    max_size=6,
)


def events(number: int, calls: bool) -> list[dict[str, Any]]:
    """An answer: thinking that is signed, words, and perhaps a call."""
    signed = {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": f"s{number}"}}
    told = [signed if event.get("delta", {}).get("type") == "signature_delta" else event for event in EVENTS]
    call = {"type": "content_block_start", "index": 2, "content_block": tool_use(f"t{number}")}
    return [*told[:-2], call, {"type": "content_block_stop", "index": 2}, *told[-2:]] if calls else told


class Client:
    """Holds a history as a client does."""

    def __init__(self) -> None:
        self.history: list[Any] = [user("begin " * 40)]

    def body(self, turn: Turn, number: int) -> bytes:
        if turn.back:
            self.history = self.history[: max(1, len(self.history) - 2 * turn.back)]
        messages = json.loads(json.dumps(self.history))
        if turn.edit == "marked":
            messages[-1]["content"] = [{"type": "text", "text": f"go on {number}", "cache_control": {"type": "ephemeral"}}]
        if turn.edit == "stripped" and len(messages) > 1:
            messages[1]["content"] = [{"type": "text", "text": "yes"}]
        raw = json.dumps({"model": OPUS, "max_tokens": 9, "messages": messages, "stream": True}).encode()
        if turn.edit == "forged":
            raw = raw.replace(b"begin begin", b"begin bogus", 1)
        return raw.replace(b'}, {"role"', b'} ,\n{"role"', 1) if turn.edit == "spaced" else raw

    def hears(self, turn: Turn, number: int) -> None:
        content = [
            {"type": "thinking", "thinking": "", "signature": f"s{number}"},
            {"type": "text", "text": "yes sk-test-key"},
        ]
        more = [tool_use(f"t{number}")] if turn.calls else []
        asked = user(tool_result(f"t{number}")) if turn.calls else user(f"go on {number}")
        self.history += [{"role": "assistant", "content": [*content, *more]}, asked]


async def play(talk: list[Turn], known: Histories, *, keeps: bool) -> list[object]:
    store = KeptByHand() if keeps else None
    hand, client, found = ByHand(SNAPSHOTS[0], store), Client(), []
    hand.engine.services.histories = known
    for number, turn in enumerate(talk):
        hand.snapshot = SNAPSHOTS[turn.switch]
        answer = framed(b"".join(map(sse, events(number, turn.calls))), kind="text/event-stream", chunked=True)
        found.append(await hand.asks(f"id{number}", Call(body=b"", **HEADS[turn.head]), client.body(turn, number), [answer]))
        client.hears(turn, number)
    return [*found, *([store.turns, store.touched] if store else ())]


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_remembered_changes_nothing_that_is_sent_told_or_recorded(keeps: bool) -> None:
    """Laws 2 and 5, from the client's bytes to the store: forged prefixes, marks that move, rewinds, switches of the backend,
    other principals, and recordings that came in between."""

    @given(turns)
    @settings(max_examples=examples(20), deadline=None)
    def holds(talk: list[Turn]) -> None:
        plain = asyncio.run(play(talk, Histories(0), keeps=keeps))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(histories, "LEAST", 0)
            patched.setattr(histories, "_BEGINNING", 100)
            patched.setattr(preparing, "LARGE", 0)  # so that what is known is taken at once, and the rest in a thread
            assert asyncio.run(play(talk, Histories(), keeps=keeps)) == plain

    holds()


@pytest.mark.parametrize(
    ("switches", "at_once"),
    [
        ([0, 0, 0, 0, 0], [False, False, True, True, True]),
        ([0, 0, 0, 1, 1], [False, False, True, False, True]),
        ([2, 2, 2, 2, 2], [False, True, True, True, True]),
        ([3, 3, 3, 3, 3], [False, False, False, False, False]),
    ],
)
def test_a_known_history_is_taken_where_its_bytes_arrive(switches: list[int], at_once: list[bool]) -> None:
    """Unless it is altered on its way, or the settings changed: to write a history anew takes a while. (The second
    is read aside too, where it is found out how its messages lie, unless that had to be known to write the first one.)"""
    taken: list[bool] = []

    class Noted(preparing.Preparation):
        def begins_at_once(self) -> bool:
            taken.append(super().begins_at_once())
            return taken[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(histories, "LEAST", 0)
        patched.setattr(histories, "_BEGINNING", 100)
        patched.setattr(preparing, "LARGE", 0)
        patched.setattr(driver, "Preparation", Noted)
        asyncio.run(play([Turn(0, "", 0, switch, False) for switch in switches], Histories(), keeps=True))
    assert taken == at_once
