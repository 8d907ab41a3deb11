"""Claude Code transcripts become conversations, and conversations become transcripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.chat.formats import FORMATS, format_of
from clew.model.facts.clients import client_name
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Strand
from clew.model.turn import Exchange, TokenUsage
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.store.sqlite.store import SqliteStore
from clew.thinking.keys import block_key
from clew.thinking.recognise import Context
from clew.thinking.seal import Seal, Sealer
from tests.build import GLM, OPUS, assistant, redacted, request, sent, target, text, thinking, tool_result, tool_use, user
from tests.chat.formats.lines import SESSION, Scribbler
from tests.chat.formats.stored import exported, imported, rows, stored
from tests.store.turns import recorded, turn

FORMAT = "claude-code"
EIGHT = 1_794_816_000.5
"""The time of the first line."""

SEALER = Sealer({"k1": b"x" * 32}, "k1")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with stored(tmp_path / "clew.db") as store:
        yield store


def talk() -> Scribbler:
    """A question, a tool, an answer."""
    given = Scribbler()
    given.user("list the files")
    given.note("attachment")
    given.assistant("m1", thinking("hm", "sig-1"), tool_use("toolu_1", command="ls"), stop="tool_use", requestId="req_1")
    given.user([tool_result("toolu_1", "a b")])
    given.assistant("m2", thinking("so", "sig-2"), "There are two.")
    return given


def said(store: SqliteStore) -> list[tuple[list[Any], list[Any] | None]]:
    """Of every turn of every thread: what was asked, and what was answered."""
    return [
        (
            [json.loads(raw)["content"] for raw in passage.asked],
            [json.loads(raw) for raw in passage.recording.blocks] if passage.recording else None,
        )
        for thread in sorted(store.threads("local"), key=lambda thread: thread.agent)
        for passage in store.passages("local", thread.id)
    ]


def test_lines_become_turns_with_all_that_they_tell(store: SqliteStore) -> None:
    tally = imported(store, talk().raw, FORMAT)
    assert (tally.threads, tally.turns, tally.broken, tally.passed) == (1, 2, 0, {"attachment": 1})
    assert said(store) == [
        (["list the files"], [thinking("hm", "sig-1"), tool_use("toolu_1", command="ls")]),
        ([[tool_result("toolu_1", "a b")]], [thinking("so", "sig-2"), text("There are two.")]),
    ]
    [thread] = store.threads("local")
    assert (thread.session, thread.agent, thread.title) == (SESSION, "", "list the files")
    first, second = [passage.recording for passage in store.passages("local", thread.id)]
    assert first is not None
    assert second is not None
    assert (first.origin, first.keys) == (
        Origin("anthropic", "imported", "claude-opus-5-5"),
        (block_key("thinking", "sig-1"),),
    )
    assert (first.said, first.strand, first.followed) == (AnswerContent(("toolu_1",)), Strand(listed=()), None)
    assert (second.said, second.strand, second.followed) == (
        AnswerContent((), ("There are two.",)),
        Strand(after=first.id),
        first.id,
    )
    assert store.exchange("local", first.id) == Exchange(
        id=first.id,
        principal="local",
        thread=thread.id,
        started=EIGHT,
        ended=EIGHT + 3,
        asked_model="claude-opus-5-5",
        backend="imported",
        model="claude-opus-5-5",
        session=SESSION,
        streamed=True,
        stop_reason="tool_use",
        request_id="req_1",
        usage=TokenUsage(input=10, output=20, cache_read=30),
        client=client_name("claude-cli/2.1.325 (external, cli)"),
    )
    assert store.verify() == ()


def test_importing_twice_adds_nothing_and_importing_more_adds_the_rest(store: SqliteStore) -> None:
    given = talk()
    imported(store, given.raw, FORMAT)
    before = rows(store)
    again = imported(store, given.raw, FORMAT)
    assert (again.turns, again.known) == (0, 2)
    assert rows(store) == before
    given.user("thanks")
    given.assistant("m3", "Welcome.")
    more = imported(store, given.raw, FORMAT)
    assert (more.turns, more.threads) == (1, 1)
    assert said(store)[2:] == [(["thanks"], [text("Welcome.")])]
    assert len(store.threads("local")) == 1


def test_a_client_that_comes_back_without_its_thinking_gets_it_restored(store: SqliteStore) -> None:
    """By its tool ids and by its place, for Claude and for nobody else."""
    imported(store, talk().raw, FORMAT)
    asked = request(
        user("list the files"),
        assistant(tool_use("toolu_1", command="ls")),
        user(tool_result("toolu_1", "a b")),
        assistant("There are two."),
        user("thanks"),
    )
    facts = Facts(recordings=store.recordings("local"), context=Context(session=SESSION), sealer=SEALER)
    going = sent(project(asked, target(OPUS), facts).request)
    assert [message["content"] for message in going if message["role"] == "assistant"] == [
        [thinking("hm", "sig-1"), tool_use("toolu_1", command="ls")],
        [thinking("so", "sig-2"), text("There are two.")],
    ]
    elsewhere = sent(project(asked, target(GLM), facts).request)
    assert [message["content"] for message in elsewhere if message["role"] == "assistant"] == [
        [tool_use("toolu_1", command="ls")],
        [text("There are two.")],
    ]


def test_sub_agents_are_threads_of_their_own(store: SqliteStore) -> None:
    given = talk()
    given.user("go deeper", parentUuid=None, isSidechain=True, agentId="a7")
    given.assistant("s1", thinking("deep", "sig-s"), "Deep.", isSidechain=True, agentId="a7")
    assert imported(store, given.raw, FORMAT).threads == 2
    assert sorted((each.session, each.agent, each.turns) for each in store.threads("local")) == [
        (SESSION, "", 2),
        (SESSION, "a7", 1),
    ]
    assert said(store)[2:] == [(["go deeper"], [thinking("deep", "sig-s"), text("Deep.")])]


def test_a_rewind_is_a_branch_of_the_same_thread(store: SqliteStore) -> None:
    given = Scribbler()
    given.user("one")
    fork = given.assistant("m1", thinking("1", "sig-1"), "First.")
    given.user("two")
    given.assistant("m2", thinking("2", "sig-2"), "Second.")
    given.user("other", parentUuid=fork)
    given.assistant("m3", thinking("3", "sig-3"), "Third.")
    imported(store, given.raw, FORMAT)
    [thread] = store.threads("local")
    first, second, third = [each.recording for each in store.passages("local", thread.id) if each.recording]
    assert (second.followed, third.followed) == (first.id, first.id)
    assert (second.strand, third.strand) == (Strand(after=first.id), Strand(after=first.id))
    assert said(store)[2] == (["other"], [thinking("3", "sig-3"), text("Third.")])


def test_results_that_come_between_the_lines_of_an_answer_belong_to_the_next(store: SqliteStore) -> None:
    """Tools run in parallel while the answer still comes; each result hangs on its own call."""
    given = Scribbler()
    given.user("both")
    one = given.assistant("m1", tool_use("t1"), stop="tool_use")
    given.user([tool_result("t1")])
    two = given.assistant("m1", tool_use("t2"), stop="tool_use", parentUuid=one)
    given.user([tool_result("t2")], parentUuid=two)
    given.assistant("m2", "Both done.")
    imported(store, given.raw, FORMAT)
    assert said(store) == [
        (["both"], [tool_use("t1"), tool_use("t2")]),
        ([[tool_result("t1")], [tool_result("t2")]], [text("Both done.")]),
    ]


def test_after_a_compaction_the_conversation_begins_anew_in_its_thread(store: SqliteStore) -> None:
    given = talk()
    given.note("system", subtype="compact_boundary", parentUuid=None)
    given.user("This is a summary.")
    given.assistant("m9", "I see.")
    imported(store, given.raw, FORMAT)
    [thread] = store.threads("local")
    assert [bool(each.recording and each.recording.followed) for each in store.passages("local", thread.id)] == [
        False,
        True,
        False,
    ]


def test_a_question_that_nobody_answered_is_kept_as_one(store: SqliteStore) -> None:
    """One that was taken back, and one with which the file ends."""
    given = Scribbler()
    given.user("hello")
    answered = given.assistant("m1", "Hi.")
    given.user("never mind")
    given.user("another", parentUuid=answered)
    given.assistant("m2", "Yes.")
    given.user("and the last")
    tally = imported(store, given.raw, FORMAT)
    assert tally.turns == 4
    assert said(store) == [
        (["hello"], [text("Hi.")]),
        (["never mind"], None),
        (["another"], [text("Yes.")]),
        (["and the last"], None),
    ]
    [thread] = store.threads("local")
    assert [each.outcome for each in store.exchanges("local", thread=thread.id)] == ["failed", "whole", "failed", "whole"]
    assert imported(store, given.raw, FORMAT).turns == 0


def test_an_answer_that_was_stopped_is_marked_as_cut(store: SqliteStore) -> None:
    given = Scribbler()
    given.user("write")
    given.assistant("m1", thinking("w", "sig-w"), "Once upon", stop=None)
    given.user([text("[Request interrupted by user]")])
    imported(store, given.raw, FORMAT)
    [thread] = store.threads("local")
    first = store.passages("local", thread.id)[0].recording
    assert first is not None
    assert first.whole is False
    exchange = store.exchange("local", first.id)
    assert exchange is not None
    assert exchange.outcome == "cut"


def test_what_the_client_says_in_a_models_place_is_no_answer(store: SqliteStore) -> None:
    given = Scribbler()
    given.user("hello")
    given.assistant("n", "API Error: 500", model="<synthetic>")
    given.assistant("m1", "Hi.")
    tally = imported(store, given.raw, FORMAT)
    assert said(store) == [(["hello"], [text("Hi.")])]
    assert tally.passed == {"notice": 1}


def test_broken_lines_are_told_and_everything_else_is_imported(store: SqliteStore) -> None:
    given = talk()
    for at, raw in ((2, b'{"type":"user","mess'), (4, b"\xff\xfe"), (6, b"[" * 20_000), (7, b"[1]"), (8, b"")):
        given.lines.insert(at, raw)
    tally = imported(store, given.raw, FORMAT)
    assert [(fault.line, fault.why) for fault in tally.faults][:2] == [
        (3, "unexpected end of data (column 21)"),
        (5, "not valid UTF-8 (byte 0xff) (column 1)"),
    ]
    assert [fault.line for fault in tally.faults] == [3, 5, 7]
    assert tally.passed == {"attachment": 1, "of another shape": 1}
    assert len(said(store)) == 2


def test_an_answer_with_a_block_that_is_none_is_told_and_the_next_goes_on_from_the_one_before(store: SqliteStore) -> None:
    given = talk()
    given.user("more")
    given.assistant("m3", 7)
    given.user("still there?")
    given.assistant("m4", "Yes.")
    tally = imported(store, given.raw, FORMAT)
    assert [(fault.line, fault.why) for fault in tally.faults] == [(9, "Expected `object`, got `int`")]
    [thread] = store.threads("local")
    *_, second, last = [each.recording for each in store.passages("local", thread.id) if each.recording]
    assert last.followed == second.id


def test_an_old_answer_that_a_client_copied_into_a_new_file_is_not_made_twice(store: SqliteStore) -> None:
    given = Scribbler()
    given.user("hello")
    given.assistant("m1", "Hi.")
    imported(store, given.raw, FORMAT)
    copied = Scribbler(session="11111111-0000-4000-8000-000000000002")
    copied.user("hello")
    copied.assistant("m1", "Hi.")
    copied.user("and now?")
    copied.assistant("m2", "Now this.")
    tally = imported(store, copied.raw, FORMAT)
    assert (tally.turns, tally.known) == (1, 1)


def test_what_a_gateway_heard_is_found_and_the_rest_goes_on_in_its_thread(store: SqliteStore) -> None:
    heard = recorded("r1", session=SESSION)
    assert store.record(turn(heard)).result(120)
    given = Scribbler()
    given.user("secret question")
    given.assistant("m1", *map(json.loads, heard.blocks))
    given.user([tool_result("toolu_r1")])
    given.assistant("m2", thinking("next", "sig-next"), "Done.")
    tally = imported(store, given.raw, FORMAT)
    assert (tally.turns, tally.known) == (1, 1)
    [thread] = store.threads("local")
    assert thread.id == "t"
    last = store.passages("local", "t")[-1].recording
    assert last is not None
    assert (last.followed, last.strand) == ("r1", Strand(after="r1"))
    assert store.verify() == ()


def sealed(index: int, text: str, payload: bytes, **more: Any) -> str:
    return SEALER.mint(Seal("local", GLM, "e1", index, payload, **more), text)


def test_a_seal_that_verifies_comes_off_and_says_whose_the_answer_is(store: SqliteStore) -> None:
    given = Scribbler()
    given.user("hello")
    token, data = sealed(0, "hm", b"glm-proof"), sealed(1, "", b"glm-data")
    given.assistant("m1", thinking("hm", token), redacted(data), "Hi.")
    imported(store, given.raw, FORMAT, sealer=SEALER)
    recording = store.recordings("local").by_id("e1")
    assert recording is not None
    assert (recording.origin, recording.keys) == (GLM, (block_key("thinking", token), block_key("redacted_thinking", data)))
    assert said(store) == [(["hello"], [thinking("hm", "glm-proof"), redacted("glm-data"), text("Hi.")])]
    assert store.verify() == ()


@pytest.mark.parametrize("sealer", [None, Sealer({"k1": b"y" * 32}, "k1")])
def test_a_seal_that_does_not_verify_counts_as_absent(store: SqliteStore, sealer: Sealer | None) -> None:
    """And the answer is nobody's that we know: not Claude's, whatever the file says."""
    given = Scribbler()
    given.user("hello")
    given.assistant("m1", thinking("hm", sealed(0, "hm", b"glm-proof")), "Hi.")
    imported(store, given.raw, FORMAT, sealer=sealer)
    [thread] = store.threads("local")
    [passage] = store.passages("local", thread.id)
    assert passage.recording is not None
    assert (passage.recording.origin.realm, passage.recording.keys) == ("unknown", ())
    assert said(store) == [(["hello"], [thinking("hm", ""), text("Hi.")])]


def test_a_payload_that_stayed_in_a_lost_store_is_not_made_up(store: SqliteStore) -> None:
    given = Scribbler()
    given.user("hello")
    given.assistant("m1", thinking("hm", sealed(0, "hm", b"k" * 32, reference=True)), "Hi.")
    imported(store, given.raw, FORMAT, sealer=SEALER)
    assert said(store) == [(["hello"], [thinking("hm", ""), text("Hi.")])]


def test_thinking_in_the_name_of_another_vendors_model_is_not_claudes(store: SqliteStore) -> None:
    given = Scribbler(model="glm-4.7")
    given.user("hello")
    given.assistant("m1", thinking("hm", "sig-of-somebody"), "Hi.")
    imported(store, given.raw, FORMAT)
    found = store.recordings("local").by_key(block_key("thinking", "sig-of-somebody"))
    assert found is not None
    assert found.origin == Origin("unknown", "imported", "glm-4.7")


def test_a_transcript_that_was_written_is_read_again(store: SqliteStore, tmp_path: Path) -> None:
    """Branches, sub-agents, thinking and times come back; of another maker's thinking, nothing."""
    given = talk()
    given.user("other", parentUuid=f"{SESSION[:4]}-3")
    given.assistant("m3", thinking("b", "sig-b"), "A branch.")
    given.user("deeper", parentUuid=None, isSidechain=True, agentId="a7")
    given.assistant("s1", "Deep.", isSidechain=True, agentId="a7")
    imported(store, given.raw, FORMAT)
    raw = exported(store, FORMAT)
    assert format_of(raw) is FORMATS[FORMAT]
    with stored(tmp_path / "other.db") as other:
        tally = imported(other, raw, FORMAT)
        assert (tally.broken, tally.passed) == (0, {})
        assert said(other) == said(store)
        assert [_shape(other, thread.agent) for thread in other.threads("local")] == [
            _shape(store, thread.agent) for thread in store.threads("local")
        ]


