"""The registry's table: sessions, threads, registration from a whole answer, statistics."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Lock

import pytest

from clew import CacheStats, RegistryEntry, ThinkingRegistry
from clew.thinking.registry.blocks import Registered, Registration
from clew.thinking.registry.table import BackendSwitch
from tests.manifest import proves, public
from tests.thinking.registry.builders import (
    HELLO,
    A,
    B,
    C,
    answer,
    confirmed,
    key,
    on,
    redacted,
    request,
    text,
    thinking,
)


@public("library")
@proves("req:S1-1")
def test_a_new_registry_has_no_session_no_backend_and_no_blocks() -> None:
    """Document 001, core data structure: five minutes until a block counts as orphaned."""
    registry = ThinkingRegistry()

    assert (registry.session, registry.backend, registry.entries) == (0, "", {})
    assert registry.orphan_threshold == 300.0
    assert ThinkingRegistry(12.5).orphan_threshold == 12.5


@proves("req:S1-2")
def test_each_change_of_the_backend_begins_a_session_also_a_change_back() -> None:
    """The same name again begins none."""
    registry = ThinkingRegistry()

    switches = [registry.notify_backend(name) for name in ("anthropic", "anthropic", "glm", "anthropic")]

    assert switches == [
        BackendSwitch("", "anthropic", 0, 1),
        None,
        BackendSwitch("anthropic", "glm", 1, 2),
        BackendSwitch("glm", "anthropic", 2, 3),
    ]
    assert (registry.session, registry.backend) == (3, "anthropic")


class Tally(AbstractContextManager[None]):
    """Counts how often it is taken and let go."""

    def __init__(self) -> None:
        self.taken = self.released = 0

    def __enter__(self) -> None:
        assert self.taken == self.released, "a plain lock would never open"
        self.taken += 1

    def __exit__(self, *error: object) -> None:
        self.released += 1


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads change places as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@public("library")
@proves("req:S1-3")
@pytest.mark.usefixtures("hasty")
def test_threads_that_share_a_registry_with_a_lock_lose_nothing() -> None:
    """Register, filter and count from eight threads: no exception, and every block is there at the end."""
    registry = ThinkingRegistry(lock=Lock())
    registry.notify_backend("anthropic")
    blocks = [thinking(f"thought {n}") for n in range(400)]

    def turn(n: int) -> CacheStats:
        registry.register_response(answer(blocks[n]), 0.0)
        registry.filter_request({"messages": [HELLO]}, 0.0)
        return registry.cache_stats()

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(turn, range(400)))

    assert all(stats.total == stats.confirmed + stats.unconfirmed == stats.current_session for stats in seen)
    assert registry.filter_request(request(*blocks), 1.0).confirmed == 400
    assert registry.cache_stats() == CacheStats(400, 400, 0, 400, 0)


@public("library")
@proves("req:S1-3")
@pytest.mark.parametrize(
    "call",
    [
        lambda registry: registry.notify_backend("glm"),
        lambda registry: registry.register_response(answer(A), 0.0),
        lambda registry: registry.register_blocks([A, B], 0.0),
        lambda registry: registry.filter_request(request(A), 0.0),
        lambda registry: registry.cache_stats(),
        lambda registry: registry.entries,
        lambda registry: registry.watch().end(0.0),
    ],
)
def test_every_look_at_the_table_takes_the_lock_once(call: Callable[[ThinkingRegistry], object]) -> None:
    """Not taken: an entry could be lost between its reading and its writing. Taken twice: a plain lock would never open."""
    lock = Tally()

    call(ThinkingRegistry(lock=lock))

    assert (lock.taken, lock.released) == (1, 1)


@proves("req:S1-4")
def test_a_thinking_block_of_an_answer_is_registered_unconfirmed_in_the_current_session() -> None:
    """Document 001, block lifecycle."""
    registry = ThinkingRegistry()
    registry.notify_backend("anthropic")

    registration = registry.register_response(answer(A, text("hi")), 7.0)

    assert registration == Registration((Registered(key(A), 1, "First A."),))
    assert registry.entries == {key(A): RegistryEntry(1, 7.0, confirmed=False, complete=True)}


@public("library")
@proves("req:S1-5")
def test_a_redacted_block_is_registered_by_its_data() -> None:
    """Document 001, thinking block types."""
    registry = on("anthropic", redacted("EmwKAhgB"))

    assert registry.entries == {key(redacted("EmwKAhgB")): RegistryEntry(1, 0.0)}
    assert registry.filter_request(request(redacted("EmwKAhgB")), 1.0).removed == 0
    assert registry.filter_request(request(redacted("other")), 1.0).removed == 1


@proves("req:S1-9")
def test_the_same_block_again_in_one_session_stays_as_it_is() -> None:
    """One entry; confirmed is not reset, and neither is its age."""
    registry = confirmed(A)

    assert registry.register_response(answer(A), 99.0) == Registration()
    assert registry.entries == {key(A): RegistryEntry(1, 0.0, confirmed=True)}


@public("library")
@proves("req:S1-9")
def test_the_same_block_again_in_a_later_session_belongs_to_that_one() -> None:
    """Session updated, confirmed reset."""
    registry = confirmed(A)
    registry.notify_backend("glm")

    registry.register_response(answer(A), 99.0)

    assert registry.entries == {key(A): RegistryEntry(2, 99.0, confirmed=False)}


@proves("req:S1-10")
@pytest.mark.parametrize(
    ("body", "note"),
    [
        (b"", "the answer is not JSON: Input data was truncated"),
        (b"<html>", "the answer is not JSON: JSON is malformed: invalid character (byte 0)"),
        (b'"\xff"', "the answer is not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"[" * 20_000, "the answer is not JSON: maximum recursion depth exceeded while deserializing an object"),
        (b"[]", "the answer has no content"),
        (b"null", "the answer has no content"),
        (b"{}", "the answer has no content"),
        (b'{"content": "text"}', "the answer has no content"),
        (b'{"content": [null, 1, "x", {"type": ["thinking"]}, {"type": "text", "": "x"}]}', ""),
    ],
    ids=["empty", "html", "bad utf-8", "too deep", "list", "null", "no content", "string", "no blocks"],
)
def test_an_answer_that_cannot_be_read_registers_nothing_and_says_why_in_one_line(body: bytes, note: str) -> None:
    """No exception; the note is the one debug line."""
    registry = ThinkingRegistry()

    assert registry.register_response(body, 0.0) == Registration(note=note)
    assert registry.entries == {}


@public("library")
@proves("req:S1-11")
def test_a_block_without_text_is_known_by_its_signature() -> None:
    """The default display leaves the text out; two such blocks are still two (C5)."""
    mine, other = thinking("", "EqQBmine"), thinking("", "EqQBother")
    registry = on("anthropic", mine)

    assert registry.entries == {key(mine): RegistryEntry(1, 0.0)}
    assert [decision.kept for decision in registry.filter_request(request(mine, other), 1.0).decisions] == [True, False]


@public("library")
@proves("req:S1-12")
def test_an_answer_belongs_to_the_session_of_its_request() -> None:
    """A switch while the answer is on its way does not adopt it."""
    registry = on("anthropic")
    session = registry.filter_request({"messages": [HELLO]}, 0.0).session
    watch = registry.watch()
    registry.notify_backend("glm")

    registry.register_response(answer(A), 1.0, session=session)
    watch.event(b'{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"R"}}', 1.0)

    assert registry.entries == {key(A): RegistryEntry(1, 1.0), key(redacted("R")): RegistryEntry(1, 1.0)}
    assert registry.filter_request(request(A), 2.0).removed == 1


@proves("req:S1-12")
def test_a_late_answer_of_an_old_session_does_not_take_a_block_back() -> None:
    """The newer session's registration stands."""
    registry = on("anthropic")
    registry.notify_backend("glm")
    registry.register_response(answer(A), 1.0)

    assert registry.register_response(answer(A), 2.0, session=1) == Registration()
    assert registry.entries == {key(A): RegistryEntry(2, 1.0)}


@public("library")
@proves("req:S1-40")
def test_the_statistics_count_each_block_twice_over() -> None:
    """total = confirmed + unconfirmed = current_session + old_session."""
    registry = confirmed(A, B)
    registry.notify_backend("glm")
    registry.register_response(answer(C), 2.0)

    assert registry.cache_stats() == CacheStats(total=3, confirmed=2, unconfirmed=1, current_session=1, old_session=2)
    assert ThinkingRegistry().cache_stats() == CacheStats(0, 0, 0, 0, 0)
