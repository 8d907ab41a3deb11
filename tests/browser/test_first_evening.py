"""The first evening with clew, in a browser: from the empty page to a conversation that was switched, looked at and deleted.

The tests of this module share one demo. Those that need a conversation get one of their own, so each runs alone, too.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from clew.chat.formats import FORMATS
from tests.browser.demo import Demo
from tests.browser.talk import Talk
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

CLOCK = r"\d\d:\d\d(:\d\d)?"


def ask(page: Page, words: str, backend: str = "") -> None:
    """Say it, and wait for the end of the answer."""
    before = page.locator("[data-turn]").count()
    if backend:
        page.get_by_label("Backend").select_option(backend)
    page.get_by_label("Message").fill(words)
    page.keyboard.press("Enter")
    expect(page.locator("[data-turn]")).to_have_count(before + 1)
    expect(page.locator(".turn-buttons")).to_have_count(before + 1)


def answer(page: Page, number: int) -> str:
    return page.locator("[data-turn]").nth(number).locator(".assistant .prose").last.inner_text()


def test_an_empty_gateway_teaches_how_to_begin(browser_at: Callable[..., Visit]) -> None:
    """The first start: empty states with the lines to connect Claude Code, and the way to the chat."""
    with Demo() as fresh:
        page = browser_at(fresh).page
        expect(page.get_by_role("heading", level=1)).to_have_text("Now")
        expect(page.get_by_role("main")).to_contain_text("clew run -- claude")
        page.get_by_role("link", name="Threads").click()
        expect(page.get_by_role("heading", name="No thread yet")).to_be_visible()
        expect(page.locator("#connect")).to_contain_text("ANTHROPIC_BASE_URL=")
        page.get_by_role("main").get_by_role("link", name="Chat").click()
        expect(page.get_by_role("heading", name="Ask something")).to_be_visible()
        expect(page.get_by_label("Message")).to_be_enabled()  # its scripts have come: the gateway may end


def test_a_switch_in_mid_conversation_is_seen_with_its_reason(visit: Visit) -> None:
    """Chat with thinking, switch, see the Change; then the thread, as another backend would get it."""
    page = visit.open("/chat")
    ask(page, "Why is the sky blue?")
    assert answer(page, 0) == "You said: “Why is the sky blue?”"
    expect(page.locator("details.thought")).to_have_count(1)
    expect(page.locator("details.thought")).not_to_have_attribute("open", "")
    ask(page, "And at night?", backend="deepseek")
    second = page.locator("[data-turn]").nth(1)
    expect(second.locator(".who").last).to_contain_text("deepseek")
    chip = second.locator(".chip.left-out")
    expect(chip).to_have_text("1 left out")
    chip.hover()
    expect(second.locator(".tip-text").first).to_contain_text("made by claude")
    ask(page, "On Mars?", backend="claude")
    expect(page.locator("[data-turn]").nth(2).locator(".chip.kept")).to_have_text("1 kept")

    page.get_by_role("link", name="See the thread").click()
    expect(page.locator("article.turn")).to_have_count(3)
    badges = page.locator(".thought .origin")
    assert [badge.partition(",")[0] for badge in badges.all_inner_texts()] == ["claude", "deepseek", "claude"]

    page.get_by_role("navigation", name="How to show it").get_by_role("link", name="claude").click()
    changes = page.locator(".part.left-out .change")
    expect(changes).to_have_count(1)
    expect(changes).to_contain_text("made by deepseek")
    expect(page.locator(".change.kept")).to_have_count(2)
    kept = page.locator(".side.sent .thought")
    expect(kept).to_have_count(2)


def test_a_page_that_is_loaded_again_looks_as_it_did(visit: Visit) -> None:
    page = visit.open("/chat")
    ask(page, "Say **this** in [[scenario:interleaved]] pieces")
    ask(page, "And [this](https://example.org/) too", backend="other")
    before = [turn.inner_text().split("\n", 2)[2] for turn in page.locator(".assistant").all()]
    page.reload()
    assert [turn.inner_text().split("\n", 2)[2] for turn in page.locator(".assistant").all()] == before


def test_other_words_make_a_branch_and_both_stay(visit: Visit) -> None:
    page = visit.open("/chat")
    ask(page, "One?")
    ask(page, "Two?")
    words = page.get_by_label("Ask in other words")
    page.get_by_role("button", name="Edit").nth(1).click()
    words.press("Escape")
    expect(words).to_have_count(0)
    page.get_by_role("button", name="Edit").nth(1).click()
    words.fill("")
    words.press("Enter")  # says nothing, and so does nothing
    words.fill("Or two and a half?")
    words.press("Enter")
    ways = page.get_by_role("navigation", name="Branches after turn 1")
    expect(ways.get_by_role("link")).to_have_text(
        [re.compile(rf"^1: Two\? \w+ {CLOCK}$"), re.compile(rf"^2: Or two and a half\? \w+ {CLOCK}$")]
    )
    assert answer(page, 1) == "You said: “Or two and a half?”"
    ways.get_by_role("link", name="1: Two?").click()
    expect(page.locator("[data-turn]")).to_have_count(2)
    assert answer(page, 1) == "You said: “Two?”"
    page.get_by_role("button", name="Retry").first.click()
    begun = page.get_by_role("navigation", name="Branches at the beginning")
    expect(begun.get_by_role("link")).to_have_text([re.compile(rf"^{number}: One\? \w+ {CLOCK}$") for number in (1, 2)])
    page.get_by_role("link", name="See the thread").click()
    expect(page.locator(".tree li")).to_have_count(4)


def test_words_are_found_and_lead_to_their_turn(visit: Visit, demo: Demo) -> None:
    with Talk(demo) as talk:
        talk.say("A lighthouse with a Fresnel lens")
        talk.say("And its keeper?")
    page = visit.open("/threads")
    page.keyboard.press("/")
    page.keyboard.type('keep "its keeper"')
    page.keyboard.press("Enter")
    found = page.locator(".found li")
    expect(found.first).to_contain_text("A lighthouse with a Fresnel lens")
    assert found.first.locator("mark").all_inner_texts() == ["its keeper"]
    found.first.get_by_role("link").click()
    wanted = page.locator("[data-wanted]")
    expect(wanted).to_contain_text("And its keeper?")
    expect(wanted).to_be_in_viewport()
    page.goto("/threads?q=nobodysaidthis")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()


def test_a_thread_goes_out_in_every_format(visit: Visit, demo: Demo, tmp_path: Path) -> None:
    with Talk(demo) as talk:
        talk.say("Something to take along")
    page = visit.open(f"/threads/{newest(demo)}")
    page.get_by_text("Export", exact=True).click()
    for name, format in FORMATS.items():
        with page.expect_download() as coming:
            page.locator(".menu").get_by_role("link", name=name, exact=True).click()
        file = tmp_path / coming.value.suggested_filename
        coming.value.save_as(file)
        assert file.name.endswith(format.suffix)
        assert "Something to take along" in file.read_text()


def test_a_thread_gets_another_title_and_goes_for_good_when_asked_twice(visit: Visit, demo: Demo) -> None:
    with Talk(demo) as talk:
        talk.say("A thing to forget")
    id = newest(demo)
    page = visit.open(f"/threads/{id}")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").fill("  Another   <b>name</b> ")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Another <b>name</b>")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Cancel").click()
    assert demo.asked(f"/api/threads/{id}")[0] == 200
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    page.wait_for_url("**/threads")
    assert demo.asked(f"/api/threads/{id}")[0] == 404
    visit.allow("404")
    page.goto(f"/threads/{id}")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such thread")


def test_the_list_is_live_while_a_client_talks(visit: Visit, demo: Demo) -> None:
    """The official SDK talks through the gateway, and nobody reloads anything."""
    page = visit.open("/threads")
    expect(page.locator("[data-live]")).to_contain_text("live")
    with Talk(demo) as talk:
        talk.say("Live and in colour")
        row = page.locator("tr", has_text="Live and in colour")
        expect(row.locator(".number").first).to_have_text("1")
        talk.say("Once more")
        expect(row.locator(".number").first).to_have_text("2")


def test_the_list_is_live_under_a_keyboard_too(visit: Visit, demo: Demo) -> None:
    """The link that has the focus keeps it, and moves with its row."""
    with Talk(demo) as talk, Talk(demo) as other:
        talk.say("Held by the keyboard")
        page = visit.open("/threads")
        expect(page.locator("[data-live]")).to_contain_text("live")
        held = page.get_by_role("link", name="Held by the keyboard")
        held.focus()
        other.say("New above it")
        expect(page.locator("tbody tr").first).to_contain_text("New above it")
        expect(held).to_be_focused()


def test_sub_agents_stand_in_the_tree_and_tools_with_their_results(visit: Visit, demo: Demo) -> None:
    with Talk(demo, session="tree", tools=True) as talk:
        said = talk.say("What is the weather in Oslo? [[scenario:interleaved]]")
        talk.bring(said, "Four degrees, rain")
        main = newest(demo)
        with Talk(demo, session="tree", agent="scout") as other:
            other.say("Look into umbrellas")
    page = visit.open(f"/threads/{main}")
    call = page.locator("details.tool").first
    expect(call.locator("summary")).to_contain_text("done")
    call.locator("summary").click()
    assert call.locator("pre").all_inner_texts()[-1] == "Four degrees, rain"
    page.locator(".tree").get_by_role("link", name="Look into umbrellas").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Look into umbrellas")


@pytest.mark.parametrize(("scenario", "chip"), [("redacted", "redacted"), ("omitted", "hidden")])
def test_thinking_that_cannot_be_read_is_marked(visit: Visit, scenario: str, chip: str) -> None:
    page = visit.open("/chat")
    ask(page, f"Think [[scenario:{scenario}]]")
    expect(page.locator(".thought .chip", has_text=chip).first).to_be_visible()
    page.reload()
    expect(page.locator(".thought .chip", has_text=chip).first).to_be_visible()


def test_a_thread_can_be_read_without_any_script(visits: Callable[..., Visit], demo: Demo) -> None:
    with Talk(demo) as talk:
        talk.say("Plain reading")
    page = visits(java_script_enabled=False).open(f"/threads/{newest(demo)}")
    expect(page.locator("article.turn")).to_contain_text("Plain reading")
    expect(page.get_by_role("button", name="Delete")).to_be_hidden()


def newest(demo: Demo) -> str:
    return demo.api("/api/threads?limit=1")["threads"][0]["id"]
