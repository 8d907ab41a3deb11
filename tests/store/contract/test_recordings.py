"""Recordings: kept as they are, found by what a client sends, within their principal."""

import msgspec

from clew.model.recording import AnswerContent, Strand
from clew.store import Store, StoreLocation
from clew.store.values import DAY
from tests.store.contract.opening import opened
from tests.store.turns import GLM, NOON, bare, conversation, gathered, recorded, turn


def keep(store: Store, *recordings) -> None:
    for recording in recordings:
        assert store.record(turn(recording)).result(120)


def test_a_recording_comes_back_as_it_went_in(store: Store) -> None:
    """Law 1: originals are sacred."""
    odd = recorded(
        "odd",
        origin=GLM,
        said=AnswerContent(("toolu_\ud800", ""), ("half a pair \udfff", "a\0b")),
        strand=Strand(listed=(b"\xff" * 32, b"\0" * 32)),
        session="s",
        agent="a",
        whole=False,
    )
    first, second = conversation(2)
    keep(store, odd, first, second)
    assert [store.recordings("local").by_id(each.id) for each in (odd, first, second)] == [odd, first, second]


def test_a_recording_is_found_by_key_tool_and_place(store: Store) -> None:
    first, second = conversation(2)
    keep(store, first, second)
    found = store.recordings("local")
    assert found.by_key(first.keys[0]) == first
    assert list(found.by_tool("toolu_r1")) == [second]
    assert list(found.by_place(first.place)) == [first]
    assert (found.by_id("no"), found.by_key(b"no"), [*found.by_tool("no")], [*found.by_place(b"no")]) == (None, None, [], [])


def test_of_two_with_one_key_the_newer_is_found_and_both_stand_at_their_place(store: Store) -> None:
    older = recorded("older", words="same")
    newer = recorded("newer", words="same", keys=older.keys)
    keep(store, older, newer)
    found = store.recordings("local")
    assert found.by_key(older.keys[0]) == newer
    assert list(found.by_place(older.place)) == [older, newer]


def test_nothing_is_found_across_principals(store: Store) -> None:
    """Law 7 and the word *principal*: the same ids, keys, tools and places of two owners never meet."""
    mine = recorded("r")
    yours = recorded("r", principal="other", place=mine.place)
    keep(store, mine, yours)
    for principal, own in (("local", mine), ("other", yours)):
        found = store.recordings(principal)
        shelf = gathered(store, principal, keys=mine.keys, tools=mine.said.ids, places=[mine.place])
        for each in (found, shelf):
            assert each.by_id("r") == each.by_key(mine.keys[0]) == own
            assert [*each.by_tool("toolu_r")] == [*each.by_place(mine.place)] == [own]
    assert store.recordings("nobody").by_id("r") is None


def test_one_gathering_brings_what_is_named_and_all_that_it_came_after(store: Store) -> None:
    """The newest answer of a history is enough to find its whole strand; other conversations stay where they are."""
    answers, others = conversation(30), conversation(3, "other", thread="u")
    keep(store, *answers, *others)
    shelf = gathered(store, "local", keys=answers[-1].keys)
    assert [shelf.by_id(each.id) for each in answers] == answers
    assert [shelf.by_id(each.id) for each in others] == [None] * 3
    for one in (gathered(store, "local", tools=["toolu_r4"]), gathered(store, "local", places=[answers[4].place])):
        assert [one.by_id(each.id) for each in answers] == [*answers[:5], *[None] * 25]
    assert gathered(store, "local").by_id("r0") is None


def test_a_gathering_follows_both_links_where_they_part(store: Store) -> None:
    """After a switch and back, an answer followed another model's, and came after the thinking of its own."""
    own, foreign = recorded("own"), recorded("foreign", origin=GLM)
    back = recorded("back", before=(own,), followed="foreign")
    keep(store, own, foreign, back)
    shelf = gathered(store, "local", keys=back.keys)
    assert [shelf.by_id(each.id) for each in (own, foreign, back)] == [own, foreign, back]


def test_a_gathering_ends_where_links_lead_in_a_circle_or_nowhere(store: Store) -> None:
    circle = [
        recorded("a", strand=Strand(after="b"), followed="b", digest=b""),
        recorded("b", strand=Strand(after="a"), followed="gone", digest=b""),
    ]
    keep(store, *circle)
    shelf = gathered(store, "local", keys=circle[0].keys)
    assert [shelf.by_id(id) for id in ("a", "b", "gone")] == [*circle, None]


def test_a_turn_that_is_recorded_again_adds_nothing(store: Store) -> None:
    """A lost acknowledgement is answered by sending the turn again."""
    first = turn(recorded("r"))
    assert [store.record(first).result(120) for _ in range(3)] == [True, False, False]
    assert len(store.passages("local", "t")) == 1
    assert store.usage_totals("local")[0].calls == 1


def test_a_history_that_is_sent_again_adds_nothing(store: Store) -> None:
    answers = conversation(5)
    keep(store, *answers)
    before = seen(store)
    keys = [key for each in answers for key in each.keys]
    for later in range(3):
        store.touch("local", keys=keys, recordings=[each.id for each in answers], at=NOON + later * DAY).result(120)
    assert seen(store) == before
    assert [store.recordings("local").by_id(each.id) for each in answers] == answers


def seen(store: Store) -> tuple[object, ...]:
    """All that was kept, apart from when a thread was used last."""
    threads = [(each.id, each.title, each.turns) for each in store.threads("local")]
    return store.exchanges("local"), threads, store.passages("local", "t"), store.usage_totals("local")


def test_without_content_only_what_must_go_back_is_kept(location: StoreLocation) -> None:
    """`content = false`: the thinking is whole, and nothing is kept for threads to be read."""
    recording = recorded("r")
    with opened(location, content=False) as store:
        keep(store, recording)
        assert store.recordings("local").by_id("r") == bare(recording)
        assert store.recordings("local").by_key(recording.keys[0]).blocks[0] == recording.blocks[0]
        [passage], [thread] = store.passages("local", "t"), store.threads("local")
        assert (passage.asked, thread.title) == ((), "")
        assert store.verify() == ()
    kept = b"".join(file.read_bytes() for file in location.files() if file.exists())
    assert [secret for secret in (b"secret question", b"secret input", b"A title") if secret in kept] == []
    assert not kept or b"Thought r." in kept, "a store on this machine keeps the thinking as it came"


def test_a_block_of_an_unknown_kind_keeps_its_name_without_content(location: StoreLocation) -> None:
    recording = recorded("r", blocks=(*recorded("r").blocks, b'{"type":"new_kind","payload":{"a":1}}'))
    with opened(location, content=False) as store:
        keep(store, recording)
        assert store.recordings("local").by_id("r") == msgspec.structs.replace(
            recording, blocks=(*bare(recording).blocks[:-1], b'{"type":"new_kind"}')
        )
