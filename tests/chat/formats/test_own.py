"""clew's own format: what goes out comes in again, all of it, and a line that is spoilt costs that line alone."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.chat.formats import FORMATS, BrokenLine, format_of
from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.turn import Exchange, TokenUsage, Try, TurnRecord
from clew.store.values import Retention
from tests.chat.formats.stored import exported, found, imported, rows, stored
from tests.counts import examples
from tests.store.turns import NOON, conversation, recorded, turn

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
said_words = st.text(st.characters(), max_size=12)
"""With halves of characters: a model can say them."""
times = st.floats(0, 4e9)
counts = st.integers(0, 2**40)
key = st.binary(min_size=32, max_size=32)


@st.composite
def _json(draw: st.DrawFn) -> bytes:
    """A block as somebody might have spelt it: with white space, line breaks, escapes."""
    value: dict[str, Any] = {"type": draw(st.sampled_from(["text", "tool_use", "new"])), "name": draw(words)}
    value |= {"input": draw(st.dictionaries(words, st.one_of(words, st.none(), st.booleans(), st.integers()), max_size=2))}
    text = json.dumps(value, indent=draw(st.sampled_from([None, 1])), ensure_ascii=draw(st.booleans()))
    return (draw(st.sampled_from(["", " ", "\n"])) + text + draw(st.sampled_from(["", "\r\n"]))).encode()


exchanges = st.builds(
    Exchange,
    id=st.just(""),
    principal=st.just("local"),
    thread=st.just(""),
    started=times,
    ended=times,
    asked_model=words,
    backend=words,
    model=words,
    session=st.sampled_from(["", "s1"]),
    agent=st.sampled_from(["", "a1"]),
    outcome=st.sampled_from(["whole", "cut", "refused", "failed"]),  # one that is open was cut where it is imported
    status=st.integers(0, 599),
    first_byte=st.one_of(st.none(), times),
    attempts=st.integers(0, 5),
    changes=st.lists(st.builds(Change, words, words, st.sampled_from(["left out", "set"]), words), max_size=2).map(tuple),
    usage=st.one_of(
        st.none(),
        st.builds(TokenUsage, input=counts, output=counts, cache_read=counts, cache_written=counts, estimated=st.booleans()),
    ),
    kind=st.sampled_from(["messages", "messages", "messages", "count_tokens"]),
    streamed=st.booleans(),
    stop_reason=words,
    request_id=words,
    heals=st.integers(0, 3),
    kept=st.integers(0, 9),
    tries=st.lists(st.builds(Try, backend=words, status=st.integers(0, 599), seconds=times, why=words), max_size=2).map(
        tuple
    ),
)
recordings = st.builds(
    Recording,
    id=st.just(""),
    principal=st.just("local"),
    origin=st.builds(Origin, words, words, words, words),
    blocks=st.lists(_json(), max_size=3).map(tuple),
    keys=st.just(()),
    said=st.builds(AnswerContent, st.lists(said_words, max_size=2).map(tuple), st.lists(said_words, max_size=2).map(tuple)),
    place=key,
    strand=st.one_of(
        st.builds(Strand, after=words), st.builds(Strand, listed=st.lists(key, max_size=2).map(tuple)), st.just(Strand())
    ),
    digest=st.just(b""),
    followed=st.one_of(st.none(), words),
    session=words,
    agent=words,
    thread=st.just(""),
    whole=st.booleans(),
)


@st.composite
def _turns(draw: st.DrawFn) -> list[TurnRecord]:
    """Turns of a few threads, all mixed up."""
    turns: list[TurnRecord] = []
    begun: set[str] = set()
    for number in range(draw(st.integers(0, 6))):
        thread = draw(st.sampled_from(["t1", "t2", "t3"]))
        exchange = msgspec.structs.replace(draw(exchanges), id=f"x{number}", thread=thread)
        if thread not in begun:  # nothing is counted for a conversation that is none yet
            exchange = msgspec.structs.replace(exchange, kind="messages")
        begun.add(thread)
        recording = draw(st.one_of(st.none(), recordings)) if exchange.kind == "messages" else None
        if recording is not None:
            recording = msgspec.structs.replace(recording, id=f"r{number}", thread=thread)
        asked = tuple(draw(st.lists(_json(), max_size=2))) if exchange.kind == "messages" else ()
        turns.append(TurnRecord(exchange=exchange, recording=recording, asked=asked, title=draw(words)))
    return turns


@given(_turns(), st.sampled_from(["", "glm"]))
@settings(max_examples=examples(15), deadline=None)
def test_what_goes_out_comes_in_again_the_same(turns: list[TurnRecord], pin: str) -> None:
    """Store, export, a fresh store: every row that the interface tells is equal, and a second import adds nothing."""
    with TemporaryDirectory() as room, stored(Path(room) / "a.db", *turns) as one, stored(Path(room) / "b.db") as other:
        for thread in one.threads("local"):
            one.pin("local", thread.id, pin).result(120)
        raw = exported(one)
        tally = imported(other, raw)
        assert (tally.faults, tally.passed) == ([], {})
        assert rows(other) == rows(one)
        again = imported(other, raw)
        assert (again.turns, again.threads, again.broken) == (0, 0, 0)
        assert rows(other) == rows(one)


def test_a_thread_that_was_kept_while_its_first_answer_came_comes_in_again_the_same(tmp_path: Path) -> None:
    """It was created when it began, not when the first of it was kept."""
    first = turn(conversation(1)[0], at=1_800_000_000.0)
    early = msgspec.structs.replace(first.exchange, outcome="open", ended=first.exchange.ended - 1)
    with stored(tmp_path / "a.db") as one, stored(tmp_path / "b.db") as other:
        one.record_open(TurnRecord(exchange=early)).result(120)
        one.record(first).result(120)
        imported(other, exported(one))
        assert rows(other) == rows(one)


def test_thinking_comes_back_with_its_keys_strand_and_digest(tmp_path: Path) -> None:
    turns = [turn(each, at=1_800_000_000.0 + n) for n, each in enumerate(conversation(4))]
    with stored(tmp_path / "a.db", *turns) as one, stored(tmp_path / "b.db") as other:
        imported(other, exported(one))
        assert rows(other) == rows(one)
        assert rows(other)["faults"] == ()
        keys = [each.keys[0] for each in conversation(4)]
        assert [other.recordings("local").by_key(each) for each in keys] == conversation(4)


def test_a_line_that_is_spoilt_is_told_with_its_number_and_costs_that_line_alone(tmp_path: Path) -> None:
    turns = [turn(each, at=1_800_000_000.0 + n) for n, each in enumerate(conversation(3))]
    with stored(tmp_path / "a.db", *turns) as one, stored(tmp_path / "b.db") as other:
        lines = exported(one).split(b"\n")
        lines[3] = lines[3][:-20]
        lines.insert(3, b'{"thread": {"id": 7}}')
        lines.insert(3, b'{"something": "else"}')
        tally = imported(other, b"\n".join(lines))
        assert [each.line for each in tally.faults] == [5, 6]
        assert (tally.turns, tally.passed) == (2, {"of another shape": 1})
        assert [each.exchange for each in other.passages("local", "t")] == ["x-r0", "x-r2"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keys", ["AAAA"]),
        ("blocks", ["bm8gSlNPTg=="]),
        ("blocks", ["*"]),
        ("blocks", [{"no": "type"}]),
        ("said", {"ids": [7], "texts": []}),
    ],
)
def test_a_recording_that_nobody_could_read_again_is_not_taken(tmp_path: Path, name: str, value: Any) -> None:
    with stored(tmp_path / "a.db", turn(recorded("r"))) as store:
        head, thread, line, _ = exported(store).split(b"\n")
        spoilt = json.loads(line)
        spoilt["turn"]["recording"][name] = value
        written = json.dumps(spoilt["turn"]).encode()
        line = b'{"turn":%b,"sum":"%b"}' % (written, sha256(written).hexdigest()[:32].encode())
        [_, broken] = found(FORMATS["clew"], b"\n".join([head, thread, line]), store)
        assert (type(broken), broken.line) == (BrokenLine, 3)
        assert "a byte of it was changed" not in broken.why


def test_a_byte_that_changed_in_a_signature_is_found(tmp_path: Path) -> None:
    with stored(tmp_path / "a.db", turn(recorded("r"))) as one, stored(tmp_path / "b.db") as other:
        tally = imported(other, exported(one).replace(b"signature of r", b"signature 0f r"))
        assert [(each.line, each.why) for each in tally.faults] == [(3, "this line was changed after the export")]
        assert tally.turns == 0


def test_a_file_of_a_newer_clew_is_left_alone(tmp_path: Path) -> None:
    with stored(tmp_path / "a.db", turn(recorded("r"))) as one, stored(tmp_path / "b.db") as other:
        raw = exported(one).replace(b'"version":1', b'"version":2')
        tally = imported(other, raw)
        assert [(each.line, each.why) for each in tally.faults] == [
            (1, "version 2 of this format was written by a newer clew: update this one")
        ]
        assert tally.turns == 0


def test_files_can_be_joined_and_are_known_by_their_first_line(tmp_path: Path) -> None:
    with stored(tmp_path / "a.db", turn(recorded("r"))) as one, stored(tmp_path / "b.db") as other:
        raw = exported(one)
        assert format_of(raw) is FORMATS["clew"]
        tally = imported(other, raw + raw)
        assert (tally.turns, tally.known, tally.broken) == (1, 1, 0)


def test_another_principal_owns_what_it_imports(tmp_path: Path) -> None:
    with stored(tmp_path / "a.db", turn(recorded("r"))) as one, stored(tmp_path / "b.db") as other:
        imported(other, exported(one), principal="ada")
        assert other.threads("local") == []
        [passage] = other.passages("ada", "t")
        assert passage.recording == msgspec.structs.replace(recorded("r"), principal="ada")
        assert other.verify() == ()


def test_a_turn_that_is_over_is_not_replaced_by_one_that_was_open(tmp_path: Path) -> None:
    whole = turn(recorded("r"))
    was_open = msgspec.structs.replace(
        whole, exchange=msgspec.structs.replace(whole.exchange, outcome="open"), recording=None
    )
    with stored(tmp_path / "a.db", was_open) as one, stored(tmp_path / "b.db", whole) as other:
        before = rows(other)
        tally = imported(other, exported(one))
        assert (tally.turns, tally.known) == (0, 1)
        assert rows(other) == before


def test_a_pin_that_was_changed_since_stays(tmp_path: Path) -> None:
    with stored(tmp_path / "a.db", turn(recorded("r"))) as store:
        store.pin("local", "t", "glm").result(120)
        raw = exported(store)
        store.pin("local", "t", "claude").result(120)
        imported(store, raw)
        assert store.pin_of("local", "t") == "claude"


def test_a_thread_whose_beginning_is_forgotten_comes_in_again_the_same(tmp_path: Path) -> None:
    """It is as old as it was."""
    first, second = (turn(each, at=NOON + 100 * at) for at, each in enumerate(conversation(2)))
    with stored(tmp_path / "a.db", first, second) as one, stored(tmp_path / "b.db") as other:
        while one.apply_retention(Retention(age=50, bytes=None), now=NOON + 100).result(120):
            pass
        assert [(each.turns, each.created) for each in one.threads("local")] == [(1, first.exchange.started)]
        imported(other, exported(one))
        assert {**rows(other), "spent": []} == {**rows(one), "spent": []}
