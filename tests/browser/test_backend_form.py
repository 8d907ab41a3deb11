"""Backends and keys in the browser: added, tested, edited and removed by somebody who never opens the file."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from clew.testing.simulator import Simulator
from tests.browser.axe import violations
from tests.browser.corpus import RUN
from tests.browser.demo import Demo
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

HOSTILE = f'"><img src=x onerror={RUN}>'


@pytest.fixture(scope="module")
def claude() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture(scope="module")
def demo(claude: Simulator) -> Iterator[Demo]:
    rows = "".join(f'{key} = "{value}"\n' for key, value in claude.backend.items())
    with Demo(f'active = "claude"\n# The main one.\n[backends.claude]\n{rows}') as demo:
        yield demo


def show_change(page: Page) -> None:
    page.get_by_role("button", name="Show the change").click()


def test_a_backend_is_added_with_a_key_tested_edited_and_removed(demo: Demo, visit: Visit, claude: Simulator) -> None:
    before = demo.config.read_text()
    visit.allow("status of 4")
    page = visit.open("/backends")
    page.get_by_role("button", name="Add a backend").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("second")
    dialog.get_by_label("URL").fill(HOSTILE)
    dialog.get_by_label("Key sent as").select_option("key")
    dialog.get_by_label("Key", exact=True).select_option("secret")
    dialog.get_by_label("New key").fill(claude.key)
    show_change(page)
    expect(dialog.get_by_role("alert")).to_contain_text("second.url: a URL must not contain spaces")
    dialog.get_by_label("URL").fill(claude.url)
    show_change(page)
    expect(dialog.locator("ins")).to_contain_text(["[backends.second]"])
    expect(dialog.locator(".diff")).not_to_contain_text(claude.key)
    assert violations(page) == []
    assert demo.config.read_text() == before
    dialog.get_by_role("button", name="Write it").click()
    row = page.locator("#second")
    row.get_by_role("button", name="Test").click()
    expect(row.locator(".trial strong")).to_have_text("works")
    row.get_by_role("button", name="Edit second").click()
    dialog.get_by_label("Model").fill("claude-opus-5-5")
    show_change(page)
    expect(dialog.locator("ins")).to_have_text('model = "claude-opus-5-5"')
    dialog.get_by_role("button", name="Write it").click()
    expect(row).to_contain_text("claude-opus-5-5")
    page.get_by_role("button", name="Remove claude").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The backend claude is in use")
    page.keyboard.press("Escape")
    row.get_by_role("button", name="Remove second").click()
    expect(dialog.locator("del")).to_contain_text(["[backends.second]"])
    dialog.get_by_role("button", name="Remove it").click()
    expect(row).to_have_count(0)
    assert demo.config.read_text().rstrip() == before.rstrip()
    assert page.evaluate("window.hacked") is None


def test_a_key_is_made_for_a_colleague_renewed_and_revoked(demo: Demo, visit: Visit) -> None:
    visit.allow("400")
    page = visit.open("/keys")
    expect(page.get_by_text("No named keys")).to_be_visible()
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill(HOSTILE)
    page.get_by_text("What it may use").click()
    page.get_by_role("dialog").get_by_label("Ends", exact=True).fill("yesterday")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("'yesterday' is not a time")
    page.get_by_role("dialog").get_by_label("Ends", exact=True).fill("2d")
    page.keyboard.press("Enter")
    made = page.locator("[data-made] code").first
    expect(made).to_contain_text("clew_")
    first = made.inner_text()
    lines = page.locator("[data-made]")
    expect(lines).to_contain_text(f"export ANTHROPIC_BASE_URL={demo.url} ANTHROPIC_AUTH_TOKEN={first}")
    expect(lines).to_contain_text(f"export OPENAI_BASE_URL={demo.url}/v1 OPENAI_API_KEY={first}")
    expect(lines).to_contain_text("This gateway listens on this machine only.")
    row = page.locator("tr", has_text=HOSTILE)
    row.get_by_role("button", name="Renew").click()
    page.get_by_role("dialog").get_by_role("button", name="Renew").click()
    expect(made).not_to_have_text(first)
    expect(row).to_contain_text("the old secret (")
    row.get_by_role("button", name="Edit").click()
    assert violations(page) == []
    page.get_by_role("dialog").get_by_label("Models", exact=True).fill(HOSTILE)
    page.keyboard.press("Enter")
    expect(row.locator(".may")).to_have_text(HOSTILE)
    expect(row).to_contain_text("in 47 h")
    page.reload()
    expect(made).to_have_count(0)
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No named keys")).to_be_visible()
    page.get_by_role("link", name="Audit").click()
    told = page.locator(".audit strong", has_text="key ")  # other tests change backends of this gateway
    expect(told).to_have_text(["key removed", "key edited", "key rotated", "key added"])
    assert page.evaluate("window.hacked") is None
