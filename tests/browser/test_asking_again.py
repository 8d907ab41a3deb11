"""What comes after an answer: its end is seen, it is asked again or in other words, and each branch keeps to itself."""

import re
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
LONG = "A question of many words. " * 40
FROM_END = "document.documentElement.scrollHeight - innerHeight - scrollY"


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


def test_a_question_in_a_window_that_is_behind_makes_no_branch_unseen(visit: Visit) -> None:
    """It comes back to the composer, below what was asked in the other window."""
    page = asked(visit, "The first one")
    behind = visit.context.new_page()
    behind.goto(page.url)
    expect(behind.locator(".turn-buttons")).to_have_count(1)
    ask(page, "Asked here", 2)
    visit.allow("409")
    note = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"A note"}
    behind.get_by_label("Attach files").set_input_files([note])
    expect(behind.locator(".file")).to_have_count(1)
    behind.get_by_label("Message").fill("Asked there")
    behind.keyboard.press("Enter")
    expect(behind.locator(".notice")).to_contain_text("This chat went on in another window.")
    expect(behind.locator(".user .plain")).to_have_text(["The first one", "Asked here"])
    expect(behind.get_by_label("Message")).to_have_value("Asked there")
    expect(behind.locator(".file")).to_contain_text("note.txt 1 KB")
    behind.keyboard.press("Enter")
    over(behind, 3)
    expect(behind.locator(".turn-head").last).to_contain_text("Turn 3")
    expect(behind.locator(".ways")).to_have_count(0)


def test_branches_with_the_same_words_are_told_apart_by_who_answered_and_when(visit: Visit) -> None:
    page = asked(visit)
    page.get_by_role("button", name="Retry").click()
    told = page.locator(".ways a")
    expect(told).to_have_count(2)
    for text in told.all_inner_texts():
        assert re.search(r"\w+ \d\d:\d\d(:\d\d)?$", text), text


def test_anyone_who_asks_again_by_keyboard_can_go_on_writing(visit: Visit) -> None:
    """The button that had the focus is gone with its turn."""
    page = asked(visit)
    page.get_by_role("button", name="Retry").press("Enter")
    expect(page.locator(".ways a")).to_have_count(2)
    expect(page.get_by_label("Message")).to_be_focused()
    page.get_by_role("button", name="Edit").press("Enter")
    page.keyboard.type(" Now?")
    page.keyboard.press("Enter")
    expect(page.locator(".ways a")).to_have_count(3)
    expect(page.get_by_label("Message")).to_be_focused()


def test_a_question_that_is_edited_already_is_not_opened_again(visit: Visit) -> None:
    """What was typed stays, and one Cancel is enough."""
    page = asked(visit, "The question")
    edit, field = page.get_by_role("button", name="Edit"), page.get_by_label("Ask in other words")
    edit.click()
    field.fill("Other words")
    edit.click()
    expect(field).to_have_value("Other words")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".said.user .plain")).to_have_text("The question")


def test_a_question_after_one_that_failed_can_be_asked_again(visit: Visit) -> None:
    """The failed one was the first, so that this one begins the conversation."""
    page = asked(visit, "[[scenario:overloaded]] Well?")
    ask(page, "And now?", 2)
    second = page.locator("[data-turn]").nth(1)
    expect(second.get_by_role("button", name="Retry")).to_be_visible()
    page.reload()
    second.get_by_role("button", name="Retry").click()
    over(page, 2)
    expect(second.locator(".assistant .prose").last).to_contain_text("And now?")


def test_the_end_of_an_answer_is_seen_with_its_buttons(visit: Visit) -> None:
    """Whether it was answered or not."""
    page = asked(visit, LONG)
    ask(page, LONG, 2)
    ask(page, LONG, 3)
    visit.until(lambda: page.evaluate(FROM_END) <= 1, 120)
    ask(page, "[[scenario:overloaded]] Well?", 4)
    expect(page.locator(".bad")).to_be_visible()
    visit.until(lambda: page.evaluate(FROM_END) <= 1, 120)


def test_a_new_chat_gives_its_name_to_the_tab(visit: Visit) -> None:
    page = asked(visit, "What is a lens?")
    expect(page).to_have_title("What is a lens? · clew")


@pytest.mark.parametrize("before", [0, 1])
def test_a_question_that_never_arrived_says_so_and_can_be_asked_again(visit: Visit, before: int) -> None:
    """The gateway was started again just then: it answers, and knows nothing of the question."""
    visit.allow("ERR_FAILED|404")
    page = visit.open("/chat")
    for number in range(before):
        ask(page, "Well?", number + 1)
    page.route("**/api/chat", lambda route: route.abort(), times=1)
    ask(page, "Is it lost?", before + 1)
    turn = page.locator("[data-turn]").last
    expect(turn.locator(".bad")).to_contain_text("Your question did not reach the gateway.")
    turn.get_by_role("button", name="Retry").click()
    expect(turn.locator(".assistant > .prose")).to_contain_text("Is it lost?")
    page.reload()
    expect(page.locator("[data-turn]")).to_have_count(before + 1)
    expect(turn.locator(".user")).to_contain_text("Is it lost?")
