"""The phases in their order, and the verdict on one chat request.

The first phase with a broken rule in force ends the judgement, and the first of its broken rules is the refusal. The
returned reasoning is read in any case, so that the journal shows it even for a request that was refused because of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from clew.errors import BodyTooLarge, RequestInvalid
from clew.simulator.interfaces import Stance, VendorRefusal
from clew.simulator.openai_chat.judge import messages, reasoning, requests
from clew.simulator.openai_chat.judge.case import BrokenChatRule, ChatCase, first_in_force, refusal_by
from clew.simulator.openai_chat.judge.reasoning import ReturnedReasoning, returned_reasoning
from clew.simulator.openai_chat.memory import AnswerMemory
from clew.simulator.openai_chat.vendors import ChatVendor
from clew.wire.strict_json import decode_json

Check: TypeAlias = Callable[[ChatCase], Iterable[BrokenChatRule]]

PHASES: Final[tuple[tuple[Check, ...], ...]] = (
    (requests.check_body, messages.check_messages, requests.check_tools),
    (requests.check_model,),
    (
        requests.check_parameters,
        requests.check_unsupported,
        requests.check_effort,
        requests.check_thinking_field,
        requests.check_limits,
        requests.check_tool_choice,
    ),
    (messages.check_pairs, messages.check_calls, messages.check_order, messages.check_images),
    (reasoning.check_passed_back, reasoning.check_details, reasoning.check_signatures),
    (requests.check_length,),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatVerdict:
    """What the judge found. Legal if `violation` is None; then there is a `case`."""

    violation: VendorRefusal | None = None
    names: Mapping[str, object] = field(default_factory=dict[str, object])
    """The names in the violation's words: some vendors put them into fields of the error, too."""
    case: ChatCase | None = None
    thinking: tuple[ReturnedReasoning, ...] = ()


def judge_chat(body: bytes, *, vendor: ChatVendor, stance: Stance, memory: AnswerMemory) -> ChatVerdict:
    """Judge one request. Pure, but for reading the memory."""
    try:
        document, reason = decode_json(body), "not an object"
    except (BodyTooLarge, RequestInvalid) as error:
        document, reason = None, str(error)
    if not isinstance(document, dict):
        unreadable = BrokenChatRule("chat.body-not-json", "", {"reason": reason})
        return ChatVerdict(violation=refusal_by(vendor, unreadable), names=unreadable.names)
    case = ChatCase(body=document, vendor=vendor, stance=stance, memory=memory)
    thinking = returned_reasoning(case)
    for phase in PHASES:
        broken = first_in_force(chain.from_iterable(check(case) for check in phase), vendor, stance)
        if broken:
            refused = tuple(replace(each, fate="refused") if each.path == broken.path else each for each in thinking)
            return ChatVerdict(violation=refusal_by(vendor, broken), names=broken.names, case=case, thinking=refused)
    return ChatVerdict(case=case, thinking=thinking)
