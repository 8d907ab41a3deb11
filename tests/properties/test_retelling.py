"""A history that was read before is read from where it goes on: the same values, the same bytes, the same recordings."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.engine import histories
from clew.engine.histories import Histories
from clew.errors import ClewError
from clew.exchange.call import Call
from clew.exchange.heads import thinking_counts
from clew.model.past import Retold
from clew.model.recording import Recording, Shelf
from clew.model.request import Body, Request, blocks_of
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.thinking.keys import key_of
from clew.thinking.recognise import Context
from clew.thinking.record import recording_of
from clew.wire.known_history import read_on
from clew.wire.requests import encode, parse, raw_of, read_array
from tests.build import GLM, OPUS, SONNET, raw, target, text, thinking, tool_use, user
from tests.build import assistant as answer
from tests.counts import examples
from tests.memory import left_by
from tests.properties.talks import SEALER, Played, played

ORIGINS = [OPUS, SONNET, GLM]


@dataclass(frozen=True)
class Ask:
    """One request: its bytes, who sends it, to whom it goes, and how much is recorded by then."""

    raw: bytes
    principal: str
    origin: Any
    recorded: int


def forged(raw: bytes, at: int) -> bytes:
    """Of the same length, and another byte at one place."""
    at %= len(raw)
    return raw[:at] + (b"x" if raw[at : at + 1] != b"x" else b"y") + raw[at + 1 :]


def spaced(raw: bytes, at: int) -> bytes:
    """White space behind some comma between two messages, or elsewhere: it may be inside a string, too."""
    places = [i for i, byte in enumerate(raw) if byte == 0x2C] or [0]
    at = places[at % len(places)] + 1
    return raw[:at] + b" \n" + raw[at:]


DAMAGES: list[Callable[[bytes, int], bytes]] = [
    *[lambda raw, at: raw] * 8,
    forged,
    spaced,
    lambda raw, at: raw[: at % len(raw)],
    lambda raw, at: raw.rstrip(b"}\n ") + b',"messages":[]}',
    lambda raw, at: raw.replace(b"{", b'{"messages":[],', 1),
    lambda raw, at: raw.replace(b'"messages"', b'"m\\u0065ssages"', 1),
    lambda raw, at: raw.replace(b"2000", b"%d" % (at % 10**6), 1),
    lambda raw, at: raw.replace(b'"thinking"', b'"temperature": 1, "thinking"', 1),
    lambda raw, at: raw.replace(b"]", b",]", 1 + at % 3),
    lambda raw, at: raw.replace(b'"role"', b'"cache_control": {"type": "ephemeral"}, "role"', at % 3),
]


@st.composite
def asks(draw: st.DrawFn) -> tuple[Played, list[Ask]]:
    """A talk whose requests come in their order, and now and then an earlier one, a damaged one, or another's."""
    talk = draw(played)
    order = draw(st.lists(st.integers(0, len(talk.sendings) - 1), max_size=4))
    found: list[Ask] = []
    for index in [*range(len(talk.sendings)), *order]:
        sending = talk.sendings[index]
        damage = draw(st.sampled_from(DAMAGES))
        raw = damage(sending.raw, draw(st.integers(0, 10**6)))
        origin = draw(st.sampled_from([sending.turn.origin, *ORIGINS]))
        recorded = draw(st.sampled_from([index, index, 0, 99]))
        found.append(Ask(raw, draw(st.sampled_from(["local", "local", "local", "other"])), origin, recorded))
    return talk, found


def told(body: Body) -> bytes:
    """All that was read, as it reads."""
    return msgspec.json.encode(msgspec.structs.replace(body, messages=tuple(body.messages)))


