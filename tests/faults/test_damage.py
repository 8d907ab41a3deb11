"""Damage inside of the store's pages: every request is answered, what cannot be kept is reported, and doctor finds it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clew.engine.choices import ACTIVE
from clew.errors import StoreError
from clew.store.sqlite.store import SqliteStore
from clew.store.text import exchange_line
from clew.store.values import LookupResult
from clew.testing import Simulator
from tests.build import assistant, user
from tests.counts import SOAK
from tests.database import connected
from tests.engine.gate import Answer, Gate, claude, other
from tests.engine.talk import Talk, content_of
from tests.faults.conftest import Gating
from tests.faults.scene import asked, impatient, kept, question, story

pytestmark = pytest.mark.slow

PAGE = 4096
IN_DOUBT = "which backend this conversation is pinned to"
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
    for gate in damaged(tmp_path, filler, a, b):
        for talk in talks.values():
            again = talk.fork()
            again.gate = gate
            for number in range(2):
                again.messages.append(user(f"And then, {number}?"))
                answer = again.send()
                if IN_DOUBT in refusal_of(answer):
                    break
                assert story(answer) == "whole"
                again.messages.append(assistant(*content_of(answer)))
                again.messages += [] if not again.calls else [_results(again)]


def damaged(tmp_path: Path, filler: bytes, a: Simulator, b: Simulator) -> Iterator[Gate]:
    """Gateways on copies of the store, each with another page that says nothing. Damage that is found at the start is left out.

    The suite takes every third page, beginning elsewhere for each filler; the soak takes all."""
    with connected(tmp_path / "whole" / "clew.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = (tmp_path / "whole" / "clew.db").stat().st_size // PAGE
    for page in range(1, pages) if SOAK else range(1 + filler[0] % 2, pages, 3):
        home = tmp_path / f"page-{page}"
        shutil.copytree(tmp_path / "whole", home)
        with (home / "clew.db").open("r+b") as out:
            out.seek(page * PAGE)
            out.write(filler * PAGE)
        with suppress(StoreError), Gate(home, claude(a), other(b), **impatient()) as gate:
            yield gate


def refusal_of(answer: Answer) -> str:
    return answer.json["error"]["message"] if answer.status == 503 else ""


def _results(talk: Talk) -> Any:
    talk.runs()
    return talk.messages.pop()


@pytest.mark.parametrize("filler", [b"\x00", b"\xff"], ids=["zeros", "ones"])
def test_whichever_page_is_damaged_a_pinned_thread_is_answered_by_its_backend_or_not_at_all(
    tmp_path: Path, a: Simulator, b: Simulator, filler: bytes
) -> None:
    """Where it cannot be read who it stays with, it is a 503: what was pinned must not go to the active backend."""
    talks = spoken(tmp_path / "whole", a, b)
    with SqliteStore(tmp_path / "whole" / "clew.db") as store:
        store.set(ACTIVE, "claude", at=time.time()).result(60)
        for thread in store.threads("local", limit=9):
            store.pin("local", thread.id, "glm").result(60)
    for gate in damaged(tmp_path, filler, a, b):
        for talk in talks.values():
            again = talk.fork()
            again.gate = gate
            again.messages.append(user("And now?"))
            answer = again.send()
            assert answer.headers.get("x-clew-backend") == "glm" or IN_DOUBT in refusal_of(answer), answer.raw


def test_a_request_without_a_known_backend_is_kept_and_told_of(
    gating: Gating, a: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its words nothing is kept: nobody can find the thread that they belong to."""
    gate = gating(claude(a))
    assert gate.store is not None

    unread = LookupResult(failure=StoreError("damaged"), thread_failure=StoreError("damaged"))
    monkeypatch.setattr(gate.store, "recall", lambda wanted: None)
    monkeypatch.setattr(gate.store, "gather", lambda wanted, check: unread)
    body = question(messages=[user("Why?"), assistant("So."), user("Secret?")])
    assert IN_DOUBT in refusal_of(gate.ask(body))
    [exchange] = kept(gate)
    assert (exchange.outcome, exchange.status, exchange.backend, asked(a)) == ("failed", 503, "", [0])
    assert IN_DOUBT in exchange.tries[0].why
    assert "→ no backend" in exchange_line(exchange)
    assert gate.store.search("local", "Secret") == []
