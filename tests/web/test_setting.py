"""Markdown for an answer that streams in."""

import pytest

from tests.admin.booth import Booth


@pytest.mark.parametrize(
    ("body", "html"),
    [
        ({"text": "*a*\n\n<b>"}, '<div data-lines="3"><p><em>a</em></p>\n<p>&lt;b&gt;</p>\n</div>'),
        ({"text": "*a*\n\nb", "open": True}, '<div data-lines="2"><p><em>a</em></p>\n</div>'),
        ({"text": "*a*", "open": True}, '<div data-lines="0"></div>'),
    ],
)
def test_what_is_finished_is_set_and_says_how_many_lines_it_takes(kept_booth: Booth, body: object, html: str) -> None:
    reply = kept_booth.ask("/api/markdown", method="POST", body=body)
    assert (reply.status, reply.headers["content-type"], reply.raw.decode()) == (200, "text/html; charset=utf-8", html)


def test_nobody_else_has_text_set(kept_booth: Booth) -> None:
    assert kept_booth.ask("/api/markdown", method="POST", body={"text": "a"}, port=True).status == 401
    headers = {"cookie": kept_booth.logged_in()["cookie"]}
    assert kept_booth.ask("/api/markdown", method="POST", body={"text": "a"}, headers=headers, port=True).status == 403
