"""Threads, passages, exchanges, usage, statistics, settings: what people and programs look at."""

from clew.model.change import Change
from clew.model.turn import TokenUsage
from clew.store import Store
from clew.store.thread_clients import with_clients
from clew.store.values import Passage, Statistics, Thread, UsageTotal
from tests.manifest import proves
from tests.store.turns import GLM, NOON, conversation, recorded, turn


def test_a_thread_is_read_as_it_was_said(store: Store) -> None:
    answers = conversation(3)
    turns = [turn(each, at=NOON + index) for index, each in enumerate(answers)]
    for each in (*turns, turn(at=NOON + 3)):
        store.record(each).result(120)
    expected = [
        *(
            Passage(exchange=each.exchange.id, at=each.exchange.ended, asked=each.asked, recording=each.recording)
            for each in turns
        ),
        Passage(exchange=f"x-{NOON + 3}", at=NOON + 3, asked=turns[0].asked, recording=None),
    ]
    assert store.passages("local", "t") == expected
    assert store.passages("local", "u") == store.passages("other", "t") == []


def test_threads_are_listed_last_used_first(store: Store) -> None:
    for at, name in ((0, "old"), (1, "new"), (5, "old"), (3, "third")):
        store.record(turn(recorded(f"{name}{at}", thread=name, session=f"s-{name}", agent="a"), at=NOON + at)).result(120)
    old = Thread(
        id="old",
        principal="local",
        session="s-old",
        agent="a",
        title="A title",
        pin="",
        created=turn(at=NOON).exchange.started,
        used=NOON + 5,
        turns=2,
    )
    listed = store.threads("local")
    assert listed[0] == old
    assert [each.id for each in listed] == ["old", "third", "new"]
    assert [each.id for each in store.threads("local", limit=1, before=old.used)] == ["third"]
    assert store.threads("other") == []


def test_threads_are_found_by_how_their_ids_begin(store: Store) -> None:
    for name in ("0a1", "0a2", "0b1", "0a"):
        store.record(turn(recorded(name, thread=name))).result(120)

    def starting(start: str) -> list[str]:
        return [each.id for each in store.threads("local", starting=start)]

    assert [starting(each) for each in ("0a", "0a1", "0b", "1", "%", "0a1x")] == [
        ["0a", "0a1", "0a2"],
        ["0a1"],
        ["0b1"],
        [],
        [],
        [],
    ]


def test_a_thread_is_found_by_its_headers_but_never_by_none(store: Store) -> None:
    """No session is no evidence; no agent is the main thread."""
    for name, session, agent in (("main", "s", ""), ("agent", "s", "a"), ("bare", "", "")):
        store.record(turn(recorded(name, thread=name, session=session, agent=agent))).result(120)
    asked = [("local", "s", ""), ("local", "s", "a"), ("local", "", ""), ("local", "s", "b"), ("other", "s", "")]
    assert [store.thread_of(*each) for each in asked] == ["main", "agent", None, None, None]


def test_a_thread_is_pinned_and_let_go(store: Store) -> None:
    store.record(turn(recorded("r"))).result(120)
    assert [store.pin("local", "t", "glm").result(120), store.pin("local", "u", "glm").result(120)] == [True, False]
    assert store.threads("local")[0].pin == "glm"
    store.pin("local", "t", "").result(5)
    assert store.threads("local")[0].pin == ""


def test_a_thread_gets_another_title(store: Store) -> None:
    store.record(turn(recorded("r"))).result(120)
    assert [store.rename("local", "t", "Flows").result(120), store.rename("local", "u", "Flows").result(120)] == [
        True,
        False,
    ]
    assert [thread.title for thread in store.threads("local")] == ["Flows"]


def test_an_exchange_comes_back_with_its_changes_and_usage(store: Store) -> None:
    """Law 6: each alteration can be seen later."""
    turns = [
        turn(recorded("r", agent="a", session="s")),
        turn(at=NOON + 1, first_byte=None, usage=TokenUsage(input=1, estimated=True)),
    ]
    for each in turns:
        store.record(each).result(120)
    assert store.exchanges("local") == [turns[1].exchange, turns[0].exchange]
    assert store.exchanges("local", thread="t", limit=1) == [turns[1].exchange]
    assert store.exchanges("local", thread="u") == store.exchanges("other") == []
    assert store.exchanges("local")[0].changes == (Change("thinking", "messages.1.content.0", "left out", "made by glm"),)


def test_usage_is_added_up_by_backend_and_model(store: Store) -> None:
    for number, origin in enumerate([GLM, GLM, recorded("r").origin]):
        store.record(turn(recorded(f"r{number}", origin=origin), at=NOON + number)).result(120)
    one = TokenUsage(input=10, output=20, cache_read=30, cache_written=40)
    two = TokenUsage(input=20, output=40, cache_read=60, cache_written=80)
    claude = UsageTotal(backend="claude", model="claude-opus-5-5", calls=1, usage=one)
    assert store.usage_totals("local") == [claude, UsageTotal(backend="glm", model="glm-5", calls=2, usage=two)]
    assert store.usage_totals("local", since=NOON + 2) == [claude]
    assert store.usage_totals("other") == []


