"""The phases in the vendor's order (R63), and what comes out: a verdict.

Each phase is a few checks over the same case; the first phase with a finding that counts ends it, and the first of its
findings is the answer. Phases up to the layout need the request alone. The signature, the bindings and the length need the
vendor's secret and its books, so they share what was read of the thinking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, Literal, TypeAlias

from clew.model.facts import default_stances, rules
from clew.simulator.interfaces import Account, Books, Kind, Stance, Verdict, Violation
from clew.simulator.judge.bindings import bind
from clew.simulator.judge.case import Case, betas_of
from clew.simulator.judge.document import read_document
from clew.simulator.judge.emptiness import check_emptiness
from clew.simulator.judge.findings import Finding, refusal, violations
from clew.simulator.judge.layout import check_layout
from clew.simulator.judge.length import check_length
from clew.simulator.judge.marks import check_marks
from clew.simulator.judge.media import check_media
from clew.simulator.judge.modified import check_modified
from clew.simulator.judge.pairing import check_pairing
from clew.simulator.judge.parameters import check_parameters
from clew.simulator.judge.passed_back import check_passed_back
from clew.simulator.judge.prompt import prompt_of, refused
from clew.simulator.judge.roles import check_roles
from clew.simulator.judge.sampling import check_sampling
from clew.simulator.judge.schema_more import check_schema
from clew.simulator.judge.served import check_model
from clew.simulator.judge.signature import secret
from clew.simulator.judge.signer import RequestSigner
from clew.simulator.judge.thinking_parameters import check_thinking
from clew.simulator.judge.thoughts import check_empty_signatures, check_signatures, read_thread
from clew.simulator.judge.tool_parameters import check_tools
from clew.simulator.judge.transport import VERSIONS, check_transport
from clew.simulator.vendors import waived

__all__ = ["judge", "static_violations"]

Path: TypeAlias = Literal["/v1/messages", "/v1/messages/count_tokens"]
Check: TypeAlias = Callable[[Case], Iterable[Finding]]

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
) -> Verdict:
    """Judge one request. `realm`, or else kind and seed, make the secret: who has the same knows the signatures."""
    blank = _blank(headers, kind, account, stance, path)
    opened = _open(body, headers, replace(blank, books=books or Books()))
    if isinstance(opened, list):
        return Verdict(violation=opened[0])
    for phase in PHASES:
        found = violations(chain.from_iterable(check(opened) for check in phase), opened.stance)
        if found:
            return Verdict(violation=found[0], request=opened.body)
    lost = check_passed_back(opened)
    if lost:
        return Verdict(violation=lost, request=opened.body)
    return _judge_thinking(opened, secret(kind, seed, realm))


def static_violations(
    body: bytes,
    headers: Mapping[str, str],
    *,
    stance: Stance | None = None,
    kind: Kind = "anthropic",
    path: Path = "/v1/messages",
    asked: frozenset[str] = frozenset(),
) -> list[Violation]:
    """What the request alone decides: all findings of the first phase that has any, the vendor's first choice first.

    `asked` names rules that hold only for those who ask (`enforced = false` in the book).
    """
    stance = stance or Stance(choices=default_stances())
    opened = _open(body, headers, _blank(headers, kind, Account(name=""), stance, path))
    if isinstance(opened, list):
        return opened
    for phase in (*PHASES, (check_empty_signatures,)):
        found = chain.from_iterable(check(opened) for check in phase)
        counted = violations((finding for finding in found if rules()[finding.rule].static), opened.stance, asked=asked)
        if counted:
            return counted
    return []


def _blank(headers: Mapping[str, str], kind: Kind, account: Account, stance: Stance, path: Path) -> Case:
    """The case before anyone read the body. A version that may pass unknown counts as the older one."""
    version = headers.get("anthropic-version", "")
    of_vendor = replace(stance, without_rules=stance.without_rules | waived(kind))
    return Case(
        body={},
        version=version if version in VERSIONS else VERSIONS[0],
        betas=frozenset(betas_of(headers)),
        counting=path == "/v1/messages/count_tokens",
        kind=kind,
        account=account,
        stance=of_vendor,
    )


def _open(body: bytes, headers: Mapping[str, str], blank: Case) -> Case | list[Violation]:
    """The case, if the headers are in order and the body can be read. A body that cannot is refused whatever the grades."""
    found = violations(check_transport(body, headers), blank.stance)
    if found:
        return found
    document = read_document(body)
    if isinstance(document, Finding):
        return [refusal(document)]
    if not isinstance(document, dict):
        return [refusal(Finding("R4.body-not-object"))]
    return replace(blank, body=document)


def _judge_thinking(case: Case, key: bytes) -> Verdict:
    """The phases that need the secret. A refusal still says what was found up to the block that it names."""
    thread = read_thread(case, key)
    bound = bind(case, thread)
    prompt = prompt_of(case, thread, bound)
    phases = (
        chain(check_empty_signatures(case), check_signatures(thread)),
        check_modified(case, thread),
        bound.findings,
        check_length(case, prompt.input_tokens),
    )
    for phase in phases:
        found = violations(phase, case.stance)
        if found:
            return Verdict(violation=found[0], request=case.body, prompt=refused(prompt, found[0].path))
    return Verdict(request=case.body, prompt=prompt, signer=RequestSigner.after(key, case, thread.end, bound))
