"""The phases in the vendor's order (R63), and the verdict.

Each phase is a few checks over the same case. The first phase with a broken rule in force ends the judgement, and the first
of its broken rules is the refusal. Phases up to the layout need the request alone. The signatures, the bindings and the
length need the vendor's key and its books, and share what was read of the thinking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, Literal, TypeAlias

from clew.model.facts import default_stances, rules
from clew.simulator.anthropic.judge.arrival import VERSIONS, check_length, check_model, check_transport, read_document
from clew.simulator.anthropic.judge.bindings import check_bindings
from clew.simulator.anthropic.judge.cache_marks import check_marks
from clew.simulator.anthropic.judge.case import BrokenRule, Case, betas_of, refusal_of, violations
from clew.simulator.anthropic.judge.media import check_media
from clew.simulator.anthropic.judge.messages import check_emptiness, check_layout, check_passed_back, check_roles
from clew.simulator.anthropic.judge.parameters import check_parameters, check_sampling, check_thinking
from clew.simulator.anthropic.judge.prompt import prompt_of, refused_prompt
from clew.simulator.anthropic.judge.schema import check_schema
from clew.simulator.anthropic.judge.signatures import RequestSigner, SigningPoint
from clew.simulator.anthropic.judge.thinking import (
    check_empty_signatures,
    check_modified,
    check_signatures,
    read_thinking,
)
from clew.simulator.anthropic.judge.tools import check_pairing, check_tools
from clew.simulator.anthropic.vendors import waived
from clew.simulator.ids import signing_key
from clew.simulator.interfaces import Account, Books, JudgeVerdict, Kind, Stance, VendorRefusal

Path: TypeAlias = Literal["/v1/messages", "/v1/messages/count_tokens"]
Check: TypeAlias = Callable[[Case], Iterable[BrokenRule]]

PHASES: Final[tuple[tuple[Check, ...], ...]] = (
    (check_schema,),
    (check_model,),
    (check_parameters, check_thinking, check_sampling, check_tools),
    (check_roles, check_pairing, check_emptiness, check_marks, check_media),
    (check_layout,),
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
    missing = check_passed_back(case)
    if missing:
        return JudgeVerdict(violation=missing, request=case.body)
    return _judge_thinking(case, signing_key(kind, seed, realm))


def static_violations(
    body: bytes,
    headers: Mapping[str, str],
    *,
    stance: Stance | None = None,
    kind: Kind = "anthropic",
    path: Path = "/v1/messages",
    asked: frozenset[str] = frozenset(),
) -> list[VendorRefusal]:
    """What the request alone decides: all violations of the first phase that has any, the vendor's first choice first.

    `asked` are rules that hold only on demand (`enforced = false` in the book).
    """
    case = _open(body, headers, kind, Account(name=""), stance or Stance(choices=default_stances()), path)
    if isinstance(case, list):
        return case
    for phase in (*PHASES, (check_empty_signatures,)):
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


def _judge_thinking(case: Case, key: bytes) -> JudgeVerdict:
    """The phases that need the signing key. A refusal still tells the fates up to the block that it names."""
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
