"""What was deleted while somebody was still answered in it does not come back with the answer's end."""

from pathlib import Path

import msgspec
import pytest

from clew.model.turn import Bodies, TurnRecord
from clew.store.deletion_notes import LONGEST
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Retention
from tests.database import connected
from tests.manifest import proves
from tests.store.tables import rows
from tests.store.test_forget import everything_in, tidied
from tests.store.turns import NOON, recorded, turn

WORDS = (b"erased", b"question", b"A title", b"secret", b"Thought", b"made by glm", b"sermon")
EVERYTHING = Retention(age=None, bytes=None, usage_age=None)


def answer(id: str = "r", *, outcome: str = "whole", began: float = NOON, **more: str) -> TurnRecord:
    """With words wherever a turn can have some."""
    made = recorded(id, words="to be erased", whole=outcome == "whole", **more)
    bodies = Bodies(asked=b"a sermon", sent=b"the sermon", answered=b"no sermon")
    return turn(made, exchange=id, outcome=outcome, started=began, at=began + 5, bodies=bodies)


def words_in(path: Path) -> list[bytes]:
    raw = everything_in(path)
    return [words for words in WORDS if words in raw]


@proves("fault:X16")
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("outcome", ["whole", "cut"])
def test_an_answer_that_ends_later_is_kept_without_a_word(
    store: SqliteStore, path: Path, outcome: str, elsewhere: bool
) -> None:
    """It was kept as open, deleted, kept as open once more, and ended: its cost is there, and that it was forgotten."""
    with SqliteStore(path) as other:
        assert store.record_open(answer(outcome="open")).result(120)
        assert len(store.search("local", "erased")) == 1
        assert (other if elsewhere else store).forget("local", "t", at=NOON + 1).result(120)
        assert words_in(path) == []
        assert store.record_open(answer(outcome="open")).result(120) is False
        assert (rows(store)["exchanges"], store.verify()) == (0, ())
        ended = answer(outcome=outcome)
        assert store.record(ended).result(120) is False
        kept = msgspec.structs.replace(ended.exchange, kind="forgotten", thread="", changes=())
        assert (store.exchanges("local"), store.threads("local")) == ([kept], [])
        assert (store.search("local", "erased"), store.recordings("local").by_id("r")) == ([], None)
        assert [each.calls for each in store.usage_totals("local")] == [1]
    store.close()
    assert words_in(path) == []
    with SqliteStore(path) as again:
        assert again.verify() == ()


def test_an_answer_of_which_nothing_was_kept_yet_counts_too(store: SqliteStore, path: Path) -> None:
    """One that is not streamed is kept at its end alone. The thread has earlier turns."""
    store.record(answer("before", began=NOON - 60)).result(120)
    assert store.forget("local", "t", at=NOON + 1).result(120)
    assert store.record(answer("after")).result(120) is False
    store.close()
    assert words_in(path) == []


def test_what_is_said_afterwards_is_kept(store: SqliteStore) -> None:
    """In the same thread, as a conversation goes on; and a turn of another thread is nobody's business."""
    store.record(answer()).result(120)
    assert store.forget("local", "t", at=NOON + 1).result(120)
    assert store.record(answer("later", began=NOON + 2)).result(120)
    assert store.record(answer("beside", thread="u")).result(120)
    assert store.record(answer("theirs", principal="other")).result(120)
    assert [(each.id, each.turns) for each in store.threads("local")] == [("t", 1), ("u", 1)]
    assert [each.id for each in store.threads("other")] == ["t"]


def test_a_fork_that_is_under_way_ends_without_what_it_followed(store: SqliteStore) -> None:
    """It goes on in a thread of its own; only its strand ends where the deleted one was."""
    store.record(before := answer("a")).result(120)
    assert before.recording is not None
    fork = recorded("b", before=(before.recording,), thread="u")
    assert store.forget("local", "t", at=NOON + 1).result(120)
    assert store.record(turn(fork, started=NOON - 1)).result(120)
    assert (store.recordings("local").by_id("b"), store.verify()) == (fork, ())


def test_bodies_do_not_come_after_the_deletion(store: SqliteStore, path: Path) -> None:
    """They are written a moment after their turn. Anyone who keeps the same turn again keeps that it was forgotten."""
    assert store.record(answer()).result(120)
    assert store.forget("local", "t", at=NOON + 10).result(120)
    assert store.record(answer()).result(120) is False
    store.close()  # what lingers is written
    assert words_in(path) == []
    with SqliteStore(path) as again:
        assert ([each.kind for each in again.exchanges("local")], again.bodies("local", "r")) == (["forgotten"], None)


