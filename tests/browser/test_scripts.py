"""Words of any length, in any script: a page keeps its width, and a text runs the way that it is written."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.staged import Staged
from tests.browser.talk import Talk
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

ARABIC = "مرحبا بالعالم (abc)!"
SAID = f"""
turn:
  think: {ARABIC}
  text: # {ARABIC}
    |
    | {ARABIC}
    |
    | - {ARABIC}
    |
    | Hello ({ARABIC})
"""
SIDES = """(element) => {
  const words = document.createRange();
  words.selectNodeContents(element);
  const [inner, outer] = [words.getBoundingClientRect(), element.getBoundingClientRect()];
  return inner.right - outer.right > -2 && inner.left - outer.left > 20;
}"""
"""Whether the words begin at the right."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Staged]:
    with Staged(SAID) as stage:
        yield stage


def opened(stage: Staged, visit: Visit, words: str, place: str = "threads") -> Page:
    """The conversation that begins with these words."""
    with Talk(stage.demo) as talk:
        talk.say(words)
    return visit.open(f"/{place}/{stage.demo.api('/api/threads?limit=1')['threads'][0]['id']}")


@pytest.mark.parametrize("place", ["threads", "chat"])
def test_a_title_of_one_long_word_is_broken(stage: Staged, browser_at: Callable[..., Visit], place: str) -> None:
    visit = browser_at(stage.demo, viewport={"width": 380, "height": 740})
    page = opened(stage, visit, "W" * 3000, place)
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_what_is_written_from_right_to_left_is_shown_so(stage: Staged, browser_at: Callable[..., Visit]) -> None:
    """Each paragraph by itself: a title, a question, what a model says, and the field to write in."""
    visit = browser_at(stage.demo)
    page = opened(stage, visit, ARABIC)
    page.locator("details.thought summary").click()
    for place in ("h1", ".user .plain", ".thought .prose p", ".assistant > .prose h3", ".assistant > .prose > p >> nth=0"):
        expect(page.locator(place)).to_have_css("unicode-bidi", "plaintext")
        assert place == "h1" or page.locator(place).evaluate(SIDES), place
    assert not page.locator(".assistant > .prose > p").last.evaluate(SIDES)
    expect(page.locator(".assistant li")).to_have_css("unicode-bidi", "plaintext")
    assert not page.locator(".assistant li").evaluate(SIDES), "away from its mark"
    page.goto("/chat")
    expect(page.get_by_label("Message")).to_have_css("unicode-bidi", "plaintext")
