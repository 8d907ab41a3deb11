"""axe-core looks at a page. It is put into a world of its own, so that the page's policy stays as it is.

A page is looked at as it is at each of several widths: it is loaded once, and so is axe.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from playwright.sync_api import CDPSession, Page, ViewportSize

from tests.clients.installed import MODULES

SERIOUS = ("serious", "critical")
ALL = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ("color-contrast",)
RUN = """(async () => {
  const found = await axe.run(document, {resultTypes: ["violations"], runOnly: %s, selectors: false, preload: false});
  return found.violations.map((each) => ({id: each.id, impact: each.impact, help: each.help,
    nodes: each.nodes.map((node) => node.html.slice(0, 200) + " | " + (node.any[0]?.message ?? ""))}));
})()"""


def violations(page: Page, *widths: ViewportSize, rules: Sequence[str] = ALL) -> list[str]:
    """What is seriously wrong by WCAG A and AA and by common practice, or by these rules alone, a line each: at these widths, or
    as the page is."""
    session = page.context.new_cdp_session(page)
    try:
        world = _world(session)
        return [line for width in widths or (None,) for line in _seen(page, session, world, width, rules)]
    finally:
        session.detach()


def _world(session: CDPSession) -> int:
    frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    world = session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})["executionContextId"]
    _run(session, world, (MODULES / "axe-core/axe.min.js").read_text())
    return world


def _seen(page: Page, session: CDPSession, world: int, width: ViewportSize | None, rules: Sequence[str]) -> Iterator[str]:
    if width is not None:
        page.set_viewport_size(width)
    found: list[dict[str, Any]] = _run(session, world, RUN % json.dumps(rules))
    for each in found:
        if each["impact"] in SERIOUS:
            yield from (f"{each['id']}: {each['help']}: {node} ({width})" for node in each["nodes"])


def _run(session: CDPSession, world: int, code: str) -> Any:
    asked = {"expression": code, "contextId": world, "awaitPromise": True, "returnByValue": True}
    told = session.send("Runtime.evaluate", asked)
    assert "exceptionDetails" not in told, str(told["exceptionDetails"])[:500]
    return told["result"].get("value")
