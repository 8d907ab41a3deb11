"""A process that records turns as fast as it can, and says each that was acknowledged: `python -m tests.store.worker FILE NAME COUNT`."""

import sys
from pathlib import Path
from random import Random

from clew.model.turn import Bodies
from clew.store.sqlite.store import SqliteStore
from tests.store.turns import recorded, turn

BODIES = Bodies(asked=b'{"messages":[]}' * 3000, sent=Random(1).randbytes(20_000), answered=b"event: ping\n\n" * 500)
"""Written after each turn, and pruned: so that a death may come in the middle of that."""


def main(path: str, name: str, count: int) -> None:
    with SqliteStore(Path(path)) as store:
        last = ()
        for number in range(count):
            last = (
                recorded(f"{name}-{number}", before=last[-1:], thread=name, words=f"{number} " + "word " * 200, digest=b""),
            )
            store.record(turn(last[0], bodies=BODIES)).result(120)
            sys.stdout.write(f"{name}-{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
