"""What `check` finds: for each thinking block who made it and whether it goes to each target, and which rules are broken.

Pure: bytes and targets in, a report out. The verdicts are not a second opinion but what the projection itself does; the
violations are what the compliance check finds in the request as it is, which is what a vendor without clew in between gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from clew.backends.row import target_of
from clew.dialects.anthropic.requests import MAX_BYTES, parse, raw_of
from clew.errors import BodyTooLarge, ClewError, RequestInvalid, SealInvalid, Unrepresentable
from clew.model.blocks import Block, is_thinking, string_of
from clew.model.change import Change
from clew.model.facts import ModelFacts, rules
from clew.model.origin import ANTHROPIC
from clew.model.request import Request, blocks_of
from clew.model.target import Target
from clew.pipeline.project import Projection, project
from clew.pipeline.step import Facts
from clew.settings.values import Settings
from clew.thinking.compliance import Violation, check, not_checkable
from clew.thinking.keys import proof_of
from clew.thinking.profiles import canonical_model, profile_for
from clew.thinking.seal import is_seal
from clew.wire.body import Fault, find_fault
from clew.wire.splice import duplicate_keys

__all__ = ["Judged", "Report", "Seen", "Verdict", "examine", "targets_for"]

Rows: TypeAlias = Mapping[str, ModelFacts] | None
"""What is known of models, with the operator's rows on top; None: ours alone."""

BEYOND = frozenset({"R17.too-many-messages", "R63.lone-surrogate"})
"""Findings after which looking for doubled keys would be looking at noise."""

UNOPENED = "sealed by clew; its maker cannot be told without the secret"
UNSEALED = "unsealed into its maker's own form"
SEALED_RIGHT = "Leave the block out, as --fix does: clew sealed it, and no vendor takes a seal."


class Verdict(Struct, frozen=True):
    """Whether a block goes to a target, and why not, or in which form."""

    what: str
    why: str = ""


class Seen(Struct, frozen=True):
    """One thinking block. `verdicts` has one for each target, in their order."""

    path: str
    type: str
    origin: str
    size: int
    verdicts: tuple[Verdict, ...]


class Judged(Struct, frozen=True):
    """What a target's vendor would refuse; `known` is False where its rules are not.

    `unsaid`: why the gateway itself would refuse it, since the target's dialect has no words for something in it.
    """

    target: str
    violations: tuple[Violation, ...]
    known: bool = True
    unsaid: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """One conversation, examined."""

    name: str
    model: str
    messages: int = 0
    blocks: tuple[Seen, ...] = ()
    judged: tuple[Judged, ...] = ()
    unchecked: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    fault: Fault | None = None
    """Where the text stops being JSON, and the line that it happens in."""
    near: str = ""

    @property
    def clean(self) -> bool:
        return not any(each.violations or each.unsaid for each in self.judged)


def targets_for(names: Sequence[str], own_model: str, settings: Settings | None = None) -> dict[str, Target]:
    """What each name of `--for` means.

    A backend of the settings, a Claude model, `anthropic` for the model that is asked for, or another vendor's realm.
    Without any name it is the model that is asked for, whatever it is called: the request is in Anthropic's dialect.
    """
    rows = settings.models if settings else None
    if not names:
        return {own_model or ANTHROPIC: _claude(own_model, rows)}
    return {name: _configured(name, own_model, settings) or _target(name, own_model, rows) for name in names}


def _configured(name: str, own_model: str, settings: Settings | None) -> Target | None:
    if settings is None or name not in settings.backends:
        return None
    return target_of(settings.backends[name], own_model, overrides=settings.models, foreign=settings.thinking.foreign)


def _target(name: str, own_model: str, rows: Rows) -> Target:
    if name == ANTHROPIC or canonical_model(name, rows).startswith("claude"):
        return _claude(own_model if name == ANTHROPIC else name, rows)
    return Target(backend=name, model=name, profile=profile_for(name, rows), realm=name)


def _claude(model: str, rows: Rows) -> Target:
    return Target(backend=ANTHROPIC, model=model, profile=profile_for(model, rows))


