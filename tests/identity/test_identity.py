"""What clients do to a history leaves every recording findable; equal openings never exchange a block."""

from __future__ import annotations

import pytest

from clew.pipeline.step import Facts
from clew.pipeline.thinking import found_in, keep_thinking
from tests.build import OPUS, Json, Scribe, assistant, request, sent, target, thinking, user
from tests.identity.histories import MUTATIONS, Messages, Mutation
from tests.identity.sample import SAMPLE


def recorded(messages: Messages) -> Scribe:
    """A scribe that heard every answer of this conversation, in order."""
    scribe = Scribe(session="s1")
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            asked = request(*messages[:index])
            scribe.record(asked, asked, message)
    return scribe


def ids_found(messages: Messages, scribe: Scribe) -> list[str | None]:
    facts = Facts(recordings=scribe.shelf, context=scribe.context)
    return [each.recording.id if each.recording else None for each in found_in(request(*messages), facts)]


@pytest.mark.parametrize("change", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_a_clients_change_leaves_every_recording_findable(change: Mutation, request: pytest.FixtureRequest) -> None:
    """Table 1.1 of the measurements: by key or tool id, and where the thinking is gone too, by place."""
    scribe = recorded(SAMPLE)
    whole = ids_found(SAMPLE, scribe)
    assert whole == ["r1", "r2", "r3", "r4"]

    found = ids_found(change(SAMPLE), scribe)

    name = request.node.callspec.id
    want = {"compaction_leaves_out_the_last_answer": whole[:-1], "compaction_keeps_only_the_last_answer": whole[-1:]}
    assert found == want.get(name, whole)


@pytest.mark.parametrize("first", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_two_changes_on_top_of_each_other_never_find_a_wrong_recording(first: Mutation) -> None:
    scribe = recorded(SAMPLE)
    for second in MUTATIONS.values():
        found = ids_found(second(first(SAMPLE)), scribe)
        named = [each for each in found if each]
        assert named == sorted(named), "in the order in which they were said"


def test_conversations_with_equal_openings_never_exchange_a_block() -> None:
    """Two recorded talks with the same words, and a client that dropped all thinking: nothing, or its own."""
    scribe = Scribe()
    talks: list[list[Json]] = []
    for name in ("a", "b"):
        history: list[Json] = [user("hello")]
        for turn, (words, ask) in enumerate([("OK", "go on"), ("done", "thanks"), ("bye", "hm")]):
            asked = request(*history)
            scribe.record(asked, asked, assistant(thinking(f"{name}{turn}", f"sig-{name}{turn}"), words))
            history += [assistant(thinking(f"{name}{turn}", f"sig-{name}{turn}"), words), user(ask)]
        talks.append(history)
    facts = Facts(recordings=scribe.shelf, context=scribe.context)

    bare = [
        {**message, "content": [block for block in message["content"] if block["type"] == "text"]}
        if message["role"] == "assistant"
        else message
        for message in talks[0]
    ]
    assert sent(keep_thinking(request(*bare), target(OPUS), facts)[0]) == bare

    for name, history in zip("ab", talks, strict=True):
        half = [*bare[:5], *history[5:]]
        going = sent(keep_thinking(request(*half), target(OPUS), facts)[0])
        assert going == history, f"the block that {name} kept says whose talk it is, and so does what it followed"