def outcome(read: Callable[[bytes], Request], ask: Ask, shelf: Shelf) -> Sequence[object]:
    """All that comes of a request: how it reads, what goes out, what is said of it, and what is recorded."""
    context = Context(principal=ask.principal)
    facts = Facts(recordings=shelf, context=context, sealer=SEALER)
    try:
        request = read(ask.raw)
        projection = project(request, target(ask.origin), facts)
        going, changes = projection.request, projection.changes
        recording = recording_of(
            "new", asked=request, going=going, blocks=[b"{}"], held=[], origin=ask.origin, shelf=shelf, context=context
        )
        raws = [raw_of(request, block) for message in request.messages for block in blocks_of(message)]
        return told(request.body), encode(going), changes, thinking_counts(going, changes), recording, raws
    except (ClewError, msgspec.MsgspecError) as error:
        return type(error), str(error)


@pytest.mark.slow
@given(asks())
@settings(max_examples=examples(25), deadline=None)
def test_what_was_read_before_is_read_from_where_it_goes_on_and_nothing_else_changes(
    drawn: tuple[Played, list[Ask]],
) -> None:
    """Laws 2 and 5: a memo may only skip reading what was read before. Forged prefixes, other principals, white space, doubled
    keys, rewinds, switches, and recordings that come and go between."""
    talk, found = drawn
    known, recordings = Histories(), recorded(talk)
    for ask in found:
        shelf, call = Shelf(recordings[: ask.recorded]), Call(body=ask.raw, principal=ask.principal)
        plain = outcome(parse, ask, shelf)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(histories, "LEAST", 0)
            assert outcome(partial(by_all_means, known, call), ask, shelf) == plain
            assert outcome(partial(at_once, known, call), ask, shelf) == plain


def by_all_means(known: Histories, call: Call, raw: bytes) -> Request:
    return known.read(call)


def at_once(known: Histories, call: Call, raw: bytes) -> Request:
    return known.recall(call) or parse(raw)


def recorded(talk: Played) -> list[Recording]:
    shelf: Any = talk.scribe.shelf
    return list(shelf._ids.values())


@given(played, st.lists(st.tuples(st.sampled_from(DAMAGES), st.integers(0, 10**6)), min_size=1, max_size=4))
@settings(max_examples=examples(30, soak=1000), deadline=None)
def test_a_request_read_from_another_is_laid_out_as_it_is(
    talk: Played, damages: list[tuple[Callable[[bytes, int], bytes], int]]
) -> None:
    """Any request may be read on from any other, in a row: where each message stands is told without a second look."""
    source = parse(talk.sendings[0].raw).source
    for damage, at in damages:
        raw = damage(talk.sendings[at % len(talk.sendings)].raw, at)
        found = read_on(source, raw)
        if found is not None:
            assert told(found.body) == told(parse(raw).body)
            assert found.layout == read_array(raw)
            source = found


def history(turns: int) -> list[Any]:
    said: list[Any] = [user("begin")]
    for number in range(turns):
        said += [
            answer(thinking("hm", f"sig{number}"), text("words " * 150), tool_use(f"t{number}")),
            user(f"go on {number}"),
        ]
    return said


def in_common(request: Request) -> int:
    messages = request.messages
    return messages.past.count if isinstance(messages, Retold) else 0


def calls(*bodies: bytes, **more: Any) -> list[Call]:
    return [Call(body=body, **more) for body in bodies]


def test_the_next_turn_of_a_conversation_reads_only_what_is_new() -> None:
    """Else the properties above would hold for nothing."""
    known = Histories()
    found = [in_common(known.read(call)) for call in calls(*(raw(*history(turns)) for turns in range(30, 34)))]
    assert found == [0, 61, 63, 65]


def test_marks_that_move_and_another_head_do_not_make_a_history_unknown() -> None:
    """Clients mark their last messages, and alter their parameters or their system prompt now and then."""
    known, marked = Histories(), {"type": "ephemeral"}
    bodies = [
        raw(*history(30)[:-1], user(text("go on 29", cache_control=marked)), system="one"),
        raw(*history(30), answer(text("more", cache_control=marked)), system="one"),
        raw(*history(31), system="two"),
        json.dumps({"system": "new", **json.loads(raw(*history(32)))}).encode(),
    ]
    assert [in_common(known.read(call)) for call in calls(*bodies)] == [0, 60, 61, 63]


