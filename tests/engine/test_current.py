"""The present settings: taken over when they change, kept when they cannot be used."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from clew.engine.choices import ACTIVE, AGENTS, family_choice
from clew.engine.current import Current
from clew.errors import StoreError
from clew.settings.load import load
from clew.settings.own_keys import load_keyring, rotate_keyring
from clew.settings.values import RoutingRule
from clew.store.sqlite.store import SqliteStore
from clew.thinking.seal import Seal
from tests.build import GLM
from tests.manifest import proves
from tests.store.turns import recorded, turn

TWO = """
active = "{active}"
[backends.a]
url = "http://127.0.0.1:1"
auth = "none"
[backends.b]
url = "http://127.0.0.1:2"
auth = "none"
"""
RULES = """
[[rules]]
family = "haiku"
backend = "a"
[[rules]]
agent = "x"
backend = "a"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "clew.toml").write_text(TWO.format(active="a"))
    return {"CLEW_HOME": str(tmp_path)}


def current(environ: dict[str, str], **more) -> Current:
    sealer = load_keyring(Path(environ["CLEW_HOME"]) / "secret", environ).sealer()
    return Current(load(None, environ), sealer, environ=environ, **more)


def polls(now: Current) -> None:
    """Twice: a file must be the same for a moment before it is read."""
    now.poll()
    now.poll()


def test_a_new_file_is_taken_over_and_the_switch_is_told(environ: dict[str, str], tmp_path: Path) -> None:
    """Whole, and only once it is left alone; anyone who holds the old snapshot keeps it."""
    switches: list[tuple[str, str]] = []
    now = current(environ, switched=lambda old, new: switches.append((old, new)))
    before = now.snapshot
    (tmp_path / "clew.toml").write_text(TWO.format(active="b"))
    now.poll()
    assert now.snapshot is before
    now.poll()

    assert (before.active, now.snapshot.active, switches) == ("a", "b", [("a", "b")])


@proves("fault:P6")
@pytest.mark.parametrize("broken", ["active = ", 'active = "nobody"', None])
def test_a_file_that_cannot_be_used_changes_nothing_and_is_told(
    environ: dict[str, str], tmp_path: Path, broken: str | None
) -> None:
    """Nor does one that is gone: without it, other settings would hold than the operator's."""
    now = current(environ)
    file, before = tmp_path / "clew.toml", now.settings
    if broken is None:
        file.unlink()
    else:
        file.write_text(broken)
    polls(now)
    assert (now.settings is before, bool(now.problem), now.snapshot.problem) == (True, True, now.problem)

    file.write_text(TWO.format(active="b"))
    polls(now)
    assert (now.snapshot.active, now.problem) == ("b", "")


