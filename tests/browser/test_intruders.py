"""Pages of other sites, and anyone who got hold of a cookie or a link: refused."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.demo import Demo
from tests.browser.visit import Visit
from tests.manifest import proves

pytestmark = pytest.mark.slow

TRIES = """async (admin) => {
  const told = {};
  const body = JSON.stringify({ backend: "other" });
  const tried = async (name, work) => { told[name] = await work().catch(() => "refused"); };
  const fetched = async (path, options) => {
    const answer = await fetch(admin + path, { credentials: "include", ...options });
    return answer.type === "opaque" ? "nothing to read" : await answer.text();
  };
  const post = (type, mode) => ({ method: "POST", mode, headers: { "content-type": type }, body });
  const opened = (source, good) => new Promise((resolve) => {
    source.addEventListener(good, () => resolve("open"));
    source.addEventListener("error", () => resolve("refused"));
  });
  const put = (tag, address) => {
    const made = Object.assign(document.createElement(tag), { src: admin + address });
    document.body.append(made);
    return opened(made, "load");
  };
  await tried("read", () => fetched("/api/threads"));
  await tried("read blindly", () => fetched("/api/threads", { mode: "no-cors" }));
  await tried("post as a form does", () => fetched("/api/use", post("text/plain", "no-cors")));
  await tried("post JSON", () => fetched("/api/use", post("application/json", "cors")));
  await tried("delete", () => fetched("/api/session", { method: "DELETE" }));
  await tried("EventSource", () => opened(new EventSource(admin + "/api/events", { withCredentials: true }), "open"));
  await tried("WebSocket", () => opened(new WebSocket(admin.replace("http", "ws") + "/api/events"), "open"));
  await tried("script", () => put("script", "/api/threads"));
  await tried("image", () => put("img", "/"));
  return told;
}"""
NOTHING = {
    "read": "refused",
    "read blindly": "refused",
    "post as a form does": "refused",
    "post JSON": "refused",
    "delete": "refused",
    "EventSource": "refused",
    "WebSocket": "refused",
    "script": "refused",
    "image": "refused",
}
FORM = """(admin) => {
  const form = Object.assign(document.createElement("form"), { method: "POST", action: admin + "/api/use", enctype: "text/plain" });
  form.append(Object.assign(document.createElement("input"), { name: '{"backend":"other","x":"', value: '"}' }));
  document.body.append(form);
  form.submit();
}"""

FRAME = """(admin) => new Promise((resolve) => {
  const frame = Object.assign(document.createElement("iframe"), { src: admin + "/threads", onload: resolve });
  document.body.append(frame);
})"""


class _Evil(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A nice page</title><body>Nothing to see.")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def evil() -> Iterator[str]:
    """The address of a page of another site, on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Evil)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://evil.test:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def abroad(visit: Visit, evil: str) -> Page:
    """That page, in a browser that is logged in at the admin."""
    visit.allow("")
    return visit.open(evil)


def active(demo: Demo) -> str:
    return demo.api("/api/status")["active"]


@proves("fault:X2")
def test_a_page_of_another_site_reads_and_changes_nothing(abroad: Page, demo: Demo) -> None:
    assert abroad.evaluate(TRIES, demo.admin) == NOTHING
    assert active(demo) == "claude"


@proves("fault:X2", "fault:X19")
def test_nor_does_a_form_on_it(abroad: Page, demo: Demo) -> None:
    with abroad.expect_navigation() as coming:
        abroad.evaluate(FORM, demo.admin)
    assert coming.value.status == 403
    assert active(demo) == "claude"


@proves("fault:X2")
def test_nor_can_it_hold_a_page_in_a_frame(abroad: Page, demo: Demo) -> None:
    """Clicks cannot be stolen."""
    abroad.evaluate(FRAME, demo.admin)
    assert "Threads" not in "".join(each.content() for each in abroad.frames)


@proves("fault:X2")
def test_a_name_that_was_bound_to_this_machine_opens_nothing(visit: Visit, demo: Demo) -> None:
    """DNS rebinding: the page would be of one origin with the admin, by a name that is not the admin's."""
    visit.allow("")
    port = demo.admin.rpartition(":")[2]
    for path in ("/", "/threads", "/api/threads", "/healthz", "/static/x/clew.css"):
        response = visit.page.goto(f"http://evil.test:{port}{path}")
        assert response is not None
        assert (response.status, "421" in response.text() or "not the server" in response.text()) == (421, True)


@proves("fault:X19")
def test_a_script_of_the_page_itself_cannot_read_the_cookie(visit: Visit) -> None:
    cookies = {cookie["name"]: cookie for cookie in visit.context.cookies()}
    name = next(name for name in cookies if name.startswith("clew_session"))
    assert (cookies[name]["httpOnly"], cookies[name]["sameSite"]) == (True, "Strict")
    assert "clew_session" not in visit.page.evaluate("document.cookie")


@proves("fault:X19")
def test_a_change_without_its_token_is_refused_from_the_page_itself(visit: Visit, demo: Demo) -> None:
    """The cookie alone changes nothing, anyone who sends it."""
    visit.allow("403")
    post = """(headers) => fetch("/api/use", { method: "POST", body: '{"backend":"other"}',
      headers: { "content-type": "application/json", ...headers } }).then((answer) => answer.status)"""
    assert [visit.page.evaluate(post, headers) for headers in ({}, {"x-clew-csrf": "guessed"})] == [403, 403]
    assert active(demo) == "claude"


@proves("fault:X19")
def test_a_session_that_somebody_prepared_is_never_taken_over(browser: Browser, demo: Demo) -> None:
    """Session fixation: the login makes a new secret, and the one that was planted opens nothing."""
    port = demo.admin.rpartition(":")[2]
    planted = {"name": f"clew_session_{port}", "value": "planted", "url": demo.admin}
    with Visit(browser, demo.admin) as visit:
        visit.context.add_cookies([planted])
        visit.open(demo.login_url())
        after = {cookie["name"]: cookie["value"] for cookie in visit.context.cookies()}
        assert after[planted["name"]] not in ("", "planted")
    with Visit(browser, demo.admin) as other:
        other.allow("401")
        other.context.add_cookies([planted])
        assert "You are not logged in" in other.open("/threads").inner_text("main")


@proves("fault:X19")
def test_a_link_works_once_and_a_session_that_was_ended_is_over(visits: Callable[..., Visit], demo: Demo) -> None:
    visit = visits()
    visit.allow("401")
    link = demo.login_url()
    visit.open(link)
    stolen = visit.context.cookies()
    visit.context.clear_cookies()
    response = visit.page.goto(link)
    assert response is not None and response.status == 401
    visit.context.add_cookies(stolen)
    page = visit.open("/threads")
    ended = """fetch("/api/session", { method: "DELETE",
      headers: { "x-clew-csrf": document.querySelector('meta[name="clew-csrf"]').content } }).then((answer) => answer.status)"""
    assert page.evaluate(ended) == 200
    visit.context.add_cookies(stolen)
    assert "You are not logged in" in visit.open("/threads").inner_text("main")
