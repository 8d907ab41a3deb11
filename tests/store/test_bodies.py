"""Bodies: whole requests and answers, kept after the turn, bounded, and gone with their exchange."""

import threading
import zlib
from pathlib import Path
from random import Random
from weakref import ref

import apsw
import msgspec
import pytest

from clew.errors import RecordCorrupt
from clew.model.turn import Bodies, Heads
from clew.store import rows
from clew.store.pieces import LEAST, pack_bodies, unpack_bodies
from clew.store.sqlite.statements import read_bodies
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from clew.store.values import DAY, Retention
from tests.store.turns import NOON, recorded, turn
from tests.waiting import until

AT_ONCE = WriterLimits(long_delay=0.0)
WHOLE = Bodies(asked=b'{"messages":[]}' * 100, sent=b'{"messages":[],"x":1}' * 100, answered=b"event: ping\n\n" * 100)


def keep(path: Path, keep: int | None, count: int = 3, *, principal: str = "local", **more) -> list[Bodies | None]:
    """The bodies of so many exchanges after they were recorded with this setting."""
    with SqliteStore(path, keep=keep, **more) as store:
        for number in range(count):
            store.record(
                turn(recorded(f"{principal}{number}", principal=principal), exchange=f"x{number}", bodies=WHOLE)
            ).result(5)
    with SqliteStore(path) as store:
        return [store.bodies(principal, f"x{number}") for number in range(count)]


def find_written(store: SqliteStore, exchange: str) -> Bodies | None:
    """What another process finds: bodies that wait in memory are not among it."""
    return store._readers.read(read_bodies, "local", exchange)


def test_what_is_kept_comes_back_as_it_was() -> None:
    """A request that went out as it came is kept once."""
    same = Bodies(asked=b"a" * 4000, sent=b"a" * 4000, answered=b"\x00\xff")
    assert [unpack_bodies(pack_bodies(each)) for each in (WHOLE, same, Bodies())] == [WHOLE, same, Bodies()]
    random = bytes(range(256)) * 40
    assert len(pack_bodies(Bodies(asked=random, sent=random))) < len(pack_bodies(Bodies(asked=random, sent=random[1:])))


def test_what_was_kept_before_there_were_heads_is_read_too() -> None:
    """Rows of an older clew are arrays of three."""
    old = zlib.compress(msgspec.msgpack.encode((b"a", None, b"b")))
    assert unpack_bodies(old) == Bodies(asked=b"a", sent=b"a", answered=b"b")
    new = Bodies(asked=b"a", sent=b"b", heads=Heads(asked=(("a", "b"),), target="POST /", status=200), times=((7, 0.25),))
    assert unpack_bodies(pack_bodies(new)) == new


