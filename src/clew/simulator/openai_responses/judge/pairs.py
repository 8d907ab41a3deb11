"""The items as a conversation: each once, each call with its output, the trigger of a compaction at the end.

And what the request asks of the vendor's memory: an earlier answer, items by their id, a conversation.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.openai_responses.judge.case import CALLS, PlacedItem, ResponsesCase
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_str


def check_ids(case: ResponsesCase) -> Iterator[RuleBreach]:
    """No id may stand on two items."""
    seen: set[str] = set()
    for each in case.items:
        if each.id and each.id in seen:
            yield RuleBreach("responses.item-repeated", each.path, {"id": each.id})
        seen.add(each.id)


def check_trigger(case: ResponsesCase) -> Iterator[RuleBreach]:
    """Nothing may follow a compaction_trigger."""
    for each in case.items[:-1]:
        if each.kind == "compaction_trigger":
            yield RuleBreach("responses.trigger-place", each.path)


def check_pairs(case: ResponsesCase) -> Iterator[RuleBreach]:
    """Every output has a call of its kind before it, and every call an output behind it. Other items may be between."""
    open_calls: dict[tuple[str, str], PlacedItem] = {}
    called: set[tuple[str, str]] = set()
    for each in case.items:
        id_ = as_str(each.item.get("call_id"))
        if each.kind in CALLS:
            open_calls[each.kind, id_] = each
            called.add((each.kind, id_))
        elif (kind := each.kind.removesuffix("_output")) in CALLS and kind != each.kind:
            if (kind, id_) not in called:
                yield RuleBreach("responses.output-orphan", each.path, {"id": id_, "call": CALLS[kind]})
            open_calls.pop((kind, id_), None)
    for (kind, id_), each in open_calls.items():
        yield RuleBreach("responses.call-unanswered", each.path, {"id": id_, "call": CALLS[kind]})


def check_state(case: ResponsesCase) -> Iterator[RuleBreach]:
    """All that is named by an id is there, for this account."""
    body, memory = case.body, case.memory
    conversation, previous = body.get("conversation"), as_str(body.get("previous_response_id"))
    if conversation is not None and previous:
        yield RuleBreach("responses.state-both")
    if conversation is not None:
        id_ = as_str(as_dict(conversation).get("id")) or as_str(conversation)
        yield RuleBreach("responses.conversation-unknown", "conversation", {"id": id_})
    if previous and (not case.vendor.stores or memory.kept(case.account, previous) is None):
        yield RuleBreach("responses.previous-unknown", "previous_response_id", {"id": previous})
    for each in case.sent:
        if each.kind != "item_reference" or (case.vendor.stores and memory.kept_item(case.account, each.id) is not None):
            continue
        rule = "reference-lost" if memory.given(case.account, each.id) is not None else "reference-unknown"
        yield RuleBreach(f"responses.{rule}", each.path, {"id": each.id})
    if not case.items and not body.get("prompt"):
        yield RuleBreach("responses.input-empty", "input")
