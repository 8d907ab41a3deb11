"""The phases in the vendor's order (R63), and the verdict.

Each phase is a few checks over the same case. The first phase with a broken rule in force ends the judgement, and the first
of its broken rules is the refusal. Phases up to the layout need the request alone. The signatures, the bindings and the
length need the vendor's key and its books, and share what was read of the thinking. What frames a request is checked here:
its headers, its size, its JSON, whether the model exists, and whether all fits the model's window (R2–R5, R8, R62).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, Literal, TypeAlias

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.facts import betas, default_stances, rules
from clew.model.json import JsonValue
from clew.simulator.anthropic.judge import messages, parameters, schema, tools
from clew.simulator.anthropic.judge.case import BrokenRule, Case, betas_of, refusal_of, violations
from clew.simulator.anthropic.judge.content import check_marks, check_media
from clew.simulator.anthropic.judge.prompt import prompt_of, refused_prompt
from clew.simulator.anthropic.judge.signatures import RequestSigner, SigningPoint
from clew.simulator.anthropic.judge.thinking import (
    check_bindings,
    check_empty_signatures,
    check_foreign_signatures,
    check_modified,
    check_signatures,
    read_thinking,
)
from clew.simulator.anthropic.vendors import waived
from clew.simulator.identity import signing_key
from clew.simulator.interfaces import Account, Books, JudgeVerdict, Kind, Stance, VendorRefusal
from clew.simulator.values import as_number
from clew.wire.strict_json import JsonFault, decode_json, find_fault

Path: TypeAlias = Literal["/v1/messages", "/v1/messages/count_tokens"]
Check: TypeAlias = Callable[[Case], Iterable[BrokenRule]]

MAX_BODY = 32 * 1024 * 1024
VERSIONS = ("2023-06-01", "2026-10-21")
_SURROGATE = "lone surrogate in string"


def check_transport(body: bytes, headers: Mapping[str, str]) -> Iterator[BrokenRule]:
    """The rules that the head and the size of a request break."""
    if len(body) > MAX_BODY:
        yield BrokenRule("R62.too-large")
    version = headers.get("anthropic-version", "")
    if not version:
        yield BrokenRule("R2.version-missing")
    elif version not in VERSIONS:
        yield BrokenRule("R2.version-unknown", names={"version": version})
    unknown = [name for name in betas_of(headers) if name not in betas()]
    if unknown:
        yield BrokenRule("R3.beta-unknown", names={"values": ", ".join(f"`{name}`" for name in unknown)})


def read_document(raw: bytes) -> JsonValue | BrokenRule:
    """The body's value, or why it cannot be read."""
    if not raw:
        return BrokenRule("R4.body-empty")
    try:
        return decode_json(raw)
    except BodyTooLarge:
        fault = JsonFault("recursion limit exceeded", 0, 1, 1)
    except RequestInvalid:
        fault = find_fault(raw)
        if fault.reason == _SURROGATE:  # legal JSON for the vendor's parser; its schema refuses it (R63)
            return BrokenRule("R63.lone-surrogate")
    return BrokenRule("R4.body-not-json", names=fault._asdict())


def check_model(case: Case) -> Iterator[BrokenRule]:
    """Whether the vendor serves the model. A vendor with models of its own takes any name."""
    if case.vendor.models:
        return
    if not case.model.known:
        yield BrokenRule("R5.model-unknown", "model", {"model": case.body.get("model")})
    elif case.model.retired:
        yield BrokenRule("R5.model-retired", "model", {"model": case.body.get("model")})


def check_length(case: Case, tokens: int) -> Iterator[BrokenRule]:
    """Whether the prompt and the answer fit the model's window."""
    window, answer = case.model.context, as_number(case.body.get("max_tokens")) or 0
    if not window:
        return
    if tokens > window:
        yield BrokenRule("R8.prompt-too-long", "", {"tokens": tokens, "limit": window})
    elif case.model.overflow == "reject" and tokens + answer > window:
        names = {"tokens": tokens, "max_tokens": answer, "limit": window}
        yield BrokenRule("R8.prompt-and-output-too-long", "", names)