def _shape(store: SqliteStore, agent: str) -> list[Any]:
    """What a transcript tells of a thread: names apart."""
    [thread] = [each for each in store.threads("local") if each.agent == agent]
    exchanges = reversed(store.exchanges("local", thread=thread.id))
    order = [each.recording.id for each in store.passages("local", thread.id) if each.recording]
    followed = [each.recording.followed for each in store.passages("local", thread.id) if each.recording]
    return [
        (thread.session, thread.title),
        [order.index(each) if each else None for each in followed],
        [(each.usage, each.model, each.stop_reason, each.request_id, each.ended) for each in exchanges],
    ]


def test_a_foreign_thought_is_not_in_a_transcript(tmp_path: Path) -> None:
    glm = recorded("g", origin=GLM)
    only = msgspec.structs.replace(glm, blocks=glm.blocks[:1], said=AnswerContent())
    with stored(tmp_path / "a.db", turn(only)) as store:
        raw = exported(store, FORMAT)
    assert b"Thought g." not in raw
    assert b"signature of g" not in raw
    assert json.loads(raw.splitlines()[-1])["message"]["content"] == [
        {"type": "text", "text": "[No message content]", "citations": []}
    ]


def test_a_client_without_a_session_gets_one_that_is_always_the_same(tmp_path: Path) -> None:
    with stored(tmp_path / "a.db", turn(recorded("r"))) as store:
        raw = exported(store, FORMAT)
        assert exported(store, FORMAT) == raw
    assert len({json.loads(line)["sessionId"] for line in raw.splitlines()}) == 1


