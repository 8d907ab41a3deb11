"""The list of threads: filters, other orders, and what can be done with several threads at once."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import expect

from tests.browser.corpus import RUN
from tests.browser.demo import Demo
from tests.browser.talk import Talk
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

HOSTILE = f'"><img src=x onerror={RUN}>'


def test_threads_are_filtered_sorted_exported_and_deleted_together(demo: Demo, visit: Visit) -> None:
    for words, backend in (("One", "claude"), ("Two", "deepseek"), (HOSTILE, "claude")):
        demo.api("/api/use", method="POST", body={"backend": backend})
        with Talk(demo) as talk:
            talk.say(words)
    demo.api("/api/use", method="POST", body={"reset": True})
    page = visit.open("/threads")
    titles = page.locator("td.title a")
    expect(titles).to_have_text([HOSTILE, "Two", "One"])
    page.get_by_label("Backend").select_option("deepseek")
    expect(titles).to_have_text(["Two"])
    assert page.url.endswith("/threads?backend=deepseek"), "what is not chosen is not in the address"
    page.get_by_role("link", name="Tokens").click()
    expect(page.get_by_role("columnheader", name="Tokens")).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_label("Backend")).to_have_value("deepseek")
    page.get_by_role("link", name="All threads").click()
    for words in (HOSTILE, "Two"):
        page.get_by_label(f"Select {words}", exact=True).check()
    expect(page.locator("[data-picked-count]")).to_have_text("2 selected")
    page.get_by_label("Format").select_option("markdown")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Export").click()
    with ZipFile(BytesIO(Path(coming.value.path()).read_bytes())) as archive:
        assert len(archive.namelist()) == 2 and b"Two" in archive.read(archive.namelist()[1])
    with Talk(demo) as talk:
        talk.say("Four")
    expect(titles).to_have_text(["Four", HOSTILE, "Two", "One"])
    expect(page.get_by_label("Select Two")).to_be_checked()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog").locator("li")).to_have_text([HOSTILE, "Two"])
    page.get_by_role("button", name="Delete for good").click()
    expect(titles).to_have_text(["Four", "One"])
    expect(page.locator("[data-picked]")).to_be_hidden()
    assert page.evaluate("window.hacked") is None