def examine(raw: bytes, names: Sequence[str], facts: Facts, *, name: str = "", settings: Settings | None = None) -> Report:
    """A request as it would go to each of these targets; by default to its own model."""
    own, request = _read(raw)
    targets = targets_for(names, own, settings)
    judged = tuple(_judged(raw, label, target, request) for label, target in targets.items())
    if request is None:
        return _of_unreadable(raw, Report(name=name, model=own, judged=judged))
    if settings is not None:
        judged = tuple(_worded(each, request, targets[each.target], facts, settings) for each in judged)
    return Report(
        name=name,
        model=own,
        messages=len(request.messages),
        blocks=_blocks(request, targets.values(), facts),
        judged=judged,
        unchecked=_unchecked(raw, targets.values()),
        doubled=tuple(duplicate_keys(raw)),
    )


def _read(raw: bytes) -> tuple[str, Request | None]:
    """The model that is asked for, and the request; none if it cannot be read as one (the check then says why)."""
    try:
        request = parse(raw)
    except ClewError:
        return "", None
    return request.body.model, request


def _judged(raw: bytes, name: str, target: Target, request: Request | None) -> Judged:
    if target.realm != ANTHROPIC and request is not None:
        return Judged(name, (), known=False)
    found = _oversize(raw) or check(raw, profile=target.profile, thorough=True) or _unreadable(raw, request)
    return Judged(name, (*found, *_sealed(request)))


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
    for path, block in _thinking(request) if request else ():
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


def _thinking(request: Request) -> list[tuple[str, Block]]:
    return [
        (f"messages.{i}.content.{j}", block)
        for i, message in enumerate(request.source.body.messages)
        for j, block in enumerate(blocks_of(message))
        if is_thinking(block)
    ]


def _blocks(request: Request, targets: Iterable[Target], facts: Facts) -> tuple[Seen, ...]:
    thinking = _thinking(request)
    if not thinking:
        return ()
    rows = [_verdicts(request, target, facts) for target in targets]
    return tuple(
        Seen(path, block.type, _origin(block, facts), _size(request, block), tuple(row(path, block) for row in rows))
        for path, block in thinking
    )


def _size(request: Request, block: Block) -> int:
    """The block's bytes; 0 where a doubled key hides which they are."""
    try:
        return len(raw_of(request, block))
    except RequestInvalid:
        return 0


_Row: TypeAlias = Callable[[str, Block], Verdict]


def _verdicts(request: Request, target: Target, facts: Facts) -> _Row:
    """What this target would get of each block."""
    try:
        row = _row(project(request, target, facts))
    except RequestInvalid as error:
        why = str(error)
        return lambda path, block: Verdict("cannot be edited", why)
    return row if facts.sealer else _without_secret(row)


def _without_secret(row: _Row) -> _Row:
    """Without the secret no seal opens; that says nothing about the seal."""

    def verdict(path: str, block: Block) -> Verdict:
        said = row(path, block)
        return structs.replace(said, why=UNOPENED) if said.what == "left out" and is_seal(proof_of(block)) else said

    return verdict


def _row(projection: Projection) -> _Row:
    """Still there, or the change that says why it is not."""
    there = {id(block) for message in projection.request.messages for block in blocks_of(message)}
    changes = {change.path: change for change in reversed(projection.changes)}

    def verdict(path: str, block: Block) -> Verdict:
        if id(block) in there:
            return Verdict("goes")
        change = changes.get(path) or changes.get(path.rpartition(".content.")[0])
        return _said(change) if change else Verdict("goes", UNSEALED)

    return verdict


def _said(change: Change) -> Verdict:
    return Verdict(change.what, change.why)


def _origin(block: Block, facts: Facts) -> str:
    """Who made a block, as far as its bytes tell."""
    proof = proof_of(block)
    if not proof:
        return "unsigned"
    if not is_seal(proof):
        return "redacted" if block.type == "redacted_thinking" else "native signature"
    if facts.sealer is None:
        return "sealed"
    try:
        origin = facts.sealer.open(proof, string_of(block.thinking), principal=facts.context.principal).origin
    except SealInvalid:
        return "sealed, does not verify"
    return f"sealed, {origin.backend} {origin.model}"
