"""The phases in their order, and what comes out: a verdict on one chat request.

The first phase with a finding that counts ends it, and the first of its findings is the answer. What came back of the
reasoning is read in any case, so that the journal tells it even of a request that was refused for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.json import JsonObject
from clew.simulator.chat.books import ChatBooks
from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.check_body import check_body, check_model
from clew.simulator.chat.check_conversation import check_conversation
from clew.simulator.chat.check_messages import check_messages
from clew.simulator.chat.check_parameters import check_parameters
from clew.simulator.chat.check_passed_back import check_passed_back
from clew.simulator.chat.check_tools import check_tool_choice, check_tools
from clew.simulator.chat.counting import check_length
from clew.simulator.chat.returned import Returned, returned
from clew.simulator.chat.rules import Finding, first_of, refusal
from clew.simulator.chat.vendors import Vendor
from clew.simulator.interfaces import Stance, Violation
from clew.wire.strict_json import decode_json

__all__ = ["ChatVerdict", "judge_chat"]

Check: TypeAlias = Callable[[ChatCase], Iterable[Finding]]

PHASES: Final[tuple[tuple[Check, ...], ...]] = (
    (check_body, check_messages, check_tools),
    (check_model,),
    (check_parameters, check_tool_choice),
    (check_conversation,),
    (check_passed_back,),
    (check_length,),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatVerdict:
    """What the judge found. Legal if `violation` is None; then `case` is there."""

    violation: Violation | None = None
    names: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the violation's words were made with: some vendors tell it beside them."""
    case: ChatCase | None = None
    thinking: tuple[Returned, ...] = ()


def judge_chat(body: bytes, *, vendor: Vendor, stance: Stance, books: ChatBooks) -> ChatVerdict:
    """Judge one request. Pure but for the books, which it reads."""
    document = _read(body)
    if isinstance(document, Finding):
        return ChatVerdict(violation=refusal(document, vendor), names=document.names)
    case = ChatCase(body=document, vendor=vendor, stance=stance, books=books)
    thinking = returned(case)
    for phase in PHASES:
        found = first_of(chain.from_iterable(check(case) for check in phase), vendor, stance)
        if found:
            violation = refusal(found, vendor)
            refused = _refused(thinking, violation)
            return ChatVerdict(violation=violation, names=found.names, case=case, thinking=refused)
    return ChatVerdict(case=case, thinking=thinking)


def _refused(thinking: tuple[Returned, ...], violation: Violation) -> tuple[Returned, ...]:
    return tuple(replace(piece, fate="refused") if piece.path == violation.path else piece for piece in thinking)


def _read(body: bytes) -> JsonObject | Finding:
    try:
        document = decode_json(body)
    except (BodyTooLarge, RequestInvalid) as error:
        return Finding("chat.body-not-json", "", {"reason": str(error)})
    return document if isinstance(document, dict) else Finding("chat.body-not-json", "", {"reason": "not an object"})
