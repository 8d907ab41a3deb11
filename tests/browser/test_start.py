"""The guided start, as somebody who has just installed clew goes through it."""

import subprocess

import pytest
from playwright.sync_api import expect

from tests.browser.demo import Demo
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow


def test_a_newcomer_chooses_pastes_one_line_and_sees_the_request_arrive(demo: Demo, visit: Visit) -> None:
    """The line is run as it is shown, by a shell that has the gateway's key."""
    page = visit.open("/")
    page.get_by_role("link", name="Guided start").click()
    expect(page.locator("[data-live]")).to_have_text("live")
    page.get_by_label("curl, just to try").check()
    page.get_by_label("other").check()
    expect(page.locator(".active-backend")).to_have_text("other")
    line = page.locator("#line-curl")
    expect(page.locator("#line-claude-code")).to_be_hidden()
    expect(page.locator("[data-waiting]")).to_be_visible()
    done = subprocess.run(["sh", "-c", line.inner_text()], env=demo.environment, capture_output=True, text=True, timeout=110)
    assert "You said" in done.stdout, done.stderr
    expect(page.locator("[data-arrived]")).to_contain_text("It works. other answered with")
    page.get_by_role("link", name="Read the thread").click()
    expect(page.locator(".user .plain")).to_have_text("Hello")
