"""The gateway's own tools in Chat: the user is asked in the page, and again after the page was loaded again."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.admin.chat.test_tools import TOOLS
from tests.browser.axe import violations
from tests.browser.demo import Demo
from tests.browser.staged import Staged, lines
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

SCRIPT = f"""
turn:
  text: I look.
  call: read {{"path": "<img src=x onerror=window.hacked=1>"}}

turn:
  text: It rains. {lines("**Really.**")}
"""


def ask(page: Page) -> None:
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()  # while an answer comes, nothing is sent
    page.get_by_label("Message").fill("Look!")
    page.keyboard.press("Enter")


def test_a_tool_asks_in_the_page_and_after_a_reload_and_not_where_it_is_always_allowed(
    browser_at: Callable[[Demo], Visit],
) -> None:
    with Staged(SCRIPT, more='[chat]\ntools = "tools.py"') as stage:
        (stage.demo.config.parent / "tools.py").write_text(TOOLS)
        visit = browser_at(stage.demo)
        page = visit.open("/chat")
        ask(page)
        question = page.get_by_role("group", name="Allow read?")
        expect(page.get_by_text("A tool waits for your decision.")).to_be_visible()
        expect(question).to_be_visible()
        expect(page.locator(".fold.tool pre").first).to_contain_text("<img src=x onerror")
        page.evaluate("scrollTo(0, 0)")  # else the bar covers a part of a link
        assert violations(page) == [] and page.evaluate("window.hacked") is None
        page.reload()
        expect(question).to_be_visible()
        question.get_by_role("button", name="Deny").click()
        expect(page.locator(".fold.tool > summary")).to_contain_text("denied")
        expect(page.locator(".turn").last).to_contain_text("It rains.")
        page.goto("/chat")
        ask(page)
        question.get_by_role("button", name="Always in this chat").click()
        expect(page.locator(".turn").last).to_contain_text("It rains.")
        expect(page.locator(".fold.tool > summary")).to_contain_text("done")
        stage.model.reset()
        ask(page)
        expect(page.locator(".fold.tool > summary .chip")).to_have_text(["done", "done"])
        expect(page.locator(".turn-buttons")).to_have_count(4)  # no answer comes any more
        expect(question).to_have_count(0)
