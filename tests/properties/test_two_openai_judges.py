"""Two judges of Responses requests: the doctor and the simulator read the vendor's rules independently, and must not differ.

Conversations are put together legally, then changed in one place. What both judges can see (pairs, ids, places of reasoning)
they must both name, at the same item and with the same words; what only the vendor knows is the simulator's alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.simulator.openai_responses.blobs import BlobContent, BlobKey
from clew.simulator.openai_responses.judge.case import RESPONSES_RULES, ResponsesCase
from clew.simulator.openai_responses.judge.judging import CHECKS
from clew.simulator.openai_responses.memory import OutputMemory
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.simulator.server import stance
from clew.thinking.openai_compliance import check_openai
from tests.counts import examples

Items = list[dict[str, Any]]
Finding = tuple[int, str]

KEY = BlobKey(b"secret", "a", "fernet")
WHOLE = {
    "model": "gpt-5.6",
    "store": False,
    "tools": [{"type": "function", "name": "look"}, {"type": "custom", "name": "exec"}],
}
SEEN_BY_BOTH = {
    *("id-characters", "id-prefix", "trigger-place", "item-repeated", "output-orphan", "call-unanswered"),
    *("blob-missing", "reasoning-alone", "field-missing", "text-long"),
}
"""Rules of the simulator that the doctor has, under this name or another."""

generating = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def doctor(items: Items) -> list[Finding]:
    found = check_openai("openai-responses", {**WHOLE, "input": [*items]})
    return sorted((int(each.path.partition("[")[2].partition("]")[0]), each.words) for each in found)


def simulator(items: Items) -> list[Finding]:
    vendor, memory = responses_vendors()["openai-responses"], OutputMemory(b"secret")
    body: dict[str, Any] = {**WHOLE, "input": items}
    case = ResponsesCase(body=body, vendor=vendor, stance=stance(), memory=memory, account="a")
    found = [breach for check in CHECKS for breach in check(case)]
    seen = [breach for breach in found if breach.rule.removeprefix("responses.") in SEEN_BY_BOTH]
    return sorted((int(breach.path.split(".")[1]), RESPONSES_RULES.refusal(vendor, breach).message) for breach in seen)


def judged(items: Items) -> list[Finding]:
    """What both found; fails if they differ."""
    ours, theirs = doctor(items), simulator(items)
    assert [(place, words.removesuffix(".")) for place, words in ours] == [
        (place, words.removesuffix(".")) for place, words in theirs
    ]
    return ours


# Legal conversations.


def reasoning(n: int) -> dict[str, Any]:
    blob = KEY.make(BlobContent(id=f"rs_{n}", model="m", text="Hm."), salt=str(n))
    return {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": blob}


def said(n: int, with_id: bool) -> dict[str, Any]:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So.", "annotations": []}]}
    return {**item, "id": f"msg_{n}"} if with_id else item


def call(n: int, custom: bool, with_id: bool) -> dict[str, Any]:
    kind, name, value = (
        ("custom_tool_call", "exec", {"input": "ls"}) if custom else ("function_call", "look", {"arguments": "{}"})
    )
    item = {"type": kind, "call_id": f"call_{n}", "name": name, **value}
    return {**item, "id": f"{'ctc' if custom else 'fc'}_{n}"} if with_id else item


def output(made: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"{made['type']}_output", "call_id": made["call_id"], "output": "ok"}


@st.composite
def conversations(draw: Any) -> Items:
    """Turns of a user and a model: thoughts before what they led to, calls before their outputs."""
    items: Items = []
    for _ in range(draw(st.integers(1, 3))):
        items.append({"role": "user", "content": "Go on."})
        for _ in range(draw(st.integers(0, 2))):
            calls: Items = []
            for custom in draw(st.lists(st.booleans(), min_size=1, max_size=2)):
                items += [reasoning(len(items))] * draw(st.integers(0, 1))
                items += [said(len(items), draw(st.booleans()))] * draw(st.integers(0, 1))
                calls.append(call(len(items), custom, draw(st.booleans())))
                items.append(calls[-1])
            items += [output(each) for each in draw(st.permutations(calls))]
        items += [reasoning(len(items))] * draw(st.integers(0, 1))
        items.append(said(len(items), draw(st.booleans())))
    return items


@settings(max_examples=examples(36, soak=3000), **generating)
@given(conversations())
def test_both_judges_find_nothing_in_a_legal_conversation(items: Items) -> None:
    assert judged(items) == []


# One step away.


def _put(key: str, value: Any) -> Callable[[Items, int], object]:
    return lambda items, place: items[place].update({key: value})


CHANGES: dict[str, Callable[[Items, int], object]] = {
    "left out": lambda items, place: items.pop(place),
    "twice": lambda items, place: items.insert(place, copy.deepcopy(items[place])),
    "moved to the end": lambda items, place: items.append(items.pop(place)),
    "with an empty id": _put("id", ""),
    "with an id of another type": _put("id", "zz_1"),
    "with an id of other characters": _put("id", "rs.1"),
    "with a long call id": lambda items, place: items[place].update(call_id="c" * 65) if "call_id" in items[place] else None,
    "without its summary": lambda items, place: items[place].pop("summary", None),
    "without its blob": lambda items, place: items[place].pop("encrypted_content", None),
    "a trigger before it": lambda items, place: items.insert(place, {"type": "compaction_trigger"}),
    "a user before it": lambda items, place: items.insert(place, {"role": "user", "content": "Wait."}),
}


@pytest.mark.parametrize("change", list(CHANGES))
@settings(max_examples=examples(25, soak=1000), **generating)
@given(items=conversations(), place=st.integers(0, 99))
def test_both_judges_see_each_change_alike(change: str, items: Items, place: int) -> None:
    CHANGES[change](items, place % len(items))
    judged(items)
