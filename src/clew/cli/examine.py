"""What `check` finds in a request: which rules are broken, and what becomes of its thinking (`block_verdicts`).

Pure: bytes and targets in, a report out. The violations are what the compliance check finds in the request as it is, which
is what a vendor without clew in between gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from clew.cli.block_verdicts import Seen, is_ours, seen_blocks, thinking_in
from clew.cli.check_targets import targets_for
from clew.errors import BodyTooLarge, ClewError, RequestInvalid, Unrepresentable
from clew.model.facts import rules
from clew.model.origin import ANTHROPIC
from clew.model.request import Request
from clew.model.target import Target
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.settings.values import Settings
from clew.thinking.compliance import Violation, check, not_checkable
from clew.thinking.keys import proof_of
from clew.thinking.seal import is_seal
from clew.wire.requests import MAX_BYTES, encode, parse
from clew.wire.splice import duplicate_keys
from clew.wire.strict_json import JsonFault, find_fault

__all__ = ["Judged", "Report", "examine"]

BEYOND = frozenset({"R17.too-many-messages", "R63.lone-surrogate"})
"""Findings after which looking for doubled keys would be looking at noise."""

SEALED_RIGHT = "Leave the block out, as --fix does: clew sealed it, and no vendor takes a seal."


class Judged(Struct, frozen=True):
    """What a target's vendor would refuse; `known` is False where its rules are not.

    `unsaid`: why the gateway itself would refuse it, since the target's dialect has no words for something in it.
    """

    target: str
    violations: tuple[Violation, ...]
    known: bool = True
    unsaid: str = ""
    left: tuple[Violation, ...] = ()
    """Those that are still there in what clew would send."""


class Report(Struct, frozen=True, kw_only=True):
    """One conversation, examined."""

    name: str
    model: str
    messages: int = 0
    blocks: tuple[Seen, ...] = ()
    judged: tuple[Judged, ...] = ()
    unchecked: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    fault: JsonFault | None = None
    """Where the text stops being JSON, and the line that it happens in."""
    near: str = ""
    is_ours: bool = False
    """It was held through this clew: a backend of it made a thinking block, as a seal or a recording says."""

    @property
    def clean(self) -> bool:
        return not any(each.violations or each.unsaid for each in self.judged)

    @property
    def works_through_clew(self) -> bool:
        """Whether clew, which it was held through, would send it to each target without anything that is refused."""
        return self.is_ours and not any(each.left or each.unsaid for each in self.judged)


def examine(raw: bytes, names: Sequence[str], facts: Facts, *, name: str = "", settings: Settings | None = None) -> Report:
    """A request as it would go to each of these targets; by default to its own model."""
    own, request = _read(raw)
    targets = targets_for(names, own, settings)
    judged = tuple(_judged(raw, label, target, request, facts) for label, target in targets.items())
    if request is None:
        return _of_unreadable(raw, Report(name=name, model=own, judged=judged))
    if settings is not None:
        judged = tuple(_worded(each, request, targets[each.target], facts, settings) for each in judged)
    return Report(
        name=name,
        model=own,
        messages=len(request.messages),
        blocks=seen_blocks(request, targets.values(), facts),
        judged=judged,
        unchecked=_unchecked(raw, targets.values()),
        doubled=tuple(duplicate_keys(raw)),
        is_ours=is_ours(request, facts),
    )


def _read(raw: bytes) -> tuple[str, Request | None]:
    """The model that is asked for, and the request; none if it cannot be read as one (the check then says why)."""
    try:
        request = parse(raw)
    except ClewError:
        return "", None
    return request.body.model, request


def _judged(raw: bytes, name: str, target: Target, request: Request | None, facts: Facts) -> Judged:
    if target.realm != ANTHROPIC and request is not None:
        return Judged(name, (), known=False)
    violations = (*_refused(raw, target, request), *_sealed(request))
    return Judged(name, violations, left=_left(violations, request, target, facts) if violations else ())


def _refused(raw: bytes, target: Target, request: Request | None) -> tuple[Violation, ...]:
    return _oversize(raw) or check(raw, profile=target.profile, thorough=True) or _unreadable(raw, request)


def _left(violations: tuple[Violation, ...], request: Request | None, target: Target, facts: Facts) -> tuple[Violation, ...]:
    """What the target would refuse of the request as clew sends it."""
    if request is None:
        return violations
    try:
        sent = encode(project(request, target, facts).request)
    except RequestInvalid:
        return violations
    going = parse(sent)
    return (*_refused(sent, target, going), *_sealed(going))


def _worded(judged: Judged, request: Request, target: Target, facts: Facts, settings: Settings) -> Judged:
    """With what a backend in another dialect cannot be told at all."""
    backend = settings.backends.get(judged.target)
    if backend is None or backend.dialect == ANTHROPIC:
        return judged
    from clew.engine.dialects import dialect_of  # late: the engine takes longer to load than most files take to check

    try:
        dialect_of(backend, target.model).written(project(request, target, facts).request)
    except Unrepresentable as error:
        return structs.replace(judged, unsaid=str(error))
    except RequestInvalid:  # the table says so
        pass
    return judged


def _oversize(raw: bytes) -> tuple[Violation, ...]:
    """Said without reading it: nobody will."""
    rule = rules()["R62.too-large"]
    return (Violation(rule.id, "", rule.words(), rule.right),) if len(raw) > MAX_BYTES else ()


def _unreadable(raw: bytes, request: Request | None) -> tuple[Violation, ...]:
    """What our own reader refuses although no rule does; so that nothing passes in silence."""
    if request is not None:
        return ()
    try:
        parse(raw)
    except RequestInvalid as error:
        return (Violation("R4.wrong-type", error.path, str(error), "Mend the value at that place."),)
    except ClewError as error:
        return (Violation("R62.too-large", "", str(error), "Send less."),)
    raise AssertionError("it could not be read a moment ago")


def _sealed(request: Request | None) -> Iterable[Violation]:
    """Blocks that clew sealed: refused by every vendor, and that much can be known without asking one."""
    for path, block in thinking_in(request) if request else ():
        if is_seal(proof_of(block)):
            rule = rules()["R33.invalid-signature" if block.type == "thinking" else "R33.invalid-data"]
            yield Violation(rule.id, path, rule.words(path=path), SEALED_RIGHT)


def _of_unreadable(raw: bytes, report: Report) -> Report:
    """What can still be said: where it stops being JSON, or which keys are doubled."""
    found = [rules()[violation.rule] for each in report.judged for violation in each.violations]
    if any(rule.phase == "json" for rule in found):
        return _with_fault(raw, report)
    if any(rule.phase == "transport" or rule.id in BEYOND for rule in found):
        return report
    return structs.replace(report, doubled=tuple(duplicate_keys(raw)))


def _with_fault(raw: bytes, report: Report) -> Report:
    try:
        fault = find_fault(raw)
    except BodyTooLarge:
        return report
    line = raw.split(b"\n", fault.line)[fault.line - 1].decode("utf-8", "replace")
    return structs.replace(report, fault=fault, near=line)


def _unchecked(raw: bytes, targets: Iterable[Target]) -> tuple[str, ...]:
    asked = [not_checkable(raw, profile=target.profile) for target in targets if target.realm == ANTHROPIC]
    return tuple(dict.fromkeys(rule for each in asked for rule in each))