def test_a_strand_has_the_thinking_of_its_own_maker_alone(store: SqliteStore) -> None:
    """Between two answers of Claude stands one that clew got from elsewhere, under Claude's name."""
    given = Scribbler()
    given.user("one")
    given.assistant("m1", thinking("1", "sig-1"), "First.")
    given.user("two")
    given.assistant("m2", thinking("2", sealed(0, "2", b"glm-proof")), "Second.")
    given.user("three")
    given.assistant("m3", thinking("3", "sig-3"), "Third.")
    imported(store, given.raw, FORMAT, sealer=SEALER)
    [thread] = store.threads("local")
    first, second, third = [each.recording for each in store.passages("local", thread.id) if each.recording]
    assert (first.strand, second.strand, third.strand) == (Strand(listed=()), Strand(listed=()), Strand(after=first.id))
    assert (second.followed, third.followed) == (first.id, second.id)


@pytest.mark.parametrize("content", [7, {"a": 1}, [{"type": 3}], [None]])
def test_content_of_another_shape_costs_its_line_alone(store: SqliteStore, content: Any) -> None:
    given = talk()
    given.user(content)
    given.user("and?")
    given.write("assistant", {"role": "assistant", "id": "odd", "model": "claude-opus-5-5", "content": content}, {})
    given.assistant("m3", "Here.")
    tally = imported(store, given.raw, FORMAT)
    assert [fault.line for fault in tally.faults] == [8, 10]
    assert said(store)[-1] == (["and?"], [text("Here.")])
