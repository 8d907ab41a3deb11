"""Writes `old/vN.sqlite`, the file that the present schema makes. Run it once, when a schema is released; never again.

    python -m tests.store.make_old

A file of an old schema stays as it was written: opening it must keep working for as long as there are such files.
"""

import tempfile
from pathlib import Path

import apsw

from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.sqlite.store import SqliteStore
from tests.store.turns import GLM, NOON, conversation, recorded, turn

OLD = Path(__file__).parent / "old"


def content() -> list:
    """What every old file holds."""
    return [*conversation(3), recorded("g", origin=GLM, session="s", agent="a", thread="u", whole=False)]


def main() -> None:
    target = OLD / f"v{len(MIGRATIONS)}.sqlite"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        with SqliteStore(path) as store:
            for each in content():
                store.record(turn(each)).result(120)
            store.touch("local", keys=[content()[0].keys[0], b"u" * 32], at=NOON).result(120)
            store.set("active", "glm", at=NOON).result(120)
        connection = apsw.Connection(str(path))
        connection.pragma("journal_mode", "delete")
        connection.close()
        target.write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
