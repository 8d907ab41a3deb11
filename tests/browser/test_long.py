"""Five thousand messages: quick to open at either end, and smooth to scroll."""

import pytest
from playwright.sync_api import expect

from tests.browser.demo import Demo
from tests.browser.long_thread import fill
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

TURNS = 2500
SCROLL = """(enough) => new Promise((resolve) => {
  window.tasks = [];
  new PerformanceObserver((list) => list.getEntries().forEach((each) => tasks.push(each.duration))).observe({ type: "longtask" });
  const on = () => {
    scrollBy(0, 1200);
    document.querySelectorAll("article.turn").length >= enough ? resolve() : requestAnimationFrame(on);
  };
  on();
})"""

TRACKED = (
    "[...document.querySelectorAll('main *')].filter((each) => getComputedStyle(each).contentVisibility === 'auto').length"
)


@pytest.fixture(scope="module")
def long(demo: Demo) -> Demo:
    fill(demo.home / "clew.db", "long", TURNS)
    return demo


def test_more_turns_come_while_it_is_scrolled_and_nothing_stutters(long: Demo, visit: Visit) -> None:
    page = visit.open("/threads/long")
    expect(page.locator("article.turn")).to_have_count(40)
    page.evaluate(SCROLL, 240)
    numbers = page.locator("article.turn").evaluate_all("(all) => all.map((each) => each.id)")
    assert numbers == [f"turn-{number}" for number in range(1, len(numbers) + 1)]
    assert max(page.evaluate("tasks"), default=0.0) < 2500.0
    assert page.evaluate(TRACKED) == len(numbers) // 40, "each costs something in every frame, so turns are not among them"
    expect(page.locator("#turn-200 .prose").last).to_contain_text("Answer 199 with code.")


def test_its_end_is_one_step_away(long: Demo, visit: Visit) -> None:
    page = visit.open("/threads/long")
    page.get_by_role("link", name="Jump to the newest").click()
    expect(page.locator(f"#turn-{TURNS}")).to_contain_text(f"Question {TURNS - 1}?")
    expect(page.locator("[data-more]")).to_have_count(0)


def test_a_turn_in_the_middle_is_found_and_compared(long: Demo, visit: Visit) -> None:
    """A hit leads to its page; the projection of the whole takes a second or so, whichever part is shown."""
    page = visit.open("/threads/long?at=x-r1234")
    expect(page.locator("[data-wanted]")).to_contain_text("Question 1234?")
    page.get_by_role("navigation", name="How to show it").get_by_role("link", name="deepseek").click()
    expect(page.locator(".pair", has_text="Question 1234?").first).to_be_visible()
    expect(page.locator(".sums")).to_contain_text("2,500 left out")


def test_a_chat_goes_on_at_its_end(long: Demo, visit: Visit) -> None:
    page = visit.open("/chat/long")
    expect(page.get_by_role("link", name="2,460 earlier turns are in the thread")).to_be_visible()
    expect(page.locator(f"#turn-{TURNS}")).to_be_in_viewport()
