"""What `check` finds in a request: which rules are broken, and what becomes of its thinking (`block_verdicts`).

Pure: bytes and targets in, a report out. The violations are what the compliance check finds in the request as it is, which
is what a vendor gets without clew in between. A thread of a transcript is examined as well: its thinking goes through
`examine` in excerpts, and the report then names lines of the transcript.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from clew.backends.row import target_of
from clew.cli.block_verdicts import CheckedBlock, check_blocks, is_made_through_clew, thinking_in
from clew.cli.transcripts import BlockPlace, Excerpt, TranscriptThread, excerpts
from clew.errors import BodyTooLarge, ClewError, RequestInvalid, Unrepresentable
from clew.model.facts import rules
from clew.model.facts.models import canonical_model, profile_for
from clew.model.origin import ANTHROPIC, Target
from clew.model.request import Request
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.settings.values import Settings
from clew.thinking.compliance import Violation, check, not_checkable
from clew.thinking.keys import proof_of
from clew.thinking.seal import is_seal
from clew.wire.requests import MAX_BYTES, encode, parse
from clew.wire.splice import duplicate_keys
from clew.wire.strict_json import JsonFault, find_fault

BEYOND = frozenset({"R17.too-many-messages", "R63.lone-surrogate"})
"""After these findings a search for doubled keys makes no sense."""

SEALED_RIGHT = "Leave the block out, as --fix does: clew sealed it, and no vendor takes a seal."

_PATH = re.compile(r"messages\.(\d+)\.content\.(\d+)")
_OF_REQUESTS = ("R5.", "R8.")
"""Rules about model names and token counts. An excerpt has none that mean anything."""


class TargetReport(Struct, frozen=True):
    """What a target's vendor would refuse; `known` is False where its rules are not.

    `unsaid`: why the gateway itself would refuse it, since the target's dialect cannot express something in it.
    """

    target: str
    violations: tuple[Violation, ...]
    known: bool = True
    unsaid: str = ""
    left: tuple[Violation, ...] = ()
    """Those that are still there in what clew would send."""


class CheckReport(Struct, frozen=True, kw_only=True):
    """The result of a check of one conversation."""

    name: str
    model: str
    messages: int = 0
    blocks: tuple[CheckedBlock, ...] = ()
    judged: tuple[TargetReport, ...] = ()
    unchecked: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    fault: JsonFault | None = None
    """Where the text stops being JSON; `near` is the line of it."""
    near: str = ""
    is_ours: bool = False
    """It was held through this clew: a seal or a recording says that a backend of it made a thinking block."""

    @property
    def clean(self) -> bool:
        return not any(each.violations or each.unsaid for each in self.judged)

    @property
    def works_through_clew(self) -> bool:
        """Whether clew would send it to each target so that nothing is refused, and it was held through clew."""
        return self.is_ours and not any(each.left or each.unsaid for each in self.judged)


def targets_for(names: Sequence[str], own_model: str, settings: Settings | None = None) -> dict[str, Target]:
    """The target of each name that `--for` gives.

    A backend of the settings, a Claude model, `anthropic` for the model that is asked for, or another vendor's realm.
    Without any name it is the model that is asked for, whatever it is called: the request is in Anthropic's dialect.
    """
    rows = settings.models if settings else None

    def target(name: str) -> Target:
        if settings and (backend := settings.backends.get(name)):
            return target_of(backend, own_model, overrides=settings.models, foreign=settings.thinking.foreign)
        if name == ANTHROPIC or canonical_model(name, rows).startswith("claude"):
            return claude(own_model if name == ANTHROPIC else name)
        return Target(backend=name, model=name, profile=profile_for(name, rows), realm=name)

    def claude(model: str) -> Target:
        return Target(backend=ANTHROPIC, model=model, profile=profile_for(model, rows))

    return {name: target(name) for name in names} if names else {own_model or ANTHROPIC: claude(own_model)}


def examine(raw: bytes, names: Sequence[str], facts: Facts, *, settings: Settings | None = None) -> CheckReport:
    """The request as it would go to each of these targets; by default to its own model."""
    try:
        request = parse(raw)
    except ClewError:  # the check says why
        request = None
    model = request.body.model if request else ""
    targets = targets_for(names, model, settings)
    judged = [_judge(raw, name, target, request, facts) for name, target in targets.items()]
    if request is None:
        return _with_fault(raw, CheckReport(name="", model=model, judged=tuple(judged)))
    if settings is not None:
        judged = [_with_unsaid(each, request, targets[each.target], facts, settings) for each in judged]
    skipped = [not_checkable(raw, profile=each.profile) for each in targets.values() if each.realm == ANTHROPIC]
    return CheckReport(
        name="",
        model=model,
        messages=len(request.messages),
        blocks=check_blocks(request, targets.values(), facts),
        judged=tuple(judged),
        unchecked=tuple(dict.fromkeys(rule for each in skipped for rule in each)),
        doubled=tuple(duplicate_keys(raw)),
        is_ours=is_made_through_clew(request, facts),
    )


def _judge(raw: bytes, name: str, target: Target, request: Request | None, facts: Facts) -> TargetReport:
    if target.realm != ANTHROPIC and request is not None:
        return TargetReport(name, (), known=False)
    violations = _violations(raw, target, request)
    left = violations
    if violations and request is not None:
        try:
            sent = encode(project(request, target, facts).request)
        except RequestInvalid:
            pass
        else:
            left = _violations(sent, target, parse(sent))
    return TargetReport(name, violations, left=left)


def _violations(raw: bytes, target: Target, request: Request | None) -> tuple[Violation, ...]:
    """What the target would refuse of these bytes, and every block that clew sealed: no vendor takes a seal."""
    if len(raw) > MAX_BYTES:  # known without reading it
        rule = rules()["R62.too-large"]
        refused: tuple[Violation, ...] = (Violation(rule.id, "", rule.words(), rule.right),)
    else:
        refused = check(raw, profile=target.profile, thorough=True)
    if not refused and request is None:  # what the parser of clew refuses although no rule does must not pass in silence
        try:
            parse(raw)
        except RequestInvalid as error:
            refused = (Violation("R4.wrong-type", error.path, str(error), "Correct the value at that place."),)
        except ClewError as error:
            refused = (Violation("R62.too-large", "", str(error), "Send less."),)
    sealed: list[Violation] = []
    for path, block in thinking_in(request) if request is not None else ():
        if is_seal(proof_of(block)):
            rule = rules()["R33.foreign-signature" if block.type == "thinking" else "R33.invalid-data"]
            sealed.append(Violation(rule.id, path, rule.words(path=path), SEALED_RIGHT))
    named = {(each.rule, each.path) for each in sealed}
    return (*[each for each in refused if (each.rule, each.path) not in named], *sealed)


def _with_unsaid(judged: TargetReport, request: Request, target: Target, facts: Facts, settings: Settings) -> TargetReport:
    """With what cannot be expressed at all in the dialect of a backend."""
    backend = settings.backends.get(judged.target)
    if backend is None or backend.dialect == ANTHROPIC:
        return judged
    # Late: the engine takes longer to load than most files take to check.
    from clew.exchange.backend_dialect import backend_dialect

    try:
        backend_dialect(backend, target.model).write(project(request, target, facts).request)
    except Unrepresentable as error:
        return structs.replace(judged, unsaid=str(error))
    except RequestInvalid:  # the table of blocks shows it
        pass
    return judged


def _with_fault(raw: bytes, report: CheckReport) -> CheckReport:
    """What can be said of an unreadable request: where it stops being JSON, or which keys are doubled."""
    found = [rules()[violation.rule] for each in report.judged for violation in each.violations]
    if any(rule.phase == "json" for rule in found):
        try:
            fault = find_fault(raw)
        except BodyTooLarge:
            return report
        line = raw.split(b"\n", fault.line)[fault.line - 1].decode("utf-8", "replace")
        return structs.replace(report, fault=fault, near=line)
    if any(rule.phase == "transport" or rule.id in BEYOND for rule in found):
        return report
    return structs.replace(report, doubled=tuple(duplicate_keys(raw)))


# Threads of a transcript


def examine_thread(
    thread: TranscriptThread, names: Sequence[str], facts: Facts, settings: Settings | None = None
) -> tuple[CheckReport, dict[str, BlockPlace]]:
    """One thread of a transcript; and where each block of the report stands."""
    targets = targets_for(names, thread.model, settings)
    judged = tuple(TargetReport(name, (), known=target.realm == ANTHROPIC) for name, target in targets.items())
    report = CheckReport(name=thread.name, model=thread.model, messages=thread.messages, judged=judged)
    places: dict[str, BlockPlace] = {}
    for excerpt in excerpts(thread, thread.model):
        report = _join(report, examine(excerpt.raw, names, facts, settings=settings), excerpt)
        places |= {str(place): place for place in excerpt.places.values()}
    return report, places


def _join(report: CheckReport, found: CheckReport, excerpt: Excerpt) -> CheckReport:
    """The report with what was found in an excerpt: with lines of the transcript for places in the excerpt, and without
    numbers in the vendor's words that no request has."""

    def place(path: str) -> str:
        return _PATH.sub(lambda match: str(excerpt.places.get((int(match[1]), int(match[2])), match[0])), path)

    judged: list[TargetReport] = []
    for one, two in zip(report.judged, found.judged, strict=True):
        violations = [
            structs.replace(each, path=place(each.path), words=_PATH.sub("messages.N.content.M", each.words))
            for each in two.violations
        ]
        judged.append(structs.replace(one, violations=(*one.violations, *violations), left=(*one.left, *two.left)))
    return structs.replace(
        report,
        blocks=(*report.blocks, *(structs.replace(each, path=place(each.path)) for each in found.blocks)),
        judged=tuple(judged),
        unchecked=tuple(rule for rule in found.unchecked if not rule.startswith(_OF_REQUESTS)),
        doubled=(*report.doubled, *map(place, found.doubled)),
        is_ours=report.is_ours or found.is_ours,
    )