def test_agents_that_are_just_told_of_it_are_meant_where_that_is_said(store: SqliteStore) -> None:
    """One that was kept as refused, and one of which nothing is kept yet: both are of the deleted thread's session."""
    store.record(answer("main", thread="main", session="s")).result(120)
    refused = turn(at=NOON, exchange="x", session="s", agent="a1", thread="scout")
    store.record(refused).result(120)
    assert [each.id for each in store.sibling_threads("local", "main")] == ["scout"]
    assert store.sibling_threads("local", "scout") == []
    assert store.forget("local", "main", at=NOON + 1, agents=True).result(120)
    assert store.record(answer("late", thread="late", session="s", agent="a2")).result(120) is False
    assert store.record(answer("other", thread="other", session="s2", agent="a2")).result(120)
    assert store.record(answer("new", thread="new", session="s", agent="a3", began=NOON + 2)).result(120)


def test_agents_stay_where_nobody_said_so(store: SqliteStore) -> None:
    store.record(answer("main", thread="main", session="s")).result(120)
    assert store.forget("local", "main", at=NOON + 1).result(120)
    assert store.record(answer("late", thread="late", session="s", agent="a2")).result(120)


def test_a_clock_that_is_set_back_brings_nothing_back(store: SqliteStore) -> None:
    """The answer began at noon, and then it was an hour earlier."""
    store.record_open(answer(outcome="open")).result(120)
    assert store.forget("local", "t", at=NOON - 3600).result(120)
    assert store.record(answer()).result(120) is False


def test_an_import_brings_back_what_it_has_and_the_answer_under_way_stays_forgotten(store: SqliteStore) -> None:
    store.record(answer("a")).result(120)
    assert store.forget("local", "t", at=NOON + 1).result(120)
    assert store.record(answer("a"), brought_back=True).result(120)
    assert store.record(answer("b")).result(120) is False
    assert [each.turns for each in store.threads("local")] == [1]


def test_the_note_of_a_deletion_says_nothing_and_goes_in_time(store: SqliteStore, path: Path) -> None:
    """A front end may name its threads as it likes."""
    store.record(answer(thread="about-my-divorce")).result(120)
    assert store.forget("local", "about-my-divorce", at=NOON + 10).result(120)
    assert b"divorce" not in everything_in(path)
    assert notes(store) == 1
    tidied(store, EVERYTHING, NOON + LONGEST)
    assert notes(store) == 1
    tidied(store, EVERYTHING, NOON + LONGEST + 11)
    assert notes(store) == 0


def test_a_thread_that_is_not_there_is_not_noted(store: SqliteStore) -> None:
    """Anyone who may delete may not fill the file with it."""
    assert store.forget("local", "nothing", at=NOON).result(120) is False
    assert notes(store) == 0


def notes(store: SqliteStore) -> int:
    with store._readers.use() as connection:
        return connection.execute("SELECT count(*) FROM forgotten").get


def test_an_exchange_that_was_forgotten_grows_old_as_counts_do(store: SqliteStore) -> None:
    store.record(answer("a")).result(120)
    store.forget("local", "t", at=NOON + 1).result(120)
    store.record(answer("b")).result(120)
    assert [each.id for each in store.exchanges("local")] == ["b"]
    assert tidied(store, Retention(age=60, bytes=None), NOON + 120) == 1
    assert rows(store)["exchanges"] == 0


@pytest.mark.parametrize("way", ["on request", "by age"])
def test_what_an_agent_noted_about_a_thread_goes_with_it(store: SqliteStore, way: str) -> None:
    """`calls-begun:…` stands among the settings of the thread's owner."""
    store.record(answer()).result(120)
    for name, scope in (("calls-begun:t", "local"), ("calls-begun:t", "other"), ("active", "")):
        store.set(name, "r", scope=scope, at=NOON).result(120)
    store.record(answer(principal="other", began=NOON + 500)).result(120)
    if way == "on request":
        assert store.forget("local", "t", at=NOON + 10).result(120)
    else:
        assert tidied(store, Retention(age=60, bytes=None), NOON + 120) == 1
    assert [store.settings(scope) for scope in ("local", "other", "")] == [{}, {"calls-begun:t": "r"}, {"active": "r"}]


def test_what_an_agent_notes_after_the_deletion_goes_with_the_next_tidying(store: SqliteStore) -> None:
    store.set("calls-begun:t", "r", scope="local", at=NOON).result(120)
    tidied(store, EVERYTHING, NOON)
    assert store.settings("local") == {}


def test_verify_says_where_a_forgotten_exchange_has_words(store: SqliteStore, path: Path) -> None:
    store.record(answer("a")).result(120)
    store.forget("local", "t", at=NOON + 1).result(120)
    store.record(answer("b")).result(120)
    connection = connected(path)
    connection.execute("UPDATE exchanges SET asked = x'91c0'")
    connection.close()
    assert [(fault.record, fault.what) for fault in store.verify()] == [("b", "it was forgotten, and is not without words")]


def test_the_beside_of_a_thread_is_whole(store: SqliteStore) -> None:
    """As `threads` lists them."""
    for each in (answer("m", thread="m", session="s"), answer("n", thread="n", session="s", agent="a", began=NOON + 1)):
        store.record(each).result(120)
    assert store.sibling_threads("local", "m") == store.threads("local", limit=1)
