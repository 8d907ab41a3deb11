"""A store beside a test: filled, written out, read in again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.chat.formats import FORMATS, Format, ImportContext, NumberedLine, every_thread, turns_of
from clew.chat.formats.importer import ImportCounts, Importer, KnownRecordings
from clew.model.turn import TurnRecord
from clew.store.sqlite.store import SqliteStore
from clew.thinking.seal import Sealer
from tests.store.turns import NOON


@contextmanager
def stored(path: Path, *turns: TurnRecord) -> Iterator[SqliteStore]:
    with SqliteStore(path) as store:
        for each in turns:
            assert store.record(each).result(120)
        yield store


def exported(store: SqliteStore, name: str = "clew", principal: str = "local") -> bytes:
    """Every conversation, as one file."""
    format = FORMATS[name]
    threads = sorted(every_thread(store, principal), key=lambda thread: thread.created)
    parts = [part for thread in threads for part in format.write(thread, turns_of(store, thread))]
    return b"".join([format.head, *parts, format.foot])


def imported(
    store: SqliteStore, raw: bytes, name: str = "clew", *, principal: str = "local", sealer: Sealer | None = None
) -> ImportCounts:
    importing = Importer(store, principal, NOON)
    importing.add("a file", found(FORMATS[name], raw, store, principal, sealer))
    return importing.tally


def found(format: Format, raw: bytes, store: SqliteStore, principal: str = "local", sealer: Sealer | None = None) -> Any:
    reading = ImportContext(
        principal=principal,
        known=KnownRecordings(principal, store),
        thread_of=lambda session, agent: store.thread_of(principal, session, agent),
        at=NOON,
        sealer=sealer,
    )
    assert format.read is not None
    return format.read(numbered(raw), reading)


def numbered(raw: bytes) -> Iterable[NumberedLine]:
    return [NumberedLine(number, line) for number, line in enumerate(raw.split(b"\n"), 1)]


def rows(store: SqliteStore, principal: str = "local") -> dict[str, Any]:
    """All that the interface tells of a principal's conversations."""
    threads = sorted(store.threads(principal, limit=1000), key=lambda thread: thread.id)
    return {
        "threads": threads,
        "passages": {each.id: store.passages(principal, each.id) for each in threads},
        "exchanges": {each.id: store.exchanges(principal, thread=each.id, limit=1000) for each in threads},
        "spent": store.usage_totals(principal),
        "faults": store.verify(),
    }
