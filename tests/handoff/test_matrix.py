"""The hand-over matrix: what any vendor began, any other goes on with, and the first one ends it.

`fates.txt` pins what became of each thought when the second vendor took over, and why: one line for each pair. It is read, not
written; a line that is wrong or missing fails with the line that would be right.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from clew.dialects.openai.effort import LOST
from clew.model.change import Change
from clew.model.turn import Exchange
from tests.build import Json, user
from tests.counts import SOAK
from tests.engine.gate import Answer
from tests.engine.kept import exchange_of
from tests.engine.talk import Talk
from tests.handoff.conftest import Table
from tests.handoff.seats import KINDS
from tests.manifest import proves

NONE_FOR_A_CALL = "this backend wants the thinking of every tool call back, and one has none"
pytestmark = pytest.mark.slow

NEAR = 2
"""So many kinds after itself each kind meets in the suite, beside itself and Claude. All meet all in the soak."""


def _meet(first: str, second: str) -> bool:
    places = list(KINDS)
    return "anthropic" in (first, second) or (places.index(second) - places.index(first)) % len(places) <= NEAR


PAIRS = [(a, b) for a in KINDS for b in KINDS if SOAK or _meet(a, b)]
IDS = [f"{origin} to {target}" for origin, target in PAIRS]
FATES = dict(line.split(": ", 1) for line in Path(__file__).with_name("fates.txt").read_text().splitlines())

NEVER_BACK = {"deepseek-r1", "tags"}
"""Kinds that show their thoughts and do not want them back."""
NEVER_SHOWN = {"openai-chat", "azure", "xai"}
"""Kinds whose thoughts stay hidden."""
SIGNED = {"gemini-chat"}
"""Kinds that show thoughts between tags, which do not go back, and sign each answer, on its call or its words, which do."""


def _turn(talk: Talk, table: Table, calls: str, answers: str) -> list[Answer]:
    """A question: one vendor thinks and calls a tool, the same or another thinks and answers."""
    talk.messages.append(user("And now?"))
    first = _step(talk, table, calls)
    talk.runs()
    return [first, _step(talk, table, answers)]


def _step(talk: Talk, table: Table, kind: str) -> Answer:
    table.gate.use(KINDS[kind].name)
    return talk.step()


@proves("req:S3-40", "case:57", "case:57b")
@pytest.mark.parametrize(("origin", "target"), PAIRS, ids=IDS)
def test_a_conversation_goes_on_elsewhere_and_comes_back(table: Table, origin: str, target: str) -> None:
    """Between turns, and inside a tool loop: nobody refuses anything, and each gets all of its own back and nothing else.

    What became of each thought, and why, is as `fates.txt` has it for the first request after the hand-over.
    """
    table.begin(origin, target)
    talk = Talk(table.gate)
    first, second = _turn(talk, table, origin, origin), _turn(talk, table, target, target)
    mixed = _turn(talk, table, origin, target)
    talk.messages.append(user("And in the end?"))
    _step(talk, table, origin)

    assert (table.refused(origin), table.refused(target)) == ([], [])
    _got_its_own(table, origin, [*first, mixed[0]] if origin != target else [*first, *second, *mixed])
    assert _fate(second[0], exchange_of(table.gate, second[0])) == FATES.get(f"{origin} to {target}")


def _got_its_own(table: Table, kind: str, answers: list[Answer]) -> None:
    entry = table.asked(kind)[-1]
    came = [thought for thought in entry["thinking"] if not _is_placeholder(thought, entry["body"])]
    assert {thought["whose"] for thought in came} <= {"own"}
    assert all(thought.get("same", True) for thought in came)
    assert {thought["fate"] for thought in came} <= ({"kept"} if _thinks(entry["body"]) else {"kept", "stripped"})
    assert len(came) == _due(kind, answers)


def _due(kind: str, answers: list[Answer]) -> int:
    """How many thoughts must come back of these answers."""
    shown = sum(_has(answer, "thinking") for answer in answers)
    assert (shown > 0) is (kind not in NEVER_SHOWN)
    return 0 if kind in NEVER_BACK else len(answers) if kind in SIGNED else shown


def _thinks(body: Json) -> bool:
    """Not where another vendor's calls have no reasoning that this one would take: there it is told not to."""
    return body.get("thinking", {}).get("type") != "disabled"


def _has(answer: Answer, type: str) -> bool:
    return any(event["content_block"]["type"] == type for event in answer.events if event["type"] == "content_block_start")


def _is_placeholder(thought: Json, body: Json) -> bool:
    """What stands for a thought where there is none. In Anthropic's dialect that is a block without words or signature."""
    if thought["whose"] != "unknown":
        return thought["whose"] == "placeholder"
    _, message, _, block = thought["path"].split(".")
    held = body["messages"][int(message)]["content"][int(block)]
    return not held["thinking"].strip() and not held["signature"]


def _fate(answer: Answer, exchange: Exchange) -> str:
    """In a line: the counts that are not zero, then each alteration to a thought, or in place of one, with its reason."""
    counts = ", ".join(each for each in answer.headers["x-clew-thinking"].split(", ") if not each.endswith("=0"))
    reasons = Counter((change.what, change.why) for change in exchange.changes if _is_about_thoughts(change))
    return "; ".join([counts or "nothing", *(f"{count} {what} ({why})" for (what, why), count in reasons.items())])


def _is_about_thoughts(change: Change) -> bool:
    in_place = change.what == "added" and change.path.startswith("messages.")
    return change.step in ("thinking", "heal") or in_place or change.why in (LOST, NONE_FOR_A_CALL)