PHASES: Final[tuple[tuple[Check, ...], ...]] = (
    (schema.check_shape, schema.check_long_names, schema.check_moved_blocks),
    (check_model,),
    (
        parameters.check_max_tokens,
        parameters.check_stop_sequences,
        parameters.check_system_role,
        parameters.check_output_format,
        parameters.check_mcp_servers,
        parameters.check_edits,
        parameters.check_budget,
        parameters.check_thinking_type,
        parameters.check_effort,
        parameters.check_message_efforts,
        parameters.check_deprecated_sampling,
        parameters.check_sampling,
        tools.check_tools,
        tools.check_strict_tools,
    ),
    (
        messages.check_roles,
        messages.check_system_messages,
        messages.check_block_roles,
        messages.check_emptiness,
        messages.check_empty_system,
        tools.check_call_ids,
        tools.check_pairing,
        tools.check_text_after_call,
        check_marks,
        check_media,
    ),
    (messages.check_ending, messages.check_leading_thinking, messages.check_trailing_thinking, messages.check_thinking_off),
)
"""What the request, its headers and the tables decide, from the schema on."""


def judge(
    body: bytes,
    headers: Mapping[str, str],
    *,
    kind: Kind,
    account: Account,
    stance: Stance,
    path: Path,
    seed: int = 0,
    realm: str = "",
    books: Books | None = None,
) -> JudgeVerdict:
    """Judge one request. The signing key comes from `realm`, or else from kind and seed."""
    case = _open(body, headers, kind, account, stance, path)
    if isinstance(case, list):
        return JudgeVerdict(violation=case[0])
    case = replace(case, books=books or Books())
    for phase in PHASES:
        found = violations(chain.from_iterable(check(case) for check in phase), case.stance)
        if found:
            return JudgeVerdict(violation=found[0], request=case.body)
    missing = messages.check_passed_back(case)
    if missing:
        return JudgeVerdict(violation=missing, request=case.body)
    # The phases that need the signing key. A refusal still tells the fates up to the block that it names
    key = signing_key(kind, seed, realm)
    history = read_thinking(case, key)
    bindings = check_bindings(case, history)
    prompt = prompt_of(case, history, bindings)
    phases = (
        chain(check_empty_signatures(case), check_signatures(history)),
        check_modified(case, history),
        bindings.broken,
        check_length(case, prompt.input_tokens),
    )
    for phase in phases:
        found = violations(phase, case.stance)
        if found:
            return JudgeVerdict(violation=found[0], request=case.body, prompt=refused_prompt(prompt, found[0].path))
    start = SigningPoint(history.end, bindings.sent, bindings.read)
    return JudgeVerdict(request=case.body, prompt=prompt, signer=RequestSigner(key, case, start))


def static_violations(
    body: bytes,
    headers: Mapping[str, str],
    *,
    stance: Stance | None = None,
    path: Path = "/v1/messages",
    asked: frozenset[str] = frozenset(),
) -> list[VendorRefusal]:
    """What the request alone decides: all violations of the first phase that has any, the vendor's first choice first.

    `asked` are rules that hold only on demand (`enforced = false` in the book).
    """
    case = _open(body, headers, "anthropic", Account(name=""), stance or Stance(choices=default_stances()), path)
    if isinstance(case, list):
        return case
    for phase in (*PHASES, (check_empty_signatures, check_foreign_signatures)):
        found = chain.from_iterable(check(case) for check in phase)
        static = (broken for broken in found if rules()[broken.rule].static)
        counted = violations(static, case.stance, asked=asked)
        if counted:
            return counted
    return []


def _open(
    body: bytes, headers: Mapping[str, str], kind: Kind, account: Account, stance: Stance, path: Path
) -> Case | list[VendorRefusal]:
    """The case, or why there is none. A body that cannot be read is refused whatever grades the stance leaves out."""
    stance = replace(stance, without_rules=stance.without_rules | waived(kind))
    found = violations(check_transport(body, headers), stance)
    if found:
        return found
    document = read_document(body)
    if isinstance(document, BrokenRule):
        return [refusal_of(document)]
    if not isinstance(document, dict):
        return [refusal_of(BrokenRule("R4.body-not-object"))]
    version = headers.get("anthropic-version", "")
    return Case(
        body=document,
        version=version if version in VERSIONS else VERSIONS[0],  # a stance may accept an unknown version
        betas=frozenset(betas_of(headers)),
        counting=path == "/v1/messages/count_tokens",
        kind=kind,
        account=account,
        stance=stance,
    )
