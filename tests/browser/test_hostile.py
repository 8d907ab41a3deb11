"""Whatever a model, a tool, a client or a file says: no script runs, no request leaves, the log of the policy is empty."""

import json
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.turn import Bodies, TokenUsage, Try
from clew.store.sqlite.store import SqliteStore
from clew.web import routes
from tests.browser.axe import violations
from tests.browser.corpus import AWAY, CORPUS, RUN, WHOLE
from tests.browser.demo import Demo
from tests.browser.staged import Staged, lines
from tests.browser.visit import Visit
from tests.build import text, thinking, tool_use
from tests.manifest import proves
from tests.store.turns import recorded, turn
from tests.waiting import until

pytestmark = pytest.mark.slow

NAME = f"\"><img src=x onerror={RUN}>'</script><script>{RUN}</script>&amp;"
"""A name that is none: of a tool, a model, a backend, an agent, a thread."""
SHORT = f'"><img src=x onerror={RUN}>'
"""The same for fields that have a longest name."""
BACKEND = f"""dialect = "openai-chat"
url = {json.dumps("http://127.0.0.1:1/" + SHORT.replace(" ", "/"))}
key = "k"
model = {json.dumps(SHORT)}
realm = {json.dumps(SHORT)}
"""
CONFIG = f"""active = "claude"
# {SHORT}
[chat]
system = {json.dumps(WHOLE)}
model = {json.dumps(SHORT)}
""" + "".join(f"[backends.{name}]\n{BACKEND}" for name in ("claude", "other", "deepseek"))
THREAD = "hostile"


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """Its settings are hostile, too: they may be copied from anywhere."""
    with Demo(CONFIG) as demo:
        yield demo


@pytest.fixture(scope="module")
def hostile(demo: Demo) -> Demo:
    """A thread in which every word is an attack, and every name, too."""
    blocks = (
        thinking(WHOLE, "signature"),
        text(WHOLE),
        tool_use("toolu_1", **{NAME: WHOLE}) | {"name": NAME},
        {"type": NAME},
    )
    answer = recorded(
        "hostile1",
        thread=THREAD,
        origin=Origin(NAME, NAME, NAME),
        blocks=tuple(json.dumps(block).encode() for block in blocks),
        session="s",
        agent="",
    )
    more = {"backend": NAME, "model": NAME, "asked_model": NAME, "stop_reason": NAME, "request_id": NAME, "agent": NAME}
    more |= {"dialect": NAME, "key": SHORT, "team": SHORT, "usage": TokenUsage(input=5, output=5)}
    changes = (Change(NAME, "messages.0.content.0", "left out", NAME), Change(NAME, NAME, "set", NAME))
    bodies = Bodies(asked=WHOLE.encode(), sent=json.dumps({NAME: WHOLE}).encode(), answered=WHOLE.encode())
    first = turn(answer, changes=changes, bodies=bodies, **more)
    asked = [{"role": NAME, "content": WHOLE}, {"role": "user", "content": [text(WHOLE), _picture(), _result()]}]
    with SqliteStore(demo.home / "clew.db") as store:
        first = type(first)(
            exchange=first.exchange,
            recording=answer,
            asked=tuple(json.dumps(message).encode() for message in asked),
            title=NAME,
            bodies=bodies,
        )
        assert store.record(first).result(120)
        tries = (Try(backend=NAME, status=500, why=WHOLE), Try(backend="claude", status=500, why=WHOLE))
        last = {"agent": "", "backend": "claude", "tries": tries}
        failed = turn(exchange=f"x-{NAME}", thread=THREAD, outcome="failed", **{**more, **last})
        assert store.record(failed).result(120)
    demo.api("/api/keys", method="POST", body={"name": SHORT, "team": SHORT, "models": SHORT})
    demo.api("/api/limits", method="PUT", body={"scope": f"key:{SHORT}", "amount": "5usd/1d"})
    demo.api("/api/use", method="POST", body={"backend": "claude", "thread": THREAD})
    return demo


def _picture() -> dict[str, object]:
    return {"type": "image", "source": {"type": "url", "media_type": NAME, "url": AWAY}, "title": NAME}


def _result() -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "elsewhere", "is_error": True, "content": WHOLE}


