"""The phases in their order, and the verdict on one request.

The first broken rule in force is the refusal. The returned reasoning is read in any case, so that the journal shows it even
for a request that was refused because of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from clew.errors import BodyTooLarge, RequestInvalid
from clew.simulator.interfaces import Stance, VendorRefusal
from clew.simulator.openai_responses.judge import capabilities, fields, items, reasoning
from clew.simulator.openai_responses.judge.case import RESPONSES_RULES, Path, ResponsesCase
from clew.simulator.openai_responses.judge.reasoning import ReturnedItem, returned_items
from clew.simulator.openai_responses.memory import OutputMemory
from clew.simulator.openai_responses.vendors import ResponsesVendor
from clew.simulator.rule_book import RuleBreach
from clew.wire.strict_json import decode_json

Check: TypeAlias = Callable[[ResponsesCase], Iterable[RuleBreach]]

CHECKS: Final[tuple[Check, ...]] = (
    fields.check_required,
    fields.check_known,
    fields.check_model_kind,
    fields.check_fields,
    capabilities.check_model,
    items.check_state,
    capabilities.check_parameters,
    capabilities.check_reasoning_options,
    capabilities.check_format,
    capabilities.check_breakpoints,
    items.check_trigger,
    items.check_ids,
    reasoning.check_blobs,
    reasoning.check_signatures,
    reasoning.check_places,
    items.check_pairs,
    reasoning.check_texts,
    capabilities.check_length,
)
"""All checks, in the order of checking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesVerdict:
    """What the judge found. Legal if `violation` is None; then there is a `case`."""

    violation: VendorRefusal | None = None
    names: Mapping[str, object] = field(default_factory=dict[str, object])
    """The names in the violation's words: some vendors put them into fields of the error, too."""
    case: ResponsesCase | None = None
    thinking: tuple[ReturnedItem, ...] = ()


def judge_responses(
    body: bytes,
    *,
    vendor: ResponsesVendor,
    stance: Stance,
    memory: OutputMemory,
    account: str,
    path: Path = "/responses",
) -> ResponsesVerdict:
    """Judge one request. Pure, but for reading the memory."""
    try:
        document, reason = decode_json(body), "not an object"
    except (BodyTooLarge, RequestInvalid) as error:
        document, reason = None, str(error)
    if not isinstance(document, dict):
        unreadable = RuleBreach("responses.body-not-json", "", {"reason": reason})
        return ResponsesVerdict(violation=RESPONSES_RULES.refusal(vendor, unreadable), names=unreadable.names)
    case = ResponsesCase(body=document, vendor=vendor, stance=stance, memory=memory, account=account, path=path)
    thinking = returned_items(case)
    found = chain.from_iterable(check(case) for check in CHECKS)
    breach = next((each for each in found if RESPONSES_RULES.is_in_force(each.rule, vendor, stance)), None)
    if breach is None:
        return ResponsesVerdict(case=case, thinking=thinking)
    refused = tuple(
        replace(each, fate="refused")
        if (breach.path == each.path or breach.path.startswith(f"{each.path}.")) and each.fate in ("kept", "unread")
        else each
        for each in thinking
    )
    return ResponsesVerdict(
        violation=RESPONSES_RULES.refusal(vendor, breach), names=breach.names, case=case, thinking=refused
    )
