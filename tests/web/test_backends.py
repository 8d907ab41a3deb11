"""Backends: what each supports, and no key."""

import pytest
from msgspec import structs

from clew.backends.row import Backend, Quirks
from clew.model.turn import Try
from clew.web.health import deviations
from clew.web.rows import Chip
from tests.admin.booth import CANARY, Booth
from tests.store.turns import recorded, turn

pytestmark = pytest.mark.slow


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
