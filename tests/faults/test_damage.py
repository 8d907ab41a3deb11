"""Damage inside of the store's pages: every request is answered, what cannot be kept is reported, and doctor finds it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from clew.errors import StoreError
from clew.testing import Simulator
from tests.database import connected
from tests.engine.gate import Gate, claude, other
from tests.engine.talk import Talk
from tests.faults.scene import impatient, story

pytestmark = pytest.mark.slow

PAGE = 4096
SESSIONS = {"alice": {"x-claude-code-session-id": "s-alice"}, "bob": {}}


def spoken(home: Path, a: Simulator, b: Simulator) -> dict[str, Talk]:
    """Two conversations, recorded, with thinking of two makers each."""
    home.mkdir(mode=0o700)
    with Gate(home, claude(a), other(b), **impatient()) as gate:
        talks = {name: Talk(gate, headers=headers) for name, headers in SESSIONS.items()}
        for backend in ("claude", "glm"):
            gate.use(backend)
            for name, talk in talks.items():
                talk.says(f"{name} asks {backend}.")
    with connected(home / "clew.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return talks


@pytest.mark.parametrize("filler", [b"\x00", b"\xff"], ids=["zeros", "ones"])
def test_whichever_page_is_damaged_every_request_is_answered(
    tmp_path: Path, a: Simulator, b: Simulator, filler: bytes
) -> None:
    talks = spoken(tmp_path / "whole", a, b)
    pages = (tmp_path / "whole" / "clew.db").stat().st_size // PAGE
    for page in range(1, pages):
        home = tmp_path / f"page-{page}"
        shutil.copytree(tmp_path / "whole", home)
        with (home / "clew.db").open("r+b") as out:
            out.seek(page * PAGE)
            out.write(filler * PAGE)
        try:
            gate = Gate(home, claude(a), other(b), **impatient()).__enter__()
        except StoreError:
            continue  # found at the start
        try:
            for talk in talks.values():
                again = talk.fork()
                again.gate = gate
                for number in range(2):
                    assert story(again.asks(f"And after page {page}, {number}?")) == "whole", page
                    again.messages += [] if not again.calls else [_results(again)]
        finally:
            gate.__exit__()


def _results(talk: Talk) -> Any:
    talk.runs()
    return talk.messages.pop()
