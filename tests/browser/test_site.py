"""The docs as a site: opened from files, with no network, in a real browser. `make docs` builds it."""

import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import chromium, environment
from tests.test_manifest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.soak]
PAGES = (
    "index",
    "install",
    "symptoms/limits-429",
    "backends/deepseek",
    "clients/codex",
    "reference/rules",
    "reference/config",
)
TOOLS = ROOT / "build/docs-tools/bin/python"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not TOOLS.exists():
        pytest.skip("`make docs` installs what builds the site")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([TOOLS, ROOT / "docs/build_site.py", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def asked() -> list[str]:
    return []


@pytest.fixture(scope="module")
def page(asked: list[str]):
    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, env=cast("Any", environment(executable)), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.on("request", lambda request: asked.append(request.url) if not request.url.startswith("file:") else None)
        yield page
        browser.close()


def test_the_search_finds_a_symptom_without_a_server(site: Path, page: Page, asked: list[str]) -> None:
    page.goto((site / "howto/switch-the-backend.html").as_uri())
    page.keyboard.press("Control+k")
    field = page.locator("input[placeholder=Search]:visible")
    field.wait_for()
    field.fill("Please run /login")
    found = page.locator("a", has_text="Not logged in").last
    found.wait_for()
    assert [url for url in asked if not url.startswith(("blob:", "data:"))] == []
    assert page.locator(".md-tabs__link").all_inner_texts() == [
        *("Start", "Tasks", "Symptoms", "Concepts", "Reference", "Project", "Decisions")
    ]


def test_no_page_is_wider_than_a_phone(site: Path, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    wide = []
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(name)
    assert wide == []