def test_anyone_who_compressed_bodies_zlib_reads_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole ones and pieces. Stores from before have zlib's, and so have processors that the quicker compressor is not
    made for; another clew may open a store that has both."""
    quick, noise = rows._compress, Random(1)
    assert quick is not zlib.compress, "the quicker one is installed"
    words = [noise.randbytes(3).hex().encode() for _ in range(2000)]
    first = b" ".join(noise.choices(words, k=LEAST))
    talk = [Bodies(asked=first + bytes([65 + number]) * 5000, answered=b"event: ping\n\n" * 100) for number in range(4)]
    for number, (compress, bodies) in enumerate(zip((quick, zlib.compress, quick, zlib.compress), talk, strict=True)):
        monkeypatch.setattr(rows, "_compress", compress)
        with SqliteStore(path) as store:
            store.record(turn(recorded(f"r{number}"), bodies=bodies)).result(120)
    with SqliteStore(path) as store:
        assert [store.bodies("local", f"x-r{number}") for number in range(4)] == talk
        with store._readers.use() as connection:
            pieces = [content for (content,) in connection.execute("SELECT content FROM pieces")]
    starts = {each[:2] for each in pieces}
    assert len(starts) == 2, "both have written"
    assert first in b"".join(map(zlib.decompress, pieces))


@pytest.mark.parametrize(("setting", "kept"), [(0, []), (1, [2]), (2, [1, 2]), (3, [0, 1, 2]), (None, [0, 1, 2])])
def test_as_many_are_kept_as_the_setting_says(setting: int | None, kept: list[int], path: Path) -> None:
    assert keep(path, setting) == [WHOLE if number in kept else None for number in range(3)]


def test_what_is_not_to_be_kept_is_not_compressed_either(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressed: list[Bodies] = []
    monkeypatch.setattr("clew.store.body_writer.pack_bodies", pressed.append)
    assert (keep(path, 0), pressed) == ([None] * 3, [])


def test_each_principal_has_a_count_of_its_own(path: Path) -> None:
    assert keep(path, 2) == [None, WHOLE, WHOLE]
    assert keep(path, 2, principal="other") == [None, WHOLE, WHOLE]
    with SqliteStore(path) as store:
        assert [store.bodies("local", f"x{number}") for number in range(3)] == [None, WHOLE, WHOLE]


def test_without_content_no_bodies_are_kept(path: Path) -> None:
    assert keep(path, None, content=False) == [None] * 3


def test_bodies_that_are_damaged_are_said_to_be() -> None:
    with pytest.raises(RecordCorrupt, match="the bodies of an exchange cannot be read"):
        unpack_bodies(pack_bodies(WHOLE)[:-9])


def test_bodies_go_with_their_exchange_and_by_age(path: Path) -> None:
    """Whichever way the exchange goes."""
    with SqliteStore(path, keep=None) as store:
        for name, at in (("forgotten", 0), ("old", 0), ("new", 9)):
            store.record(turn(recorded(name, thread=name), at=NOON + at * DAY, bodies=WHOLE)).result(120)
    with SqliteStore(path, keep=None) as store:
        assert [store.bodies("local", f"x-{name}") for name in ("forgotten", "old", "new")] == [WHOLE] * 3
        store.forget("local", "forgotten", at=NOON).result(120)
        assert store.bodies("local", "x-forgotten") is None
        assert store.bodies("local", "x-old") == WHOLE
        store.apply_retention(Retention(age=7 * DAY, bytes=None), now=NOON + 10 * DAY).result(120)
        assert [store.bodies("local", f"x-{name}") for name in ("old", "new")] == [None, WHOLE]


def test_bodies_that_are_old_go_though_their_exchange_is_still_used(path: Path) -> None:
    """They are for looking at, and nothing needs them; a recording's age counts from its last use, theirs does not."""
    with SqliteStore(path, keep=None) as store:
        store.record(turn(recorded("r"), bodies=WHOLE)).result(120)
    with SqliteStore(path, keep=None) as store:
        store.touch("local", recordings=["r"], at=NOON + 9 * DAY).result(120)
        assert store.apply_retention(Retention(age=7 * DAY, bytes=None), now=NOON + 10 * DAY).result(120) == 1
        assert (store.bodies("local", "x-r"), store.exchange("local", "x-r") is not None) == (None, True)


def test_when_room_is_short_bodies_go_before_any_recording(path: Path) -> None:
    noise = [Random(number).randbytes(60_000) for number in range(6)]
    with SqliteStore(path, keep=None) as store:
        for number, each in enumerate(noise):
            store.record(turn(recorded(f"r{number}"), at=NOON + number, bodies=Bodies(asked=each))).result(120)
    with SqliteStore(path, keep=None) as store:
        size = path.stat().st_size
        assert store.apply_retention(Retention(age=None, bytes=size - 1), now=NOON).result(120) == 1
        assert [number for number in range(6) if store.bodies("local", f"x-r{number}")] == [1, 2, 3, 4, 5]
        assert [store.recordings("local").by_id(f"r{number}") is not None for number in range(6)] == [True] * 6


def test_a_turn_does_not_wait_for_the_bodies_of_the_one_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 8's commit waits for nothing that is only for looking at; and closing still keeps what waits."""
    pressing, go_on = threading.Event(), threading.Event()

    def slow(bodies: Bodies) -> bytes:
        pressing.set()
        go_on.wait(120)
        return pack_bodies(bodies)

    monkeypatch.setattr("clew.store.body_writer.pack_bodies", slow)
    with SqliteStore(path, limits=AT_ONCE) as store:
        assert store.record(turn(recorded("first"), bodies=WHOLE)).result(120) is True
        assert pressing.wait(120)
        assert store.record(turn(recorded("second"))).result(120) is True
        assert store.bodies("local", "x-first") == WHOLE, "this process has them"
        assert find_written(store, "x-first") is None
        go_on.set()
    with SqliteStore(path) as store:
        assert store.bodies("local", "x-first") == WHOLE


def test_bodies_too_many_to_wait_are_not_kept_and_counted(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store._bodies, "_most", 5000)
    large = Bodies(asked=b"a" * 5001)
    assert store.record(turn(recorded("r"), bodies=large)).result(120) is True
    assert (store.health().skipped, store.bodies("local", "x-r")) == (1, None)
    assert store.record(turn(recorded("s"), bodies=Bodies(asked=b"a" * 5000))).result(120) is True
    assert store.health().skipped == 1


def test_what_waited_gives_its_room_back(store: SqliteStore) -> None:
    for _ in range(2):  # the second is not new, and brings nothing
        store.record(turn(recorded("r"), bodies=WHOLE)).result(120)
    store._bodies.close()
    store._writer.close()
    assert store._bodies._bytes == 0


