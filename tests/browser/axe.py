"""axe-core looks at a page. It is put into a world of its own, so that the page's policy stays as it is."""

import json
from typing import Any

from playwright.sync_api import Page

from tests.clients.installed import MODULES

SERIOUS = ("serious", "critical")
ALL = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RUN = """(async () => {
  const found = await axe.run(document, {resultTypes: ["violations"], runOnly: %s});
  return found.violations.map((each) => ({id: each.id, impact: each.impact, help: each.help,
    nodes: each.nodes.map((node) => node.html.slice(0, 200) + " | " + (node.any[0]?.message ?? ""))}));
})()"""


def violations(page: Page, *rules: str) -> list[str]:
    """What is seriously wrong, a line each: by these rules, or by all of WCAG A and AA and common practice."""
    return [
        f"{each['id']}: {each['help']}: {node}"
        for each in _found(page, rules or ALL)
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def _found(page: Page, rules: tuple[str, ...]) -> list[dict[str, Any]]:
    session = page.context.new_cdp_session(page)
    try:
        frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})["executionContextId"]
        _run(session, world, (MODULES / "axe-core/axe.min.js").read_text())
        return _run(session, world, RUN % json.dumps(rules))
    finally:
        session.detach()


def _run(session: Any, world: int, code: str) -> Any:
    asked = {"expression": code, "contextId": world, "awaitPromise": True, "returnByValue": True}
    told = session.send("Runtime.evaluate", asked)
    assert "exceptionDetails" not in told, str(told["exceptionDetails"])[:500]
    return told["result"].get("value")
