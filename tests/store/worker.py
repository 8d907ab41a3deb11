"""A process that records turns as fast as it can, and says each that was acknowledged: `python -m tests.store.worker FILE NAME COUNT`."""

import sys
from pathlib import Path

from clew.store import SqliteStore
from tests.store.turns import recorded, turn


def main(path: str, name: str, count: int) -> None:
    with SqliteStore(Path(path)) as store:
        last = ()
        for number in range(count):
            last = (
                recorded(f"{name}-{number}", before=last[-1:], thread=name, words=f"{number} " + "word " * 200, digest=b""),
            )
            store.record(turn(last[0])).result(30)
            sys.stdout.write(f"{name}-{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
