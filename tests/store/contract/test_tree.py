"""A thread as a tree: forks, rewinds and sub-agents, and nothing of anybody else's."""

from clew.model.recording import Recording
from clew.store import Store
from clew.store.values import Branch
from tests.store.turns import NOON, conversation, recorded, turn


def keep(store: Store, *answers: Recording) -> None:
    for at, each in enumerate(answers):
        assert store.record(turn(each, at=NOON + 10 * at)).result(120)


def branch(after: str, *names: str, began: int, thread: str = "t", agent: str = "", ended: int | None = None) -> Branch:
    """Turns take 2.5 seconds, and every ten there is one."""
    last = began + len(names) - 1 if ended is None else ended
    names = tuple(f"x-{name}" for name in names)
    after = after and f"x-{after}"
    began_at, ended_at = NOON + 10 * began - 2.5, NOON + 10 * last
    return Branch(thread=thread, agent=agent, after=after, exchanges=names, began=began_at, ended=ended_at)


def test_a_thread_that_nobody_left_is_one_stretch(store: Store) -> None:
    keep(store, *conversation(3))
    store.record(turn(at=NOON + 99)).result(120)  # refused: nothing follows it
    assert store.tree("local", "t") == [branch("", "r0", "r1", "r2", began=0)]
    assert store.tree("local", "u") == store.tree("other", "t") == []


def test_a_rewind_makes_a_fork(store: Store) -> None:
    """Somebody went back to the first answer, and went on from there twice."""
    old = conversation(3)
    new = recorded("new", before=(old[0],))
    newer = recorded("newer", before=(old[0], new))
    other = recorded("other", before=(old[0],))
    keep(store, *old, new, newer, other)
    assert store.tree("local", "t") == [
        branch("", "r0", began=0),
        branch("r0", "r1", "r2", began=1),
        branch("r0", "new", "newer", began=3),
        branch("r0", "other", began=5),
    ]


def test_a_sub_agent_begins_after_the_answer_that_sent_it(store: Store) -> None:
    first = recorded("a", session="s")
    scout = recorded("b", session="s", agent="scout", thread="u")
    more = recorded("c", before=(scout,), session="s", agent="scout", thread="u")
    second = recorded("d", before=(first,), session="s")
    stranger = recorded("e", session="s2", agent="scout", thread="v")
    keep(store, first, scout, more, second, stranger)
    agents = branch("a", "b", "c", began=1, thread="u", agent="scout")
    assert store.tree("local", "t") == [branch("", "a", "d", began=0, ended=3), agents]
    assert store.tree("local", "u") == [branch("", "b", "c", began=1, thread="u", agent="scout")]


def test_an_answer_whose_predecessor_is_forgotten_begins_anew(store: Store) -> None:
    answers = conversation(2)
    keep(store, *answers, recorded("fork", before=tuple(answers), thread="u"))
    assert store.forget("local", "t", at=NOON).result(120)
    assert store.tree("local", "u") == [branch("", "fork", began=2, thread="u")]
    assert (store.thread("local", "t"), getattr(store.thread("local", "u"), "turns", None)) == (None, 1)