def test_the_bodies_of_an_exchange_that_is_gone_are_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleting a thread deletes it, also what was still to be written."""
    forgotten = threading.Event()

    def slow(bodies: Bodies) -> bytes:
        forgotten.wait(120)
        return pack_bodies(bodies)

    monkeypatch.setattr("clew.store.body_writer.pack_bodies", slow)
    with SqliteStore(path, limits=AT_ONCE) as store:
        store.record(turn(recorded("r"), bodies=WHOLE)).result(120)
        store.forget("local", "t", at=NOON).result(120)
        forgotten.set()
    with SqliteStore(path) as store, store._readers.use() as connection:
        assert connection.execute("SELECT count(*) FROM bodies").get == 0


def test_bodies_that_cannot_be_compressed_are_reported_and_the_next_are_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that fails takes nobody with it, neither those that go with it nor those that come later."""

    def failing(bodies: Bodies) -> bytes:
        if bodies.asked == b"no":
            raise MemoryError("no room")
        return pack_bodies(bodies)

    monkeypatch.setattr("clew.store.body_writer.pack_bodies", failing)
    with SqliteStore(path, limits=AT_ONCE) as store:
        for name, asked in (("first", b"no"), ("second", b"yes")):
            store.record(turn(recorded(name), bodies=Bodies(asked=asked))).result(120)
        until(lambda: find_written(store, "x-second") is not None)
        store.record(turn(recorded("third"), bodies=Bodies(asked=b"yes"))).result(120)
        until(lambda: find_written(store, "x-third") is not None)
        until(lambda: store._bodies._bytes == 0)
        assert (store.bodies("local", "x-first"), store.health().skipped) == (None, 1)
    said = "the bodies of exchange x-first cannot be compressed, and are not kept"
    assert [each.getMessage() for each in caplog.records] == [said]


def test_bodies_that_cannot_be_written_are_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as went together."""

    def failing(*given: object) -> None:
        raise apsw.FullError("no space")

    monkeypatch.setattr("clew.store.sqlite.statements.add_bodies", failing)
    with SqliteStore(path) as store:
        for name in ("first", "second"):
            store.record(turn(recorded(name), bodies=WHOLE)).result(120)
        store._bodies.close()
        until(lambda: store._bodies._bytes == 0)
        assert (store.health().skipped, store.health().state) == (2, "degraded")


def is_decoded(store: SqliteStore, name: str) -> bool:
    """Once it is read from the file: for a moment after it was written it is still at hand as it came."""
    return store.recordings("local").by_id(name) is not None and ("local", name) in store._memory.cache._kept


def test_nothing_of_a_deleted_thread_stays_in_memory(path: Path) -> None:
    """Neither what bodies go on from nor what was decoded; of others all stays."""
    large = Bodies(asked=b"a" * LEAST, sent=b"a" * LEAST)
    with SqliteStore(path) as store:
        for name, thread in (("first", "t"), ("second", "u")):
            store.record(turn(recorded(name, thread=thread), bodies=large)).result(120)
            until(lambda name=name: is_decoded(store, name))
        store.forget("local", "t", at=NOON + 1).result(120)
        store._bodies.close()
        assert list(store._bodies._chains._chains) == [("local", "u", "messages")]
        assert list(store._memory.cache._kept) == [("local", "second")]


def test_nor_does_anything_where_somebody_else_may_have_deleted_it(path: Path) -> None:
    large = Bodies(asked=b"a" * LEAST, sent=b"a" * LEAST)
    with SqliteStore(path) as store:
        store.record(turn(recorded("first"), bodies=large)).result(120)
        assert store.recordings("local").by_id("first")
        store.clear_memory()
        store._bodies.close()
        assert (
            dict(store._bodies._chains._chains),
            dict(store._memory.cache._kept),
            store._memory.cache._bytes,
        ) == (
            {},
            {},
            0,
        )
        assert store.recordings("local").by_id("first"), "it is still there"


class Referenced(Bodies, frozen=True, weakref=True):
    """Bodies of which a test can see whether anybody holds them."""


def test_nothing_of_a_turn_stays_in_memory_once_its_bodies_are_written(path: Path) -> None:
    """The threads that write and compress wait for the next turn without the last one, which may have had 32 MB."""
    bodies = Referenced(asked=b"a")
    held = ref(bodies)
    with SqliteStore(path, limits=AT_ONCE) as store:
        store.record(turn(recorded("r"), bodies=bodies)).result(120)
        del bodies
        until(lambda: find_written(store, "x-r") is not None)
        until(lambda: held() is None)