def addresses() -> Iterator[str]:
    """Every page that there is, with the hostile things on it."""
    for page in routes():
        if page.method != "GET" or page.path.startswith("/static") or page.path.endswith(".csv"):
            continue
        yield page.path.replace("{id}", quote("x-hostile1" if "exchanges" in page.path else THREAD))
    yield from (f"{path}?principal={quote(NAME)}" for path in ("/", "/threads", f"/threads/{THREAD}", "/usage"))
    yield from (f"/usage?since=365d&by={field}&key={quote(SHORT)}" for field in ("key", "team", "thread", "model"))
    yield from (f"/threads?client={quote(NAME)}", f"/threads/{THREAD}?form=client", f"/chat/{THREAD}")
    yield from (f"/threads?q={quote(NAME)}", "/threads?q=click", f"/exchanges/{quote(f'x-{NAME}', safe='')}")
    yield from (f"/threads/{THREAD}?as={backend}" for backend in ("claude", "other", "deepseek"))
    yield from (
        f"/threads/{quote(NAME, safe='')}",
        f"/threads/{THREAD}?at={quote(NAME)}&as={quote(NAME)}",
        f"/{quote(NAME)}",
    )


def open_all(page: Page) -> None:
    """Every fold, and everything that is shown to anyone who points at it."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    page.evaluate("document.querySelectorAll('.turn, .pair').forEach((each) => each.scrollIntoView())")


@proves("fault:X9", "fault:X10")
def test_no_page_runs_or_fetches_what_was_said(hostile: Demo, visit: Visit) -> None:
    visit.allow("status of 40[0-9]")
    seen = 0
    for address in addresses():
        page = visit.open(address)
        open_all(page)
        assert page.evaluate("window.hacked") is None, address
        seen += page.content().count("onerror")
    assert seen > 100, "the attacks are on the pages, as text"


@proves("fault:X10")
def test_dialogs_and_a_config_that_is_refused_show_words(hostile: Demo, visit: Visit) -> None:
    visit.allow("status of 40[0-9]")
    page = visit.open("/backends")
    for button in ("Edit claude", "Remove other"):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        if button.startswith("Edit"):
            page.get_by_label("Model").fill("m")
            page.get_by_role("button", name="Show the change").click()
        expect(page.locator(".diff")).to_contain_text("onerror=")
        page.keyboard.press("Escape")
    page = visit.open("/threads")
    page.get_by_role("checkbox", name="Select").first.check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("onerror=")
    assert violations(page) == []
    page = visit.open("/keys")
    for button in ("Edit", "Renew", "Revoke"):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_contain_text("onerror=")
        page.keyboard.press("Escape")
    hostile.config.write_text(f"{CONFIG}[backends.{json.dumps(SHORT)}]\n{BACKEND}")
    until(lambda: hostile.api("/api/status")["settings_problem"])
    expect(visit.open("/").get_by_role("alert")).to_contain_text("onerror=")
    assert page.evaluate("window.hacked") is None


@proves("fault:X10")
def test_a_link_is_followed_only_after_its_host_was_shown(hostile: Demo, visit: Visit) -> None:
    page = visit.open(f"/threads/{THREAD}")
    open_all(page)
    link = page.locator("a.outside", has_text="your bank").first
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    link.click()
    expect(page.get_by_role("dialog").locator(".host")).to_have_text("evil.test")
    page.get_by_role("button", name="Cancel").click()
    assert visit.offences == [] and len(visit.context.pages) == 1
    visit.allow("evil.test")
    link.click()
    with visit.context.expect_page() as coming:
        page.get_by_role("button", name="Open it").click()
    visit.until(lambda: any("request: https://bank.example@evil.test/" in each for each in visit.offences))
    assert coming.value.evaluate("window.opener") is None


@pytest.fixture(scope="module")
def stage() -> Iterator[Staged]:
    said = lines("\n\n".join(each for each in CORPUS if "{{" not in each))
    with Staged(f"turn:\n  think: {said}\n  text: {said}\n") as stage:
        yield stage


@proves("fault:X9", "fault:X10")
def test_nor_does_a_chat_while_it_comes(stage: Staged, browser_at: Callable[[Demo], Visit]) -> None:
    visit = browser_at(stage.demo)
    page = visit.open("/chat")
    page.get_by_label("Message").fill(WHOLE)
    page.keyboard.press("Enter")
    expect(page.locator(".turn-buttons")).to_have_count(1)
    open_all(page)
    assert page.evaluate("window.hacked") is None
    assert page.locator(".assistant a.outside").count() > 3
    assert (
        page.locator("main :is(script, img, iframe, svg, style, form:not(.composer, dialog form), object, video)").count()
        == 0
    )


@proves("fault:X9")
def test_a_refusal_is_shown_as_words(stage: Staged, browser_at: Callable[[Demo], Visit]) -> None:
    visit = browser_at(stage.demo)
    page = visit.open("/chat")
    stage.model.fault(f"status 400 type=invalid_request_error message='<img src=x onerror={RUN}> [x](javascript:{RUN})'")
    page.get_by_label("Message").fill("Go on")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(f"<img src=x onerror={RUN}>")
    assert page.evaluate("window.hacked") is None
    page.reload()
    assert page.evaluate("window.hacked") is None
