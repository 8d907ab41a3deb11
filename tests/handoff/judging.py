"""What a hand-over must leave behind: each vendor's own thoughts, all of them, and a line that says what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from clew.dialects.openai.effort import LOST
from clew.model.change import Change
from clew.model.turn import Exchange
from tests.build import Json
from tests.counts import SOAK
from tests.engine.gate import Answer
from tests.handoff.conftest import Table
from tests.handoff.seats import KINDS

NONE_FOR_A_CALL = "this backend needs the thinking of every tool call, and one has none"

NEAR = 1
"""So many kinds after itself each kind meets in the suite, beside itself and Claude. All meet all in the soak."""

NEVER_BACK = {"deepseek-r1", "tags"}
"""Kinds that show their thoughts and do not want them back."""
NEVER_SHOWN = {"openai-chat", "azure", "xai"}
"""Kinds whose thoughts stay hidden."""
SIGNED = {"gemini-chat"}
"""Kinds that show thoughts between tags, which do not go back, and sign each answer, on its call or its words, which do."""


def pairs(near: int = NEAR) -> list[tuple[str, str]]:
    """Who meets whom."""
    places = list(KINDS)

    def meet(first: str, second: str) -> bool:
        return "anthropic" in (first, second) or (places.index(second) - places.index(first)) % len(places) <= near

    return [(a, b) for a in KINDS for b in KINDS if SOAK or meet(a, b)]


def fates(name: str) -> dict[str, str]:
    """The pinned lines, by "ORIGIN to TARGET"."""
    file = Path(__file__).with_name(f"{name}.txt")
    return dict(line.split(": ", 1) for line in file.read_text().splitlines())


def check_own(table: Table, kind: str, shown: Sequence[bool]) -> None:
    """Its last request brought a vendor all of its own thoughts and no other; `shown` says which of its answers had any."""
    entry = table.asked(kind)[-1]
    came = [thought for thought in entry["thinking"] if not _is_placeholder(thought, entry["body"])]
    assert {thought["whose"] for thought in came} <= {"own"}
    assert all(thought.get("same", True) for thought in came)
    assert {thought["fate"] for thought in came} <= ({"kept", "unread"} if _thinks(entry["body"]) else {"kept", "stripped"})
    assert any(shown) is (kind not in NEVER_SHOWN)
    assert len(came) == (0 if kind in NEVER_BACK else len(shown) if kind in SIGNED else sum(shown))


def _thinks(body: Json) -> bool:
    """Not where another vendor's calls have no reasoning that this one would take: there it is told not to."""
    return body.get("thinking", {}).get("type") != "disabled"


def _is_placeholder(thought: Json, body: Json) -> bool:
    """What stands for a thought where there is none. In Anthropic's dialect that is a block without words or signature."""
    if thought["path"].startswith("input."):
        item = body["input"][int(thought["path"].split(".")[1])]
        words = "".join(part.get("text", "") for part in item.get("content") or ())
        return thought["whose"] != "own" and not words.strip() and not item.get("encrypted_content")
    if thought["whose"] != "unknown":
        return thought["whose"] == "placeholder"
    _, message, _, block = thought["path"].split(".")
    held = body["messages"][int(message)]["content"][int(block)]
    return not held["thinking"].strip() and not held["signature"]


def fate_of(answer: Answer, exchange: Exchange) -> str:
    """In a line: the counts that are not zero, then each alteration to a thought, or in place of one, with its reason."""
    counts = ", ".join(each for each in answer.headers["x-clew-thinking"].split(", ") if not each.endswith("=0"))
    reasons = Counter((change.what, change.why) for change in exchange.changes if _is_about_thoughts(change))
    return "; ".join([counts or "nothing", *(f"{count} {what} ({why})" for (what, why), count in reasons.items())])


def _is_about_thoughts(change: Change) -> bool:
    in_place = change.what == "added" and change.path.startswith(("messages.", "input."))
    return change.step in ("thinking", "heal") or in_place or change.why in (LOST, NONE_FOR_A_CALL)