def test_the_choice_in_the_store_outranks_the_file_and_one_gateways_own_outranks_that(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """And what `run --backend` said stands between. A name that is no backend stays chosen: no other one takes its place."""
    with SqliteStore(tmp_path / "clew.db") as store:
        now = current(environ, store=store, gateway="g")
        seen = [now.snapshot.active]
        for value, scope in (("b", ""), ("a", "g"), (None, "g"), ("nobody", ""), (None, "")):
            store.set(ACTIVE, value, scope=scope, at=0.0).result(120)
            now.poll()
            seen.append(f"{now.snapshot.active} by {now.snapshot.active_from}")
        chosen = current(environ, store=store, gateway="g", choice="b")

    assert seen == [
        "a",
        "b by clew use",
        "a by clew use --gateway",
        "b by clew use",
        "nobody by clew use",
        "a by the settings",
    ]
    assert (chosen.snapshot.active, chosen.snapshot.active_from) == ("b", "clew run --backend")


def test_a_turn_in_the_store_leaves_the_snapshot_as_it_is(environ: dict[str, str], tmp_path: Path) -> None:
    """What is known of requests is known under a snapshot: every answer that is kept would have it learnt anew."""
    with SqliteStore(tmp_path / "s" / "clew.db") as store, SqliteStore(tmp_path / "s" / "clew.db") as other:
        now = current(environ, store=store)
        now.poll()
        before = now.snapshot
        other.set("said", "by somebody", at=1.0).result()
        now.poll()
        assert now.snapshot is before
        other.set(AGENTS, "b", at=2.0).result()
        now.poll()
        assert now.snapshot is not before
        assert now.snapshot.chosen == (RoutingRule(agent="*", backend="b"),)


def test_a_thread_that_somebody_deletes_is_told_of_once(environ: dict[str, str], tmp_path: Path) -> None:
    """By any process, so that nobody remembers it; nothing else that is written is told."""
    told: list[str] = []
    with SqliteStore(tmp_path / "s" / "clew.db") as store, SqliteStore(tmp_path / "s" / "clew.db") as other:
        other.record(turn(recorded("before", thread="t"))).result(120)
        other.forget("local", "t", at=1.0).result(120)
        now = current(environ, store=store, deleted=lambda: told.append("deleted"))
        for thread in ("t", "u"):
            other.record(turn(recorded(f"r-{thread}", thread=thread))).result(120)
        now.poll()
        assert told == []
        for number, thread in enumerate(("t", "u"), 1):
            other.forget("local", thread, at=1.0 + number).result(120)
            polls(now)
            assert told == ["deleted"] * number


def test_a_store_that_cannot_be_read_for_a_moment_changes_nothing(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was chosen stays chosen, and is looked at again though nothing more was written."""
    switches: list[tuple[str, str]] = []
    with SqliteStore(tmp_path / "clew.db") as store:
        store.set(ACTIVE, "b", at=0.0).result(120)
        now = current(environ, store=store, switched=lambda old, new: switches.append((old, new)))
        now.poll()
        store.set(AGENTS, "b", at=1.0).result(120)
        with monkeypatch.context() as broken:
            broken.setattr(store, "settings", Mock(side_effect=StoreError("a disk that stutters", file="clew.db")))
            now.poll()
        during = now.snapshot.active, now.snapshot.chosen
        now.poll()

    assert (during, switches) == (("b", ()), [])
    assert now.snapshot.chosen == (RoutingRule(agent="*", backend="b"),)


def test_a_choice_for_a_part_is_a_rule_in_front_of_the_files_own(environ: dict[str, str], tmp_path: Path) -> None:
    """But for a rule that names one agent: that is narrower. A backend that is gone stays chosen: no other takes its place."""
    (tmp_path / "clew.toml").write_text(TWO.format(active="a") + RULES)
    with SqliteStore(tmp_path / "clew.db") as store:
        now = current(environ, store=store)
        for name, value in ((AGENTS, "b"), (family_choice("haiku"), "b"), (family_choice("opus"), "nobody")):
            store.set(name, value, at=0.0).result(120)
        now.poll()
        chosen, rules = now.snapshot.chosen, now.snapshot.settings.rules
        store.set(AGENTS, None, at=0.0).result(120)
        store.set(family_choice("haiku"), None, at=0.0).result(120)
        now.poll()

    gone = RoutingRule(family="opus", backend="nobody")
    assert set(chosen) == {RoutingRule(agent="*", backend="b"), RoutingRule(family="haiku", backend="b"), gone}
    assert rules == (RoutingRule(agent="x", backend="a"), *chosen, RoutingRule(family="haiku", backend="a"))
    assert (now.snapshot.chosen, now.snapshot.settings.rules) == ((gone,), (rules[0], gone, rules[4]))


def test_seals_of_a_key_that_another_process_made_open_after_a_poll(environ: dict[str, str], tmp_path: Path) -> None:
    now = current(environ, secret=tmp_path / "secret")
    token = rotate_keyring(tmp_path / "secret", environ).sealer().mint(Seal("local", GLM, "x", 0), "text")
    now.poll()

    assert now.snapshot.sealer.open(token, "text", principal="local").origin == GLM


@proves("fault:P7")
def test_all_is_well_is_said_when_it_is(environ: dict[str, str], tmp_path: Path) -> None:
    """Anyone who waits until the problem is gone, and asks then, is served by the corrected file."""
    seen: list[str] = []
    now = current(environ, switched=lambda old, new: seen.append(now.problem))
    (tmp_path / "clew.toml").write_text('active = "')
    polls(now)
    (tmp_path / "clew.toml").write_text(TWO.format(active="b"))
    polls(now)
    assert (len(seen), bool(seen[0]), now.problem) == (1, True, "")


def test_anyone_who_needs_the_settings_has_new_ones_before_anybody_is_served_by_them(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """No log shows the keys of a file that it does not know yet; and a file that cannot be used is nobody's news."""
    told: list[tuple[str, str]] = []
    now = current(environ, reloaded=lambda settings: told.append((settings.active, now.snapshot.active)))
    for text in ('active = "', TWO.format(active="b")):
        (tmp_path / "clew.toml").write_text(text)
        polls(now)
    assert told == [("b", "a")]


@asynccontextmanager
async def followed(now: Current) -> AsyncIterator[None]:
    following = asyncio.ensure_future(now.follow())
    try:
        yield
    finally:
        following.cancel()
        await asyncio.wait([following])


def glancing() -> int:
    return sum(thread.name == "clew poll" for thread in threading.enumerate())


def test_a_change_is_told_in_the_loop_of_anyone_who_attends_and_no_thread_is_left(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async def run() -> list[tuple[str, bool]]:
        now, changed, here = current(environ), asyncio.Event(), threading.current_thread()
        told: list[tuple[str, bool]] = []

        def tell() -> None:
            told.append((now.snapshot.active, threading.current_thread() is here))
            changed.set()

        async with followed(now):
            with now.attend(tell):
                (tmp_path / "clew.toml").write_text(TWO.format(active="b"))
                await asyncio.wait_for(changed.wait(), 120)
        return told

    before = glancing()
    assert asyncio.run(run()) == [("b", True)]
    assert glancing() == before


def test_an_attendant_is_told_in_the_thread_that_polled_and_not_after_it_left(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """The admin polls at once when it has switched: the next poll finds nothing new."""

    async def run(store: SqliteStore) -> list[str]:
        now, told = current(environ, store=store), list[str]()
        with now.attend(lambda: told.append(now.snapshot.active)):
            for backend in ("b", "b", "a"):
                store.set(ACTIVE, backend, at=0.0).result(120)
                await asyncio.to_thread(now.poll)
                await asyncio.to_thread(now.poll)
        store.set(ACTIVE, "b", at=0.0).result(120)
        await asyncio.to_thread(now.poll)
        await asyncio.sleep(0)
        return told

    with SqliteStore(tmp_path / "clew.db") as store:
        assert asyncio.run(run(store)) == ["b", "b", "a"]


def test_a_poll_that_goes_wrong_is_told_and_not_the_last(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits for it, so nobody else would know."""
    polls, again = iter([RuntimeError("a bug"), None]), threading.Event()

    def poll(*, whole: bool) -> None:
        if error := next(polls, None):
            raise error
        again.set()

    async def run() -> bool:
        now = current(environ)
        monkeypatch.setattr(now, "poll", poll)
        async with followed(now):
            return await asyncio.to_thread(again.wait, 20)

    assert asyncio.run(run())
    assert [record.message for record in caplog.records] == ["the poll for changes of settings, pins and keys failed"]
