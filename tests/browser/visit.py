"""A visit: one browser context for one test, which takes down all that a page must never do.

A test fails at its end for every line of error in the console, every violation of the content security policy, every request
to another host, every dialog and every exception that it did not announce with `allow`.
"""

import re
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

TELL_VIOLATIONS = """document.addEventListener("securitypolicyviolation",
  (event) => console.error(`csp: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`))"""
WAIT_MS = 120_000.0
"""As long as a machine that is busy with other tests may take."""
T = TypeVar("T")


class Visit:
    """`with Visit(browser, home) as visit: visit.open("/threads")`. `home` is the admin's address without a slash."""

    def __init__(self, browser: Browser, home: str, **context: Any) -> None:
        self.home = home
        self.offences: list[str] = []
        self._allowed = [re.compile(r"/favicon\.ico\)$")]  # a browser asks for it where an answer is no page
        self.context = browser.new_context(**{"base_url": home, "reduced_motion": "reduce", **context})
        self.context.set_default_timeout(WAIT_MS)
        self.context.add_init_script(TELL_VIOLATIONS)
        self.context.on("request", self._asked)
        self.context.on("console", self._said)
        self.context.on("weberror", lambda error: self._offend(f"exception: {error.error}"))
        self.context.on("dialog", self._spoke)
        self.page: Page = self.context.new_page()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.context.close()
        left = [offence for offence in self.offences if not any(each.search(offence) for each in self._allowed)]
        assert kind is not None or not left, "\n".join(left)

    def open(self, path: str) -> Page:
        """The page at this path, or at a whole address."""
        self.page.goto(path)
        return self.page

    def until(self, true: Callable[[], T], seconds: float = WAIT_MS / 1000) -> T:
        """What it says, as soon as it says something; the browser's own news come in meanwhile."""
        end = time.monotonic() + seconds
        while not (said := true()):
            assert time.monotonic() < end, "it did not become so in time"
            self.page.wait_for_timeout(20)
        return said

    def allow(self, pattern: str) -> None:
        """This may happen: the test wants it."""
        self._allowed.append(re.compile(pattern))

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self.home}/", "data:", "blob:")):
            self._offend(f"request: {request.url}")

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            where = message.location.get("url", "")
            self._offend(f"console: {message.text} ({where})")

    def _spoke(self, dialog: Dialog) -> None:
        self._offend(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _offend(self, what: str) -> None:
        self.offences.append(what)
