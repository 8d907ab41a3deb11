"""What the request asks of the vendor's memory: an earlier answer, items by their id, a conversation."""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.openai_responses.judge.case import ResponsesCase
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_str


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
