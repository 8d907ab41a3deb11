"""Cache marks on a finished request: at most four, long-lived ones first, never on thinking or on nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tests.build import Json
from tests.conversations.scene import Scene

UNMARKABLE = ("thinking", "redacted_thinking", "fallback", "mcp_tool_listing")


def places(body: Json) -> Iterator[Json]:
    """Every value that may bear a mark, in the vendor's order."""
    yield from body.get("tools", [])
    if isinstance(body.get("system"), list):
        yield from filter(_fits, body["system"])
    for message in body["messages"]:
        if isinstance(message.get("content"), list):
            yield from (place for block in message["content"] for place in _within(block))


def _within(block: Json) -> Iterator[Json]:
    if _fits(block):
        yield block
    if block["type"] == "tool_result" and isinstance(block.get("content"), list):
        yield from filter(_fits, block["content"])


def _fits(block: Json) -> bool:
    return block["type"] not in UNMARKABLE and block.get("text") != ""


def put_marks(scene: Scene, body: Json) -> None:
    able = list(places(body))
    chosen = sorted({scene.pick(*range(len(able))) for _ in scene.several(0, 4)}) if able else []
    hours = scene.pick(*range(len(chosen) + 1))
    for n, k in enumerate(chosen):
        lifetime = {"ttl": "1h"} if n < hours else scene.pick({}, {"ttl": "5m"})
        able[k]["cache_control"] = {"type": "ephemeral", **lifetime}
    if scene.seldom() and len(chosen) < 4 and hours in (0, len(chosen)):
        same = {"ttl": "1h"} if hours and chosen else {}
        body["cache_control"] = {"type": "ephemeral", **same}
