"""The example's page in a real browser, from another origin than the gateway: let in by name, with a key, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from clew.testing import Simulator
from tests.admin.booth import KEY
from tests.admin.chat.served import MODEL, ChatServer, configured
from tests.waiting import until

pytestmark = pytest.mark.slow

FILES = Path(__file__).parents[2] / "examples/page"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The example's files, as `python3 -m http.server` gives them."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=FILES)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def chat(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    wanted = f'[chat]\norigins = ["http://localhost:{port}"]\nmodel = "{MODEL}"\n'
    with (
        Simulator() as claude,
        ChatServer(configured(tmp_path_factory.mktemp("page") / "h", {"claude": claude}, wanted)) as server,
    ):
        yield server


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context() as context:
        yield context.new_page()


def say(page: Page, chat: ChatServer, words: str, key: str = KEY) -> None:
    page.get_by_label("Address of the admin").fill(chat.admin.url)
    page.get_by_label("Gateway key").fill(key)
    page.get_by_label("What to say").fill(words)
    page.get_by_role("button", name="Say").click()


def test_a_page_that_the_settings_name_holds_a_conversation(page: Page, chat: ChatServer, port: int) -> None:
    page.goto(f"http://localhost:{port}/")
    say(page, chat, "Hello. [[scenario:thinking]]")
    expect(page.locator(".reasoning")).not_to_be_empty()
    expect(page.locator(".text")).not_to_be_empty()
    [thread] = chat.call_api("/api/chat").json["threads"]
    until(lambda: [each.outcome for each in chat.store.exchanges("local", thread=thread["id"])] == ["whole"])
    answered = chat.messages(thread["id"])[1]
    expect(page.locator(".text")).to_have_text(answered["parts"][-1]["text"])
    expect(page.locator(".error")).to_have_count(0)


def test_a_key_that_opens_nothing_is_told_to_the_page(page: Page, chat: ChatServer, port: int) -> None:
    page.goto(f"http://localhost:{port}/")
    say(page, chat, "Hello.", key="wrong")
    expect(page.locator(".error")).to_contain_text("no valid key")


def test_the_same_page_under_another_name_is_refused_by_the_browser(page: Page, chat: ChatServer, port: int) -> None:
    before = len(chat.call_api("/api/chat").json["threads"])
    page.goto(f"http://127.0.0.1:{port}/")
    say(page, chat, "Hello.")
    expect(page.locator(".error")).to_contain_text("Failed to fetch")
    assert len(chat.call_api("/api/chat").json["threads"]) == before
