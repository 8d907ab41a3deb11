"""Keys: what each may do, until when and when it was used; and the audit."""

import pytest

from tests.admin.booth import Booth
from tests.browser.corpus import RUN
from tests.manifest import public

pytestmark = pytest.mark.slow

HOSTILE = f"<img src=x onerror={RUN}>"


def text(booth: Booth, path: str) -> str:
    reply = booth.ask(path)
    assert reply.status == 200
    return reply.raw.decode()


def make(booth: Booth, **more: str) -> str:
    reply = booth.ask("/api/keys", method="POST", body=more)
    assert reply.status == 200, reply.raw
    return reply.json["key"]


@public("page")
def test_each_key_says_what_it_may_do_and_until_when(booth: Booth) -> None:
    secret = make(
        booth, name="anna", team=HOSTILE, models=f"glm-*, {HOSTILE}", backends="glm", expires="3d", scopes="inference,read"
    )
    make(booth, name="child", principal="anna", parent="anna", models="glm-5", backends="glm", expires="1h")
    make(booth, name="ci", principal="local")
    assert booth.ask("/api/keys/anna/rotate", method="POST", body={"overlap": "2h"}).status == 200
    for path in ("/keys", "/keys/rows"):
        page = text(booth, path)
        anna, child, ci = (
            page.partition("<tbody>")[2].split("<tr data-row")[1:] if path == "/keys" else page.split("<tr data-row")[1:]
        )
        assert "&lt;img" in anna and "in 2 d" in anna and "the old secret (" in anna and "inference, read" in anna
        assert "child of anna" in child and "in 59 min" in child and 'data-children="1"' in anna
        assert "the owner" in ci and "all models" in ci and ">never<" in ci
        assert secret not in page and "<img src=x" not in page


@public("page")
def test_the_audit_names_who_changed_what_page_by_page(booth: Booth, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No change yet" in text(booth, "/audit")
    monkeypatch.setattr("clew.web.keys_page.CHANGES", 2)
    for name in (HOSTILE, "b", "c"):
        make(booth, name=name)
    page = text(booth, "/audit")
    assert page.count("<strong>key added</strong>") == 2 and "key:c" in page and "key:b" in page
    older = page.partition('href="/audit?before=')[2].partition('"')[0]
    before = text(booth, f"/audit?before={older}")
    assert "&lt;img src=x" in before and "<img src=x" not in before and "before=" not in before
    assert "No older changes" in text(booth, "/audit?before=1")
