"""The pages Backends (how each is, what it supports, and no key) and Doctor (the checks of the admin's own home)."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from clew.admin.checkup import CHECKS
from clew.backends.row import Backend, Quirks
from clew.engine.services import tell_cool_downs
from clew.model.turn import Exchange, Try
from clew.pipeline.attempts import CoolDowns
from clew.web.health import deviations, health_of_all
from clew.web.rows import Chip
from tests.admin.booth import CANARY, Booth
from tests.store.turns import recorded, turn
from tests.web.test_exchange_row import exchange

pytestmark = pytest.mark.slow


def tried(*tries: Try, **more: object) -> Exchange:
    return exchange(tries=tries, backend=tries[-1].backend, **more)


def test_a_backend_is_judged_by_its_last_call_and_every_try_counts(booth: Booth) -> None:
    newest = tried(
        Try(backend="claude", status=529, why=f"overloaded {CANARY}"), Try(backend="glm", status=200), first_byte=0.5
    )
    claude, glm = health_of_all(booth.services, [newest, tried(Try(backend="claude", status=200), first_byte=0.1)])
    assert (claude.mood, claude.says, claude.calls, claude.failed) == ("bad", "refused (529)", 2, 1)
    assert CANARY not in claude.last_error and claude.last_error.startswith("overloaded")
    assert (claude.first_byte, glm.first_byte) == (0.1, 0.5)
    assert (glm.mood, glm.says, glm.calls, glm.failed, glm.last_error) == ("good", "answers", 1, 0, "")


def test_a_request_that_was_at_fault_says_nothing_against_the_backend(booth: Booth) -> None:
    claude, glm = health_of_all(booth.services, [tried(Try(backend="claude", status=400, why="refused (400)"))])
    assert (claude.mood, claude.failed, claude.refused, claude.last_error) == ("good", 0, 1, "refused (400)")
    assert (glm.mood, glm.says) == ("", "no recent calls")


def test_a_key_that_is_refused_is_said_to_be_at_fault(booth: Booth) -> None:
    claude, _ = health_of_all(booth.services, [tried(Try(backend="claude", status=401, why="refused (401)"))])
    assert (claude.mood, claude.says) == ("bad", "refused its key (401)")


def test_one_that_never_answered_did_not_answer(booth: Booth) -> None:
    claude, _ = health_of_all(booth.services, [tried(Try(backend="claude", why="no route"), outcome="failed", status=502)])
    assert (claude.mood, claude.says, claude.failed) == ("bad", "did not answer", 1)


def test_a_cool_down_is_told_with_what_is_left_of_it(booth: Booth) -> None:
    """The longest of its keys; one that is over is none."""
    cooled = CoolDowns({("glm", "a"): 130.0, ("glm", "b"): 112.0, ("claude", "a"): 90.0})
    runtime: Any = SimpleNamespace(engine=SimpleNamespace(services=SimpleNamespace(clock=lambda: 100.0, cool_downs=cooled)))
    booth.services.runtime = runtime
    claude, glm = health_of_all(booth.services, [structs.replace(tried(Try(backend="glm", status=429)), outcome="refused")])
    assert (glm.mood, glm.says, glm.cools) == ("warn", "paused after a failure, 30 s left", 30.0)
    assert claude.cools == 0.0


def test_a_cool_down_that_another_process_learnt_is_told_too(booth: Booth) -> None:
    """A worker, or another gateway of the same home. What was known there already is not written again."""
    store, key = booth.store, ("glm", "a")
    now = time.time()
    tell_cool_downs(store, CoolDowns(), CoolDowns({key: 130.0, ("claude", "a"): 100.0}), now=100.0, wall=now)
    tell_cool_downs(store, CoolDowns({key: 150.0}), CoolDowns({key: 150.5}), now=100.0, wall=now)
    store.set("nothing", None, at=now).result(120)  # written after those
    claude, glm = health_of_all(booth.services, [])
    assert (glm.mood, 20.0 < glm.cools <= 30.0, claude.cools) == ("warn", True, 0.0)


def test_each_backend_is_shown_with_what_it_supports_and_without_its_key(booth: Booth) -> None:
    made = turn(recorded("r"))
    failed = structs.replace(made.exchange, tries=(Try(backend="glm", status=401, why=f"no such key: {CANARY}<b>"),))
    assert booth.store is not None
    booth.store.record(structs.replace(made, exchange=failed)).result()
    page = booth.ask("/backends").raw.decode()
    assert [name for name in ("claude", "glm") if f'data-test="{name}"' not in page] == []
    assert "https://glm.example/&lt;b&gt;" in page and "glm-5" in page and "the client&#39;s own credential" in page
    assert "refused its key (401)" in page and "no such key" in page and f'href="/exchanges/{failed.id}"' in page
    assert CANARY not in page and "<b>" not in page
    assert "images: yes" in page and "counts tokens: yes" in page and "reasoning: signed thinking blocks" in page
    assert "clew does not know this vendor. Test shows what else it supports." in page


def test_what_is_set_for_a_backend_says_what_it_means() -> None:
    row = Backend(name="x", url="https://x.example", realm="x", quirks=Quirks(unique_tool_ids=True))
    means = "Whether it never uses a tool id twice, so clients can get its ids unchanged."
    assert [*deviations(row)] == [Chip("", "unique_tool_ids = true", (means,))]


def test_only_a_backend_of_the_settings_is_tried(booth: Booth) -> None:
    """reliability 4.4: base URLs come from the operator alone."""
    reply = booth.ask("/api/trials", method="POST", body={"backend": "http://evil.example"})
    assert (reply.status, reply.why) == (404, "there are: claude, glm")


def test_a_backend_that_takes_the_clients_credential_cannot_be_asked_without_one(booth: Booth, monkeypatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    trial = booth.ask("/api/trials", method="POST", body={"backend": "claude"}).json
    assert (trial["backend"], trial["ok"]) == ("claude", None)
    assert trial["says"].startswith("it takes the client's own credential")


def test_the_page_names_every_check_before_it_is_made(kept_booth: Booth) -> None:
    page = kept_booth.ask("/doctor").raw.decode()
    assert [check.name for check in CHECKS if f"<strong>{check.name}</strong>" not in page] == []


def test_what_is_found_is_told_with_how_to_mend_it(booth: Booth) -> None:
    """It looks at this admin's home, whatever the environment says."""
    booth.home.root.chmod(0o755)
    (booth.home.root / "clew.toml").write_text(f'[backends.a]\nurl = "http://127.0.0.1:1"\nkey = "{CANARY}"\nauth = "key"\n')
    found = booth.ask("/doctor/checks").raw.decode()
    assert str(booth.home.root) in found and "to fix it:" in found and "chmod" in found
    assert CANARY not in found
    assert [check.name for check in CHECKS if f"<strong>{check.name}</strong>" not in found] == []
