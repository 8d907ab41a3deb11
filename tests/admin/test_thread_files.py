"""A thread as a file, and under another title."""

import pytest

from clew.chat.formats import FORMATS
from tests.admin.booth import Booth
from tests.store.turns import recorded, turn


@pytest.fixture
def kept(booth: Booth) -> Booth:
    assert booth.store is not None
    assert booth.store.record(turn(recorded("a", thread="t"))).result(120)
    assert booth.store.record(turn(recorded("b", thread='../"odd"\n'), at=1.0)).result(120)
    return booth


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_command_goes_out_here_too(kept: Booth, name: str) -> None:
    reply = kept.ask(f"/api/threads/t/export?format={name}")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/octet-stream")
    assert reply.headers["content-disposition"] == f'attachment; filename="t{FORMATS[name].suffix}"'
    assert b"secret question" in reply.raw


def test_a_name_from_elsewhere_names_no_directory(kept: Booth) -> None:
    reply = kept.ask("/api/threads/..%2F%22odd%22%0A/export")
    assert reply.status in (200, 404)
    assert reply.status == 404 or reply.headers["content-disposition"] == 'attachment; filename="____odd__.clew.jsonl"'


def test_an_unknown_format_or_thread_is_refused_with_what_there_is(kept: Booth) -> None:
    reply = kept.ask("/api/threads/t/export?format=docx")
    assert (reply.status, reply.why) == (404, f"there are: {', '.join(FORMATS)}")
    assert kept.ask("/api/threads/none/export").status == 404


def test_a_thread_gets_another_title(kept: Booth) -> None:
    reply = kept.ask("/api/threads/t/title", method="POST", body={"title": "  Another\n name "})
    assert (reply.status, reply.json) == (200, {"thread": "t", "title": "Another name"})
    assert kept.store is not None
    found = kept.store.thread("local", "t")
    assert found is not None and found.title == "Another name"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("t", {"title": " \n "}, 400),
        ("t", {"title": "x" * 201}, 400),
        ("t", {"title": "x", "pin": "glm"}, 400),
        ("none", {"title": "x"}, 404),
    ],
)
def test_a_title_that_cannot_be_is_refused(kept: Booth, path: str, body: object, status: int) -> None:
    assert kept.ask(f"/api/threads/{path}/title", method="POST", body=body).status == status


def test_what_a_format_cannot_say_is_refused_and_the_own_format_says_it(kept: Booth) -> None:
    """Half a surrogate pair, as a backend may send it."""
    assert kept.store is not None
    half = recorded("h", thread="half", blocks=(b'{"type": "text", "text": "cut \\ud83d"}',))
    assert kept.store.record(turn(half)).result(120)
    assert [kept.ask(f"/api/threads/half/export?format={name}").status for name in ("clew", "html")] == [200, 409]
