"""`python bench/store.py`: what keeping a turn costs, as a ratio to a bare SQLite commit of the same bytes.

The bare commit writes what cannot be spared, into a file with the same settings (WAL, `synchronous=FULL`): one row with the
turn's bytes, and the marks by which it is found. The store does that on its own thread and acknowledges through a future,
and also keeps thread, turn, exchange, changes and usage. Cases run interleaved, medians are compared; the milliseconds are
one machine's, and depend on its disk.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.turn import Exchange, TokenUsage, TurnRecord
from clew.store.commits import wait_for_commit
from clew.store.memory import RecordingCache
from clew.store.rows import marks_of
from clew.store.sqlite.database import connect
from clew.store.sqlite.lookups import RecordingFinder
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Lookup
from clew.thinking.keys import block_key
from core import Cases, measure, show

ORIGIN = Origin(realm="anthropic", backend="claude", model="claude-opus-5-5", account="me")
HISTORY = 200

Block: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[str, str, random.Random], tuple[Block, ...]]


def called(id: str, signature: str, chance: random.Random) -> tuple[Block, ...]:
    """An answer that calls a tool: about three kilobytes."""
    return (
        {"type": "thinking", "thinking": chance.randbytes(400).hex(), "signature": signature},
        {"type": "text", "text": f"Now {id}."},
        {"type": "tool_use", "id": f"toolu_{id}", "name": "Bash", "input": {"command": "x" * 600}},
    )


class Turns:
    """One conversation that goes on for as long as it is asked; `answer` makes the blocks of a turn."""

    def __init__(self, name: str, answer: Answer = called) -> None:
        self._name = name
        self._answer = answer
        self._random = random.Random(7)
        self._numbers = itertools.count()
        self.last: Recording | None = None

    def __next__(self) -> TurnRecord:
        id = f"{self._name}-{next(self._numbers)}"
        recording = self.last = self._recording(id)
        exchange = Exchange(
            id=f"x-{id}",
            principal="local",
            thread=self._name,
            started=1.8e9,
            ended=1.8e9,
            asked_model=ORIGIN.model,
            backend="claude",
            model=ORIGIN.model,
            changes=(Change("thinking", "messages.1.content.0", "left out", "made by glm"),),
            usage=TokenUsage(input=1000, output=200, cache_read=50_000),
        )
        return TurnRecord(
            exchange=exchange, recording=recording, asked=(b'{"role":"user","content":"' + b"x" * 300 + b'"}',)
        )

    def _recording(self, id: str) -> Recording:
        signature = self._random.randbytes(400).hex()
        blocks = self._answer(id, signature, self._random)
        return Recording(
            id=id,
            principal="local",
            origin=ORIGIN,
            blocks=tuple(json.dumps(block).encode() for block in blocks),
            keys=(block_key("thinking", signature),),
            said=AnswerContent(_all(blocks, "id"), _all(blocks, "text")),
            place=sha256(id.encode()).digest(),
            strand=Strand(after=self.last.id) if self.last else Strand(listed=()),
            digest=sha256(signature.encode()).digest(),
            followed=self.last.id if self.last else None,
            thread=self._name,
        )


def _all(blocks: Sequence[Block], name: str) -> tuple[str, ...]:
    return tuple(block[name] for block in blocks if name in block)


def bare(path: Path) -> Callable[[TurnRecord], object]:
    """The least that a durable turn costs: its bytes in one row, and the marks by which it is found."""
    path.touch(0o600)
    connection = connect(path)
    connection.execute("CREATE TABLE turns (id INTEGER PRIMARY KEY, bytes BLOB)")
    connection.execute("CREATE TABLE marks (hash BLOB PRIMARY KEY, turn INTEGER) WITHOUT ROWID")

    def commit(turn: TurnRecord) -> None:
        assert turn.recording
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO turns (bytes) VALUES (?)", (msgspec.msgpack.encode(turn),))
        number = connection.last_insert_rowid()
        connection.executemany("INSERT INTO marks VALUES (?, ?)", [(hash, number) for _, hash in marks_of(turn.recording)])
        connection.execute("COMMIT")

    return commit


def writing(folder: Path, store: SqliteStore, loop: asyncio.AbstractEventLoop, rounds: int) -> Cases:
    """The turns are made beforehand: to make up the words of one takes longer than to commit it."""
    plain, awaited, twin = (iter([next(turns) for _ in range(rounds)]) for turns in map(Turns, ("plain", "awaited", "bare")))
    many = Turns("bulk")
    bulk = iter([next(many) for _ in range(100 * rounds)])
    commit = bare(folder / "bare.sqlite")

    async def one() -> None:
        assert await wait_for_commit(store.record(next(awaited)), 10) is None

    def hundred() -> None:
        for write in [store.record(next(bulk)) for _ in range(100)]:
            write.result()

    return {
        "bare SQLite commit": lambda: commit(next(twin)),
        "turn, waited for by a thread": lambda: store.record(next(plain)).result(),
        "turn, waited for by a loop": lambda: loop.run_until_complete(one()),
        "a hundred turns at once": hundred,
    }


def reading(store: SqliteStore) -> Cases:
    turns = Turns("read")
    kept = [
        turn.recording for turn in itertools.islice(iter(lambda: next(turns), None), HISTORY) if store.record(turn).result()
    ]
    recordings = [each for each in kept if each]
    keys = [key for each in recordings for key in each.keys]
    tools = [id for each in recordings for id in each.said.ids]
    found = store.recordings("local")
    return {
        "one by its key": lambda: found.by_key(keys[-1]),
        f"gather {HISTORY} answers": lambda: store.gather(
            Lookup(principal="local", keys=tuple(keys), tools=tuple(tools), links=HISTORY)
        ),
        f"gather {HISTORY} by the newest alone": lambda: store.gather(
            Lookup(principal="local", keys=tuple(keys[-1:]), links=HISTORY)
        ),
        f"touch {HISTORY}, seen a moment ago": lambda: store.touch("local", keys=keys, at=1.8e9).result(),
    }


def looking_up(folder: Path, blocks: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """One answer by its key in a store of ten and in a large one: just read, read with its bytes, and not there at all."""
    for count in (10, blocks):
        store, chance = SqliteStore(folder / f"{count}" / "store.sqlite"), random.Random(3)
        keys = _filled(store, count)
        found, cold = store.recordings("local"), RecordingFinder(store._file_readers, RecordingCache(0), "local")
        yield f"{count:,} blocks, not there", partial(found.by_key, b"")
        yield f"{count:,} blocks, read lately", partial(found.by_key, keys[0])
        yield f"{count:,} blocks, any", lambda cold=cold, keys=keys, chance=chance: cold.by_key(chance.choice(keys))


def _filled(store: SqliteStore, count: int) -> list[bytes]:
    turns, keys = Turns("many"), list[bytes]()
    while len(keys) < count:
        some = [next(turns) for _ in range(min(500, count - len(keys)))]
        for write in [store.record(each) for each in some]:
            write.result()
        keys += [key for each in some if each.recording for key in each.recording.keys]
    return keys


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--blocks", type=int, default=10_000, help="thinking blocks in the large store (S1-47: 100000)")
    given = options.parse_args()
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as name, SqliteStore(Path(name) / "store.sqlite") as store:
        show("keeping a turn", measure(writing(Path(name), store, loop, given.rounds), given.rounds))
        show("finding answers", measure(reading(store), given.rounds))
        show("one look-up", measure(dict(looking_up(Path(name), given.blocks)), given.rounds))
    loop.close()


if __name__ == "__main__":
    main()