def test_one_byte_that_is_another_ends_what_is_known_there() -> None:
    """A prefix cannot be forged: what is skipped is what is equal."""
    known, told_before = Histories(), raw(*history(30))
    known.read(Call(body=told_before))
    at = told_before.index(b"sig20")
    assert in_common(known.read(Call(body=forged(told_before, at)))) == 41


def test_nothing_is_known_to_another_principal() -> None:
    """Not even how long it takes to read."""
    known, body = Histories(), raw(*history(30))
    assert [in_common(known.read(call)) for call in calls(body, principal="a") + calls(body, principal="b")] == [0, 0]


def test_two_forks_are_both_known() -> None:
    """Sub-agents that begin alike take turns."""
    known = Histories()
    one, other = ([*history(20), *(user(f"{name} {n}") for n in range(20))] for name in ("one", "other"))
    bodies = [raw(*one), raw(*other), raw(*one, user("!")), raw(*other, user("!")), raw(*one, user("!"), user("?"))]
    assert [in_common(known.read(call)) for call in calls(*bodies)] == [0, 41, 61, 61, 62]


def test_what_is_kept_is_bounded() -> None:
    """However many conversations there are, and however long they last."""
    known = Histories(1_000_000)
    for number in range(40):
        for turns in (30, 31, 32):
            known.read(Call(body=raw(user(f"conversation {number}" * 50), *history(turns))))
            assert known.bytes <= 1_000_000
    sources = [each.source for kept in known._kept.values() for each in kept]
    assert sum(map(histories._weight, sources)) == known.bytes > 500_000


@pytest.mark.slow
def test_what_is_kept_of_messages_with_many_small_blocks_is_bounded_too() -> None:
    """Read, a block takes ten times its bytes."""

    def read_them() -> Histories:
        known = Histories(4_000_000)
        for number in range(12):
            known.read(Call(body=raw(user(*[text("a")] * 5000), system=f"{number}"), principal=f"{number}"))
        return known

    assert left_by(lambda: read_them, enough=2 * 4_000_000) < 2 * 4_000_000


def test_a_conversation_that_goes_on_for_long_keeps_no_more_than_a_few_times_its_size() -> None:
    """Messages are views of the bytes that they came in: those that are gone must not stay for them."""
    known, said = Histories(), history(30)
    for number in range(60):
        said = [*said[:40], *(user(f"{number} {n} " + "x" * 400) for n in range(30))]
        request = known.read(Call(body=raw(*said)))
        assert request.source.held <= 2 * len(request.source.raw)


def test_a_small_request_is_not_remembered() -> None:
    """It is read as fast as it would be found."""
    known = Histories()
    known.read(Call(body=raw(user("hi"))))
    assert known.bytes == 0


def test_no_block_is_found_under_another_key_when_it_was_read_on() -> None:
    """Identity needs no memo: a key is a function of the block."""
    known, bodies = Histories(), [raw(*history(turns)) for turns in (30, 31)]
    again = [known.read(call) for call in calls(*bodies)][-1]
    plain = parse(bodies[-1])

    def keys(request: Request) -> list[bytes | None]:
        return [key_of(block) for message in request.messages for block in blocks_of(message)]

    assert keys(again) == keys(plain)


ODD_ENDS = [
    b",]",
    b", ]",
    b" ]",
    b",{}]",
    b'{"role":"user"}]',
    b',{"role":"user"},]',
    b"]]",
    b",1]",
    b'],"messages":[]',
    b"",
    b"]}",
]


@pytest.mark.parametrize("odd", ODD_ENDS)
@pytest.mark.parametrize("after", [', "stream": true}', ', "stream": false}', "}"])
def test_what_is_odd_behind_the_known_part_is_read_as_it_would_have_been(odd: bytes, after: str) -> None:
    """In the same words where it is refused."""
    known, body = Histories(), raw(*history(30), stream=True)
    end = body.rindex(b"]")
    ask = Ask(body[:end] + odd + after.encode(), "local", OPUS, 0)
    known.read(Call(body=body))
    plain = outcome(parse, ask, Shelf())
    assert outcome(partial(by_all_means, known, Call(body=ask.raw)), ask, Shelf()) == plain
