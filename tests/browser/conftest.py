"""One Chromium for the whole package, one demo for a module, one visit for a test.

The browser lives as long as the package and no longer: playwright's blocking interface keeps a loop in this thread, in which
tests of other packages could not run theirs.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.chromium import chromium, environment
from tests.browser.demo import Demo
from tests.browser.visit import WAIT_MS, Visit

ARGUMENTS = (
    "--no-sandbox",  # tests run as root, too
    "--disable-gpu",
    "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
"""Whatever a page would call outside cannot be found; evil.test is this machine under a name that is not its own."""

expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS, env=environment(executable))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """A gateway with three simulated backends. Tests of a module share it, and what is in its store."""
    with Demo() as demo:
        yield demo


@pytest.fixture
def visits(browser_at: Callable[..., Visit], demo: Demo) -> Callable[..., Visit]:
    """`visits(color_scheme="dark")` is a browser that is logged in, with a context of its own."""
    return partial(browser_at, demo)


@pytest.fixture
def visit(visits: Callable[..., Visit]) -> Visit:
    """A browser that is logged in."""
    return visits()


@pytest.fixture
def browser_at(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """A browser that is logged in at another gateway than the module's."""
    with ExitStack() as stack:

        def begin(demo: Demo, **context: Any) -> Visit:
            visit = stack.enter_context(Visit(browser, demo.admin, **context))
            visit.open(demo.login_url())
            return visit

        yield begin