@proves("req:S1-40")
def test_the_statistics_add_up_two_ways_and_know_dormant_and_unknown_blocks(store: Store) -> None:
    """S1-40 with S1-31 and S1-33 as the origin policy has them: what is absent sleeps, and is valid when it returns."""
    answers = [*conversation(3), recorded("g", origin=GLM)]
    for each in answers:
        store.record(turn(each)).result(120)
    sent = [answers[0].keys[0], answers[1].keys[0], b"u" * 32]
    store.touch("local", keys=sent, at=NOON + 100).result(120)
    expected = Statistics(total=4, confirmed=2, unconfirmed=2, current_session=1, old_session=3, dormant=0, unknown=1)
    assert store.statistics("local", backend="glm", now=NOON + 100) == expected
    later = store.statistics("local", backend="claude", now=NOON + 350)
    assert (later.current_session, later.old_session, later.dormant) == (3, 1, 2)
    store.touch("local", keys=answers[2].keys, at=NOON + 350).result(120)
    assert store.statistics("local", backend="claude", now=NOON + 350).dormant == 1
    assert store.statistics("other", backend="claude", now=NOON) == Statistics()


def test_an_unknown_block_that_is_recorded_after_all_is_unknown_no_more(store: Store) -> None:
    recording = recorded("r")
    store.touch("local", keys=recording.keys, at=NOON).result(120)
    assert store.statistics("local", backend="", now=NOON).unknown == 1
    store.record(turn(recording)).result(120)
    assert store.statistics("local", backend="", now=NOON) == Statistics(total=1, unconfirmed=1, old_session=1)


def test_settings_are_written_replaced_and_removed_within_their_scope(store: Store) -> None:
    store.set("active", "glm", at=NOON)
    store.set("active", "claude", at=NOON)
    store.set("active", "kimi", scope="run-1", at=NOON).result(120)
    assert (store.settings(), store.settings("run-1"), store.settings("x")) == ({"active": "claude"}, {"active": "kimi"}, {})
    store.set("active", None, at=NOON).result(120)
    assert (store.settings(), store.settings("run-1")) == ({}, {"active": "kimi"})


def test_threads_are_told_with_what_each_backend_did_in_them(store: Store) -> None:
    """Calls without usage count too, and so does the time that they took."""
    used = TokenUsage(input=10, output=5, cache_read=1, cache_written=2)
    for number in range(2):
        store.record(turn(recorded(f"a{number}", thread="a"), at=NOON + number, usage=used)).result(120)
    store.record(turn(exchange="b0", thread="b", at=NOON, outcome="failed", usage=None)).result(120)
    other = {"usage": used, "dialect": "openai-responses", "client": "Codex", "key": "anna"}
    store.record(turn(recorded("a2", thread="a", origin=GLM), at=NOON + 2, **other)).result(120)
    found = store.thread_totals("local", ["a", "b", "none"])
    made = [(each.thread, each.backend, each.calls, each.usage.prompt, each.usage.output) for each in found]
    backends = [turn(recorded("x")).exchange.backend, turn(recorded("x", origin=GLM)).exchange.backend]
    assert made == [("a", backends[0], 2, 26, 10), ("a", backends[1], 1, 13, 5), ("b", made[2][1], 1, 0, 0)]
    assert all(each.seconds > 0 for each in found)
    clients = [(each.dialect, each.client, each.key) for each in found]
    assert clients == [("anthropic", "", ""), ("openai-responses", "Codex", "anna"), ("anthropic", "", "")]
    assert store.thread_totals("other", ["a"]) == store.thread_totals("local", []) == []


def test_threads_are_listed_with_their_programs_the_newest_first(store: Store) -> None:
    """One whose only request failed has one too; one that is not known is none."""
    for number, client in enumerate(("Codex", "", "opencode", "Codex", "Claude Code", "opencode")):
        store.record(turn(recorded(f"a{number}", thread="a"), at=NOON + number, client=client)).result(120)
    store.record(turn(exchange="b", thread="b", at=NOON, outcome="failed", usage=None, client="curl")).result(120)
    store.record(turn(recorded("c", thread="c"), at=NOON - 1)).result(120)
    found = with_clients(store, "local", store.threads("local"))
    assert [(each.id, each.clients) for each in found] == [
        ("a", ("opencode", "Claude Code", "Codex")),
        ("b", ("curl",)),
        ("c", ()),
    ]
    assert with_clients(store, "local", []) == []
