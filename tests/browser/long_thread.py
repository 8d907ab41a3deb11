"""A very long conversation, put into the store of a gateway that runs."""

import json
from pathlib import Path

from msgspec import structs

from clew.model.recording import Recording
from clew.store.sqlite.store import SqliteStore
from tests.store.turns import NOON, recorded, turn

AT_ONCE = 400
"""Writes that may wait: the store refuses a thousand."""


def fill(path: Path, thread: str, turns: int) -> None:
    with SqliteStore(path) as store:
        before: tuple[Recording, ...] = ()
        for number in range(turns):
            words = f"Answer **{number}** with `code`.\n\n" + "A paragraph of some words. " * 8
            answer = recorded(f"r{number}", before=before, thread=thread, words=words)
            asked = (json.dumps({"role": "user", "content": f"Question {number}?"}).encode(),)
            written = store.record(structs.replace(turn(answer, at=NOON + number), asked=asked))
            before = (answer,)
            if number % AT_ONCE == 0 or number == turns - 1:
                assert written.result(120)
