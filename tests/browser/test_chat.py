"""The chat while an answer comes: what is open and what is folded, stopping, coming back, and keeping up."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.demo import Demo
from tests.browser.staged import Staged, lines
from tests.browser.talk import MODEL, Talk
from tests.browser.visit import Visit
from tests.waiting import until

pytestmark = pytest.mark.slow

PAUSED = """
turn:
  think: Let me see what this is about.
  pause: 2.5
  pace: chunk=8
  text: A first paragraph, *whole*.
    |
    | A second that is long enough to be broken off somewhere.
  fault: stall 4 content=14
  text: And the end.
"""
WHOLE = ["A first paragraph, whole. A second that is long enough to be broken off somewhere.", "And the end."]
BREAKABLE = """(() => {
  const asked = window.fetch;
  window.fetch = async (...request) => {
    const answer = await asked(...request);
    if (request[0] !== "/api/chat") return answer;
    const broken = new TransformStream({ start: (controller) => (window.breakOff = () => controller.error("broken")) });
    return new Response(answer.body.pipeThrough(broken), answer);
  };
})()"""
WORDS = "The quick brown fox jumps over the lazy dog, and says so. "
TEXT = (
    "\n\n".join(f"Paragraph {number}. {WORDS * 4}" for number in range(12))
    + "\n\n```\n"
    + "x = 1\n" * 40
    + "```\n\nThe end."
)
RUSH = f"turn:\n  pace: chunk=1\n  think: {WORDS * 5}\n  text: {lines(TEXT)}\n"

WATCH = """() => {
  Object.assign(window, { tasks: [], shifts: [] });
  new PerformanceObserver((list) => list.getEntries().forEach((each) => tasks.push(each.duration))).observe({ type: "longtask" });
  new PerformanceObserver((list) => list.getEntries().forEach((each) => shifts.push([each.value, each.sources.map(({ node, previousRect: one, currentRect: other }) => [
    node?.className ?? node?.nodeName, one.y, one.height, other.y, other.height])]))).observe({ type: "layout-shift" });
}"""


@pytest.fixture(scope="module")
def paused() -> Iterator[Demo]:
    """A model that thinks, and pauses in the middle of its answer."""
    with Staged(PAUSED) as stage:
        yield stage.demo


def say(visit: Visit, words: str = "Well?") -> Page:
    page = visit.open("/chat")
    page.get_by_label("Message").fill(words)
    page.keyboard.press("Enter")
    return page


def over(page: Page, turns: int = 1) -> None:
    expect(page.locator(".turn-buttons")).to_have_count(turns)


def prose(page: Page) -> Locator:
    return page.locator(".assistant > .prose")


def half(page: Page) -> None:
    """Wait until the answer came to its middle, where it stays for a while."""
    expect(prose(page).first).to_contain_text("A second that")


def test_a_thread_whose_client_sent_betas_goes_on_in_the_chat(visit: Visit, demo: Demo) -> None:
    """The effort of a system message is refused without them."""
    effort: Any = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    with Talk(demo) as talk:
        talk.client.messages.create(
            model=MODEL,
            max_tokens=4000,
            messages=[{"role": "user", "content": "Before the chat."}, effort],
            extra_headers={"anthropic-beta": "per-turn-control-2026-07-01"},
        )
    page = visit.open("/threads")
    page.get_by_role("link", name="Before the chat.").click()
    page.get_by_role("link", name="Continue in chat").click()
    page.get_by_label("Message").fill("And now?")
    page.keyboard.press("Enter")
    expect(prose(page).last).to_have_text("You said: “And now?”")


def test_thinking_folds_when_the_answer_begins_and_a_finished_paragraph_is_set(
    paused: Demo, browser_at: Callable[..., Visit]
) -> None:
    """The open paragraph stays plain text, in the same place."""
    page = say(browser_at(paused))
    thought = page.locator("details.thought")
    expect(thought).to_have_attribute("open", "")
    expect(thought).to_contain_text("Let me see what this is about.")
    half(page)
    expect(thought).not_to_have_attribute("open", "")
    expect(page.get_by_role("button", name="Stop")).to_be_enabled()
    expect(prose(page).locator("em")).to_have_text("whole")
    expect(prose(page).locator(".open")).to_contain_text("A second that")
    assert "first" not in prose(page).locator(".open").inner_text()
    over(page)
    expect(prose(page)).to_have_text(WHOLE)
    expect(page.locator(".open")).to_have_count(0)
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()


NOTE_NAMES = """() => {
  const names = (window.names = new Set());
  const note = () => document.querySelectorAll(".who strong, .who .mono, .origin").forEach((each) => names.add(each.textContent));
  new MutationObserver(note).observe(document.querySelector("[data-turns]"), { childList: true, subtree: true, characterData: true });
}"""


def test_the_page_names_the_backend_and_the_model_that_answer_and_nobody_before(browser_at: Callable[..., Visit]) -> None:
    """The active backend is out of order, so another one answers, with a model of its own."""
    with Staged(PAUSED, model="slow-model") as stage:
        page = browser_at(stage.demo).open("/chat")
        page.evaluate(NOTE_NAMES)
        page.get_by_label("Message").fill("Well?")
        page.keyboard.press("Enter")
        half(page)
        expect(page.locator(".assistant .who strong")).to_have_text("claude")
        expect(page.locator(".assistant .who .mono")).to_have_text("slow-model")
        expect(page.locator("[data-state]")).to_have_text("Answering …")
        over(page)
        assert page.evaluate("[...names].sort()") == ["", "claude", "claude, slow-model", "slow-model", "…"]


def test_an_answer_is_stopped_and_what_was_finished_is_kept(paused: Demo, browser_at: Callable[..., Visit]) -> None:
    """And thinking that somebody unfolded stays so."""
    page = say(browser_at(paused))
    half(page)
    thought = page.locator("details.thought")
    thought.locator("summary").click()
    page.get_by_role("button", name="Stop").click()
    over(page)
    expect(thought).to_have_attribute("open", "")
    expect(page.locator(".who .chip", has_text="stopped")).to_be_visible()
    expect(page.locator(".assistant")).not_to_contain_text("And the end")
    page.reload()
    expect(page.locator(".who .chip", has_text="stopped")).to_be_visible()
    expect(page.locator("details.thought")).to_have_count(1)


def test_an_answer_is_followed_again_after_a_broken_connection_and_a_reload(
    paused: Demo, browser_at: Callable[..., Visit]
) -> None:
    visit = browser_at(paused)
    visit.context.add_init_script(BREAKABLE)
    page = say(visit)
    half(page)
    with page.expect_response("**/stream") as again:
        page.evaluate("window.breakOff()")
    assert again.value.status == 200
    half(page)
    page.reload()
    over(page)
    expect(prose(page)).to_have_text(WHOLE)
    expect(page.locator(".bad")).to_have_count(0)


def test_an_answer_that_ended_after_the_page_was_drawn_is_shown_whole(
    paused: Demo, browser_at: Callable[..., Visit]
) -> None:
    """The page asks for the rest too late: there is nothing to follow any more."""

    def too_late(route: Route) -> None:
        until(lambda: paused.api("/api/exchanges?limit=1")["exchanges"][0]["outcome"] == "whole")
        route.fulfill(status=204)

    page = say(browser_at(paused))
    half(page)
    page.route("**/stream", too_late)
    page.reload()
    expect(prose(page)).to_have_text(WHOLE)


def test_a_thousand_events_a_second_keep_the_page_responsive(browser_at: Callable[..., Visit]) -> None:
    """No long task worth the name, no layout jump, and the words are all there."""
    with Staged(RUSH) as stage:
        visit = browser_at(stage.demo)
        page = visit.open("/chat")
        page.evaluate(WATCH)
        page.get_by_label("Message").fill("Go")
        page.keyboard.press("Enter")
        page.get_by_label("Message").press_sequentially("typed meanwhile")
        over(page)
        assert page.get_by_label("Message").input_value() == "typed meanwhile"
        assert page.locator(".assistant > .prose > p").all_inner_texts() == plain(TEXT)
        assert max(page.evaluate("tasks"), default=0.0) < 2500.0
        shifts = page.evaluate("shifts")
        assert sum(value for value, _ in shifts) < 0.1, shifts


SEARCHED = """
turn:
  text: I look it up.
  block: {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "<b>lens</b>"}}
  block: {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://example.org", "title": "Lens", "encrypted_content": "x"}]}
  text: Found.
"""


def test_a_call_is_shown_with_its_input_and_its_result(browser_at: Callable[..., Visit]) -> None:
    with Staged(SEARCHED) as stage:
        page = say(browser_at(stage.demo))
        over(page)
        call = page.locator("details.tool")
        expect(call.locator("summary")).to_contain_text("web_search")
        expect(call.locator("summary .chip")).to_have_text("done")
        call.locator("summary").click()
        expect(call.locator("pre").first).to_have_text('{ "query": "<b>lens</b>" }')
        expect(call.locator("pre").last).to_contain_text("https://example.org")
        expect(prose(page)).to_have_text(["I look it up.", "Found."])
        page.reload()
        expect(page.locator("details.tool summary .chip")).to_have_text("done")


def plain(text: str) -> list[str]:
    return [part.strip() for part in text.split("\n\n") if not part.startswith("```")]


def test_effort_and_model_go_with_the_question(demo: Demo, visit: Visit) -> None:
    page = visit.open("/chat")
    page.get_by_label("Model").select_option("claude-opus-5-5")
    page.get_by_label("Effort").select_option("low")
    page.get_by_label("Message").fill("Quick!")
    with page.expect_request("**/api/chat") as asked:
        page.keyboard.press("Enter")
    over(page)
    body = json.loads(asked.value.post_data or "")
    assert {name: body[name] for name in ("backend", "model", "effort", "thinking")} == {
        "backend": "",
        "model": "claude-opus-5-5",
        "effort": "low",
        "thinking": True,
    }
    exchange = demo.api("/api/exchanges?limit=1")["exchanges"][0]
    assert exchange["asked_model"] == "claude-opus-5-5"


def test_anyone_who_is_not_logged_in_any_more_is_told_how_to_come_back(visit: Visit) -> None:
    """The gateway was started again, for example. That others come with a key is of no use to them."""
    page = visit.open("/chat")
    visit.context.clear_cookies()
    visit.allow("401")
    page.get_by_label("Message").fill("Hello?")
    page.keyboard.press("Enter")
    said = page.locator(".assistant .bad")
    expect(said).to_contain_text("This browser is not logged in any more")
    expect(said).to_contain_text("open the link that clew ui prints, then load this page again")


def test_a_very_small_price_is_no_zero_and_stays_the_same_after_a_reload(browser_at: Callable[..., Visit]) -> None:
    with Staged("turn:\n  text: Yes.\n") as stage:
        page = say(browser_at(stage.demo))
        over(page)
        expect(page.locator(".who .small")).to_contain_text(", <$0.0001")
        page.reload()
        expect(page.locator(".who .small")).to_contain_text(", <$0.0001")
