"""Laws 2 to 5 over generated conversations."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings

from clew.pipeline.project import default_steps, project
from clew.wire.requests import encode, parse
from tests.build import Json, target
from tests.counts import examples
from tests.numbers import note
from tests.properties.talks import Played, Sending, played, sent_messages

many = settings(max_examples=examples(24, soak=1000), deadline=None)


def thinking_in(messages: list[Json]) -> list[tuple[int, Json]]:
    return [
        (index, block)
        for index, message in enumerate(messages)
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] in ("thinking", "redacted_thinking")
    ]


def proof(block: Json) -> str:
    return block.get("signature", "") if block["type"] == "thinking" else block["data"]


@many
@given(played)
def test_law_2_the_same_input_gives_the_same_bytes_and_the_input_is_untouched(talk: Played) -> None:
    for sending in talk.sendings:
        before = bytes(sending.raw)
        again = project(parse(sending.raw), target(sending.turn.origin), talk.facts())
        once_more = project(parse(sending.raw), target(sending.turn.origin), talk.facts())
        assert encode(again.request) == encode(once_more.request)
        assert again.changes == once_more.changes
        assert sending.raw == before == sending.asked.source.raw
    note("law 2: requests projected twice", len(talk.sendings))


@many
@given(played)
def test_law_2_each_step_is_idempotent(talk: Played) -> None:
    """Before unsealing, that is for readers of realm anthropic: what a step did, it does not do again."""
    for sending in talk.sendings:
        if sending.turn.origin.realm != "anthropic":
            continue
        for step in default_steps():
            first, _ = step(sending.asked, target(sending.turn.origin), talk.facts())
            second, changes = step(parse(encode(first)), target(sending.turn.origin), talk.facts())
            assert encode(second) == encode(first), step.__name__
            assert changes == (), step.__name__


@many
@given(played)
def test_law_3_what_a_reader_gets_extends_what_it_got(talk: Played) -> None:
    got: dict[str, list[Json]] = {}
    for sending in talk.sendings:
        now = sent_messages(sending)
        before = got.get(sending.turn.origin.model, [])
        assert now[: len(before)] == before or _folds(before, now), sending.turn.origin.model
        got[sending.turn.origin.model] = now


def _folds(before: list[Json], now: list[Json]) -> bool:
    """The one open end: the last message may gain, behind what it had, the system text that came after it."""
    head, last = before[:-1], before[-1]
    grown = now[len(head)] if len(now) > len(head) else last
    return now[: len(head)] == head and _blocks(grown)[: len(_blocks(last))] == _blocks(last)


def _blocks(message: Json) -> list[Json]:
    content: Any = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@many
@given(played)
def test_law_4_a_signed_block_goes_home_unchanged_or_not_at_all(talk: Played) -> None:
    """Only into its own realm, as its maker said it, in the answer it was made in, in order; none is forged."""
    for sending in talk.sendings:
        realm = sending.turn.origin.realm
        native = {proof(block): block for maker, block in talk.made.values() if maker == realm}
        going = thinking_in(sent_messages(sending))
        for _, block in going:
            assert not proof(block).startswith("clew1.")
            assert native.get(proof(block)) == block
        order = [list(native).index(proof(block)) for _, block in going]
        assert order == sorted(order)


@many
@given(played)
def test_law_4_a_reader_gets_all_of_its_own(talk: Played) -> None:
    """No block of this very model is lost, whether the client kept it or hid it. Where a loop had to run without (R38), what
    followed was made without it, and so it stays out from there on."""
    made: dict[str, list[str]] = {}
    for sending in talk.sendings:
        model = sending.turn.origin.model
        going = [proof(block) for _, block in thinking_in(sent_messages(sending))]
        own = [each for each in going if each in made.get(model, [])]
        if not any("R38" in change.why for change in sending.projection.changes):
            assert own == made.get(model, [])
        made[model] = own
        for block in _answer_after(talk, sending):
            made[model].append(proof(talk.made[proof(block)][1]))


def _answer_after(talk: Played, sending: Sending) -> list[Json]:
    count = len(json.loads(sending.raw)["messages"])
    return [block for _, block in thinking_in(talk.history[count : count + 1])]


@many
@given(played)
def test_law_5_what_no_change_names_keeps_its_bytes(talk: Played) -> None:
    for sending in talk.sendings:
        going = encode(sending.projection.request)
        if not sending.projection.changes and sending.turn.origin.realm == "anthropic":
            assert going == sending.raw
        touched = {change.path.split(".")[1] for change in sending.projection.changes if change.path.startswith("messages.")}
        pieces = _raw_messages(sending.raw)
        for index, piece in enumerate(pieces):
            takes_system_text = str(index + 1) in touched and b'"system"' in pieces[index + 1]
            if str(index) not in touched and not takes_system_text and b"clew1." not in piece:
                assert piece in going


def _raw_messages(raw: bytes) -> list[bytes]:
    from clew.wire.splice import elements, locate

    start, end = locate(raw, ("messages",))
    return [raw[start:end][span.start : span.end] for span in elements(raw[start:end])]
