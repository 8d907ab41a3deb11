"""Exchange: both bodies, the headers, the attempts; nothing of it is believed, and no secret is shown."""

import json

import pytest
from msgspec import structs

from clew.model.change import Change
from clew.model.turn import Bodies, Heads, Try
from tests.admin.booth import CANARY, Booth
from tests.store.turns import NOON, recorded, turn
from tests.waiting import until

pytestmark = pytest.mark.slow

HOSTILE = "</pre><script>alert(1)</script>"


def record(booth: Booth, bodies: Bodies | None, **more: object) -> str:
    made = turn(recorded("r"), bodies=bodies)
    assert booth.store is not None
    booth.store.record(structs.replace(made, exchange=structs.replace(made.exchange, **more))).result()
    return "/exchanges/x-r"


def test_the_difference_the_heads_and_the_attempts_are_shown(booth: Booth) -> None:
    """Issue 6: client bytes to backend bytes and back; X9, X12."""
    asked = json.dumps({"model": "opus", "system": HOSTILE, "messages": [CANARY]}).encode()
    heads = Heads(
        asked=(("user-agent", HOSTILE),), sent=(("x-api-key", "[redacted]"),), target="POST /v1/messages", status=200
    )
    bodies = Bodies(asked=asked, sent=asked.replace(b"opus", b"glm-5"), answered=HOSTILE.encode(), heads=heads)
    changes = (Change("thinking", f"messages.1{HOSTILE}", "left out", HOSTILE),)
    tries = (Try(backend="claude", status=529, seconds=0.2, why=f"overloaded {CANARY}"), Try(backend="glm", status=200))
    path = record(booth, bodies, changes=changes, tries=tries, asked_model=HOSTILE, request_id=HOSTILE)
    page = _shown(booth, path)
    assert "<del>  &#34;model&#34;: &#34;opus&#34;,</del><ins>  &#34;model&#34;: &#34;glm-5&#34;,</ins>" in page
    assert "POST /v1/messages" in page and "overloaded [redacted]" in page
    assert "<script>alert" not in page and CANARY not in page and "style=" not in page


def _shown(booth: Booth, path: str) -> str:
    """Bodies are written behind the turn."""
    until(lambda: booth.ask(path.replace("/exchanges", "/api/exchanges")).json["bodies"])
    return booth.ask(path).raw.decode()


def test_a_body_that_went_out_as_it_came_is_said_to(booth: Booth) -> None:
    path = record(booth, Bodies(asked=b"{}", sent=b"{}", answered=b"{}"))
    assert "The body was sent unchanged, byte for byte." in _shown(booth, path)


def test_bodies_too_different_to_be_compared_line_by_line_are_said_to_be(booth: Booth) -> None:
    asked, sent = ("\n".join(f"{number * by % 150}" for number in range(20_000)).encode() for by in (1, 7))
    page = _shown(booth, record(booth, Bodies(asked=asked, sent=sent)))
    assert "These bodies differ too much to compare all of them line by line" in page


def test_without_bodies_the_page_says_how_to_keep_them(booth: Booth) -> None:
    page = booth.ask(record(booth, None)).raw.decode()
    assert "are not kept" in page and 'bodies = "last:50"' in page


def test_the_page_names_the_program_that_asked_and_its_api(booth: Booth) -> None:
    page = booth.ask(record(booth, None, client=HOSTILE, dialect="openai-responses")).raw.decode()
    assert "<dt>client</dt><dd>&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;, " in page and "Responses API" in page
    assert booth.ask("/api/exchanges/x-r").json["exchange"]["client"] == HOSTILE
    assert [each["client"] for each in booth.ask("/api/exchanges").json["exchanges"]] == [HOSTILE]
    assert [each["clients"] for each in booth.ask("/api/threads").json["threads"]] == [[HOSTILE]]
    assert [each["clients"] for each in booth.ask("/api/threads?q=answer").json["threads"]] == [[HOSTILE]]
    assert "<script>alert" not in page


def test_one_that_is_not_there_is_a_page_that_says_what_to_do(kept_booth: Booth) -> None:
    reply = kept_booth.ask("/exchanges/nothing")
    assert (reply.status, reply.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no such exchange" in reply.raw.decode()


def test_one_whose_thread_was_deleted_meanwhile_says_so_and_leads_nowhere(booth: Booth) -> None:
    path = record(booth, None)
    assert booth.store is not None
    booth.store.forget("local", "t", at=NOON).result(120)
    record(booth, None)
    page = booth.ask(path).raw.decode()
    assert "nothing of it is kept" in page and "deleted meanwhile" in page and 'href="/threads/"' not in page
