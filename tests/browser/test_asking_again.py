"""What comes after an answer: its end is seen, it is asked again or in other words, and each branch keeps to itself."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.staged import Staged
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

SLOW = """
turn:
  think: Let me see.
  text: Here it is.
  pause: 4
  text: All of it.
"""


def ask(page: Page, words: str, answers: int) -> None:
    """And wait for the end of the answer, which is the so manieth."""
    page.get_by_label("Message").fill(words)
    page.keyboard.press("Enter")
    over(page, answers)


def over(page: Page, answers: int) -> None:
    expect(page.locator("[data-turn]")).to_have_count(answers)
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()


def asked(visit: Visit, words: str = "Well?") -> Page:
    page = visit.open("/chat")
    ask(page, words, 1)
    return page


def test_an_answer_that_comes_in_one_branch_is_not_put_into_another(browser_at: Callable[..., Visit]) -> None:
    """Somebody looks at the old branch, in another tab, while the new one is answered."""
    with Staged(SLOW) as stage:
        visit = browser_at(stage.demo)
        page = asked(visit, "In these words")
        chat, old = page.url, page.locator("[data-turn]").get_attribute("data-turn") or ""
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Ask in other words").fill("In others")
        page.keyboard.press("Enter")
        other = visit.context.new_page()
        visit.until(lambda: other.goto(f"{chat}?at={old}") and other.locator("[data-turn]").count() == 1)
        expect(other.locator("[data-state]")).to_have_text("Another answer of this chat is under way.")
        over(page, 1)
        turn = other.locator("[data-turn]")
        expect(turn).to_have_attribute("data-turn", old)
        expect(turn.locator(".user")).to_contain_text("In these words")
        expect(turn.locator(".assistant > .prose")).to_have_text(["Here it is.", "All of it."])
        assert other.url.endswith(old)
