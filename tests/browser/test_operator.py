"""Somebody runs the gateway: watches what happens, switches, looks at one request, tries a backend, asks the doctor."""

import csv
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.demo import Demo
from tests.browser.staged import Staged
from tests.browser.talk import Talk
from tests.browser.visit import Visit
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def talk(demo: Demo) -> Iterator[Talk]:
    with Talk(demo) as talk:
        yield talk
    for part in ({}, {"agents": True}, {"family": "haiku"}):
        demo.api("/api/use", method="POST", body={"reset": True, **part})


def watched(visit: Visit) -> Page:
    """Now, listening."""
    page = visit.open("/")
    expect(page.locator("#live")).to_have_text("live")
    return page


def test_requests_are_seen_while_a_client_talks(visit: Visit, talk: Talk) -> None:
    """The official SDK talks through the gateway; nobody reloads anything, and what was looked at stays where it is."""
    page = watched(visit)
    talk.say("Who goes there?")
    rows = page.locator("#rows tr")
    first = rows.first
    expect(first.locator(".route")).to_contain_text("claude-opus-5-5")
    expect(page.locator("#none")).to_be_hidden()
    first.locator("a").first.focus()
    talk.say("And once more?")
    expect(rows.first.locator(".chip.kept")).to_have_text("1 kept")
    expect(rows.nth(1).locator("a").first).to_be_focused()


SEEN = """(seen) => {
  Object.defineProperty(document, "hidden", { value: !seen, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_page_that_nobody_sees_holds_no_connection_and_catches_up(visit: Visit, talk: Talk) -> None:
    """A browser has six connections for all tabs of a host."""
    page = watched(visit)
    page.evaluate(SEEN, False)
    expect(page.locator("#live")).to_have_text("paused")
    talk.say("Nobody looks")
    rows = page.locator("#rows tr").count()
    page.evaluate(SEEN, True)
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#rows tr")).to_have_count(rows + 1)


COLOUR = "() => getComputedStyle(document.querySelector('#top .dot.good')).backgroundColor"


def test_while_the_gateway_is_not_heard_the_page_does_not_stay_green(visits: Callable[..., Visit], talk: Talk) -> None:
    """What it last knew of the backends may be long over."""
    visit = visits()
    visit.allow("ERR_CONNECTION_REFUSED")
    page = watched(visit)
    talk.say("Are you well?")
    expect(page.locator("#top .dot.good").first).to_be_visible()
    green = page.evaluate(COLOUR)
    page.evaluate(SEEN, False)
    page.route("**/api/events*", lambda route: route.abort("connectionrefused"))
    page.evaluate(SEEN, True)
    expect(page.locator("#live")).to_have_text("waiting for the gateway")
    assert page.evaluate(COLOUR) != green
    page.unroute("**/api/events*")
    expect(page.locator("#live")).to_have_text("live", timeout=60_000)
    assert page.evaluate(COLOUR) == green


def test_a_page_whose_session_ended_elsewhere_does_not_call_itself_live(visits: Callable[..., Visit], talk: Talk) -> None:
    visit = visits()
    visit.allow("401")
    page = watched(visit)
    other = visit.context.new_page()
    other.goto("/usage")
    other.get_by_role("button", name="Log out").click()
    expect(other.locator("h1")).to_have_text("You are not logged in")
    page.bring_to_front()
    talk.say("Is anybody there?")
    expect(page.locator("#live")).to_have_text("the session ended: clew ui gives a new link")


SLOW = """
turn:
  think: This takes a while.
  pause: 4
  text: But here it is.
