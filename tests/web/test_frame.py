"""The frame: the way from page to page, the theme, problems as pages."""

import os

import pytest

from clew.settings.processes import RegisteredGateway, register
from clew.web.frame import NAVIGATION
from tests.admin.booth import Booth

pytestmark = pytest.mark.slow


def test_a_stranger_is_told_how_to_come_in_and_nothing_else(booth: Booth) -> None:
    """The logged-out page teaches; it names no backend."""
    reply = booth.ask("/", port=True)
    assert (reply.status, reply.headers["content-type"]) == (401, "text/html; charset=utf-8")
    text = reply.raw.decode()
    assert "clew serve" in text and "clew ui" in text
    assert "glm" not in text and "claude" not in text and "<nav" not in text


def test_a_link_that_was_used_says_how_to_get_another(booth: Booth) -> None:
    path = booth.admin.login_url.removeprefix(booth.admin.url)
    assert [booth.ask(path, port=True).status for _ in range(2)] == [303, 401]
    text = booth.ask(path, port=True).raw.decode()
    assert "This link does not work: it was already used, or is too old." in text and "clew ui" in text


def test_a_path_that_leads_nowhere_is_a_page_to_anyone_who_looks_for_one(booth: Booth) -> None:
    looking = {**booth.logged_in(), "accept": "text/html,*/*"}
    page, told = booth.ask("/nowhere", headers=looking, port=True), booth.ask("/nowhere", port=True)
    assert (page.status, told.status) == (404, 404)
    assert "There is no such path" in page.raw.decode() and "<nav" in page.raw.decode()
    assert told.json["error"]["what"] == "there is no such path"


def test_a_browser_that_came_in_sees_the_way_to_every_page(booth: Booth) -> None:
    text = booth.ask("/", headers=booth.logged_in(), port=True).raw.decode()
    assert [place.path for place in NAVIGATION if f'href="{place.path}"' not in text] == []
    assert text.count('aria-current="page"') == 1
    assert '<a class="skip" href="#main">' in text


def test_the_page_holds_what_a_change_must_carry(booth: Booth) -> None:
    """reliability 4.1: the second value, which no other page can read."""
    headers = booth.logged_in()
    text = booth.ask("/", headers=headers, port=True).raw.decode()
    assert f'<meta name="clew-csrf" content="{headers["x-clew-csrf"]}">' in text


def test_the_lines_that_connect_a_client_are_escaped_and_hold_no_key(booth: Booth) -> None:
    register(booth.home, RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:2539", name="one"))
    text = booth.ask("/").raw.decode()
    assert "clew run -- claude" in text
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:2539 ANTHROPIC_CUSTOM_HEADERS=&#34;x-clew-key: $CLEW_KEY&#34; claude" in text
    assert "<b>" not in text


@pytest.mark.parametrize(
    ("cookie", "theme"), [("dark", ' data-theme="dark"'), ("light", ' data-theme="light"'), ('"><b>', ""), ("", "")]
)
def test_the_theme_is_painted_by_the_server_and_only_if_it_is_one(kept_booth: Booth, cookie: str, theme: str) -> None:
    text = kept_booth.ask("/", headers={"cookie": f"clew_theme={cookie}"}).raw.decode()
    assert f'<html lang="en"{theme}>' in text


def test_a_config_that_was_not_taken_is_said_on_every_page(booth: Booth) -> None:
    booth.current.problem = "clew.toml:3: <oops>"
    assert "clew.toml:3: &lt;oops&gt;" in booth.ask("/").raw.decode()


def test_a_page_runs_no_script_that_stands_in_it(kept_booth: Booth) -> None:
    """reliability 4.7: CSP without inline scripts or styles."""
    text = kept_booth.ask("/").raw.decode()
    assert text.count("<script") == text.count('<script type="module" src="/static/')
    assert "style=" not in text and " onclick" not in text and "javascript:" not in text