"""


def bodies_of(demo: Demo) -> Any:
    """Of the last exchange: they are written behind it."""
    (last,) = demo.api("/api/exchanges?limit=1")["exchanges"]
    return demo.api(f"/api/exchanges/{last['id']}")["bodies"]


def test_a_long_answer_is_seen_while_it_lasts_and_its_timeline_says_where_the_time_went(
    browser_at: Callable[..., Visit],
) -> None:
    """It takes some seconds, since that is what it is about: an answer that lasts."""
    with Staged(SLOW) as stage, Talk(stage.demo) as talk, ThreadPoolExecutor(1) as aside:
        page = watched(browser_at(stage.demo))
        answer = aside.submit(talk.say, "Slowly, please")
        row = page.locator("#rows tr").first
        expect(row).to_contain_text("under way")
        expect(row).to_contain_text("end_turn")
        answer.result(120)
        until(lambda: bodies_of(stage.demo))
        row.locator("a").first.click()
        thinking = page.locator(".phases li", has_text="thinking").locator(".muted")
        expect(thinking).to_have_text(re.compile(r"^[1-9]\.[0-9] s$"))


def test_a_chip_says_its_reasons_to_pointer_and_keyboard(visit: Visit, talk: Talk, demo: Demo) -> None:
    talk.say("One")
    demo.api("/api/use", method="POST", body={"backend": "other"})
    talk.say("Two")
    page = watched(visit)
    chip = page.locator("#rows tr").first.locator(".chip.left-out")
    reason = page.locator("#rows tr").first.locator(".tip:has(.left-out) .tip-text")
    expect(reason).to_be_hidden()
    chip.hover()
    expect(reason).to_contain_text("made by claude")
    page.mouse.move(0, 0)
    expect(reason).to_be_hidden()
    chip.focus()
    expect(reason).to_be_visible()
    box, width = reason.bounding_box(), page.viewport_size
    assert box is not None and width is not None and box["x"] >= 0 and box["x"] + box["width"] <= width["width"]
    page.keyboard.press("Escape")
    expect(reason).to_be_hidden()
    page.locator("#rows tr").first.locator(".of-thread a").click()
    chip = page.locator(".turn .chip.left-out").first
    chip.hover()
    box, place = page.locator(".turn .tip:has(.left-out) .tip-text").first.bounding_box(), chip.bounding_box()
    assert box is not None and place is not None and (box["x"], abs(box["y"] - place["y"]) < 60.0) == (place["x"], True)


def test_everything_or_a_part_of_it_is_switched_by_hand(visit: Visit, talk: Talk, demo: Demo) -> None:
    page = watched(visit)
    page.get_by_role("button", name="other", exact=True).click()
    expect(page.locator(".notice", has_text="All requests go to other now")).to_be_visible()
    expect(page.get_by_role("button", name="other", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="other", exact=True)).to_be_focused()
    expect(page.locator(".active-backend")).to_have_text("other")
    page.get_by_text("Send some requests elsewhere").click()
    page.get_by_label("Sub-agents").select_option("deepseek")
    expect(page.locator(".notice", has_text="Sub-agents: deepseek from now on")).to_be_visible()
    status = demo.api("/api/status")
    assert (status["active"], [rule["agent"] for rule in status["chosen"]]) == ("other", ["*"])
    talk.say("Stay here")
    page.get_by_label("Stay here").select_option("other")  # the page is not told of pins that are set elsewhere
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator(".pins")).to_have_count(0)
    expect(page.locator("[data-part='switches']")).to_have_attribute("open", "")
    page.get_by_role("button", name="Use the settings again").click()
    expect(page.get_by_role("button", name="claude", exact=True)).to_have_attribute("aria-pressed", "true")


def test_a_switch_that_somebody_else_made_is_seen(visit: Visit, talk: Talk, demo: Demo) -> None:
    page = watched(visit)
    demo.clew("use", "deepseek")
    expect(page.get_by_role("button", name="deepseek", exact=True)).to_have_attribute("aria-pressed", "true")


def test_one_request_is_followed_from_the_client_to_the_backend(visit: Visit, talk: Talk, demo: Demo) -> None:
    demo.api("/api/use", method="POST", body={"backend": "deepseek"})
    talk.say("Translate this")
    until(lambda: bodies_of(demo))
    page = watched(visit)
    page.locator("#rows tr").first.locator("a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("deepseek")
    expect(page.locator(".diff")).to_be_visible()
    expect(page.locator(".diff ins").first).to_contain_text("deepseek")
    page.get_by_text("Headers to the backend").click()
    expect(page.locator(".headers", has_text="authorization")).to_contain_text("[redacted]")
    expect(page.locator(".phases")).to_contain_text("thinking")


def test_a_backend_is_tried_with_a_click(visit: Visit) -> None:
    page = visit.open("/backends")
    claude = page.locator("#claude")
    claude.get_by_role("button", name="Test").click()
    expect(claude.locator(".trial")).to_contain_text("works")
    expect(claude.locator(".trial")).to_contain_text("thinking blocks")


def test_the_doctor_looks_when_the_page_is_opened(visit: Visit) -> None:
    page = visit.open("/doctor")
    expect(page.locator("#checks")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#checks")).to_contain_text("3 backends, claude is active")


def test_usage_is_drawn_and_goes_out_as_csv(visit: Visit, talk: Talk, tmp_path: Path) -> None:
    talk.say("Count this")
    page = visit.open("/usage?since=7d&by=model")
    page.get_by_role("link", name="backend", exact=True).click()
    expect(page.locator(".used").first.locator("tr", has_text="claude")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    download.value.save_as(tmp_path / "usage.csv")
    rows = list(csv.DictReader((tmp_path / "usage.csv").read_text().splitlines()))
    assert any(row["backend"] == "claude" and int(row["output"]) > 0 for row in rows)
    page.get_by_role("link", name="30 days").click()
    page.wait_for_url("**/usage?since=30d&by=backend")
    page.locator(".used").first.get_by_role("link", name="claude", exact=True).click()
    expect(page.get_by_role("link", name="Show not only backend claude")).to_be_visible()


def test_the_keyboard_leads_everywhere(visit: Visit, talk: Talk) -> None:
    talk.say("A row to walk to")
    page = watched(visit)
    page.keyboard.press("j")
    expect(page.locator("#rows tr").first.locator("a").first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url("**/doctor")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_keys_can_be_switched_off(visit: Visit) -> None:
    """WCAG 2.1.4."""
    page = watched(visit)
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("single keys work").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.url.endswith("/")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_theme_that_was_chosen_stays(visits: Callable[..., Visit], scheme: str) -> None:
    """It overrides the system's, and the server paints it before any script runs."""
    visit = visits(color_scheme=scheme)
    page = visit.open("/")
    button = page.locator("[data-theme-switch]")
    for theme in ("dark", "light"):
        button.click()
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(18, 20, 22)") == (theme == "dark")
    button.click()
    page.reload()
    assert page.locator("html").get_attribute("data-theme") is None


def test_a_browser_logs_out(visits: Callable[..., Visit]) -> None:
    visit = visits()
    visit.allow("401")
    watched(visit).get_by_role("button", name="Log out").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("You are not logged in")
    assert "You are not logged in" in visit.open("/threads").inner_text("main")


def test_a_session_that_ended_is_said_where_it_was_live(visits: Callable[..., Visit], demo: Demo) -> None:
    visit = visits()
    page = watched(visit)
    visit.allow("401")
    visit.context.clear_cookies()
    page.get_by_role("button", name="other", exact=True).click()
    expect(page.locator(".notice.bad")).to_contain_text("not logged in")
    expect(page.locator(".notice.bad")).to_contain_text("clew ui")
