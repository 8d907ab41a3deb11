"""The doctor: which of the vendor's rules a request breaks. It never changes anything.

It shares the tables of facts (`clew.model.facts`) with the simulator and nothing else: two independent readings, which a
property test compares. It covers the rules that a request alone decides (the *static* rules); `not_checkable` names the
others that a request touches.

The vendor checks in phases and answers with the first defect. So `check` stops after the first phase that finds something,
and returns all that this phase found, in the order of the rules: the first is the one that the vendor would name.

    >>> [violation.rule for violation in check({"model": "claude-opus-5-5", "max_tokens": 10})]
    ['R4.messages-required']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from clew.model.facts import Grade, ModelFacts, Phase, Rule, default_stances, rules
from clew.model.facts.models import profile_for
from clew.model.json import JsonObject, object_of, text_of
from clew.thinking.compliance import content, layout, parameters, tools
from clew.thinking.compliance.arrival import MOST_BYTES, Headers, ParsedBody, parse, read_headers
from clew.thinking.compliance.request_view import Check, RequestView, RuleFinding, Violation, in_order
from clew.thinking.compliance.schema import ShapeCheck

__all__ = ["CHECKS", "OUTSIDE", "TOUCHED", "Violation", "check", "not_checkable"]

CHECKS: Mapping[str, Check] = {
    **parameters.RULES,
    **tools.RULES,
    **content.RULES,
    **layout.RULES,
}
"""The rules that have a function of their own. The other static ones are about headers, bytes, or the tables of shapes."""

UNREADABLE = frozenset({"R4.body-empty", "R4.body-not-json", "R4.body-not-object", "R63.lone-surrogate"})
"""Rules after which there is no request to go on with. No grade switches them off."""

LATER: tuple[Phase, ...] = ("parameters", "structure", "layout", "signature")


@dataclass(frozen=True, slots=True)
class _RulesInForce:
    stance: Mapping[str, str]
    without_grades: Collection[Grade]
    also: Collection[str]

    def holds(self, rule: Rule) -> bool:
        if rule.id in UNREADABLE:
            return True
        is_asked_for = rule.enforced or rule.id in self.also
        return rule.static and is_asked_for and rule.grade not in self.without_grades and rule.in_force(self.stance)


def check(
    request: bytes | JsonObject,
    *,
    headers: Mapping[str, str] | None = None,
    profile: ModelFacts | None = None,
    stance: Mapping[str, str] | None = None,
    without_grades: Collection[Grade] = (),
    also: Collection[str] = (),
    counting: bool = False,
    thorough: bool = False,
) -> tuple[Violation, ...]:
    """Return all violations of the first phase that fails, or nothing if the request breaks no static rule.

    `headers`: the request's; None judges the body alone, with every beta. `profile`: the target's facts; by default those of
    the request's model. `stance`: answers to disputed questions, by conflict id, on top of the suggested ones.
    `without_grades`: rules of these grades count for nothing. `also`: rules that hold only if asked for. `counting`: the
    request goes to count_tokens. `thorough`: what the later phases find too, for a person who fixes all of it at once.

    >>> [violation] = check({"model": "claude-opus-5-5", "max_tokens": 100, "messages": []})
    >>> violation.words
    'messages: at least one message is required'
    """
    in_force = _RulesInForce({**default_stances(), **(stance or {})}, without_grades, also)
    sent, parsed = read_headers(headers), parse(request)
    view = _view_of(parsed, sent, in_force.stance, profile)
    size = (RuleFinding("R62.too-large", "", {}),) if isinstance(request, bytes) and len(request) > MOST_BYTES else ()
    phases = ((*size, *sent.findings), *_phases_of_body(parsed, view, in_force, counting))
    found = (in_order(each for each in findings if in_force.holds(rules()[each.rule])) for findings in phases)
    if not thorough:
        return next(filter(None, found), ())
    # Findings of shape end a thorough check too, because the later phases read a request that has its shape.
    arrival, shape = next(found, ()), next(found, ())
    return arrival + shape if shape else arrival + tuple(chain.from_iterable(found))


def _view_of(parsed: ParsedBody, sent: Headers, stance: Mapping[str, str], profile: ModelFacts | None) -> RequestView:
    body = object_of(parsed.value)
    return RequestView(body, profile or profile_for(text_of(body.get("model"))), sent.version, sent.betas, stance)


def _phases_of_body(
    parsed: ParsedBody, view: RequestView, in_force: _RulesInForce, counting: bool
) -> Iterator[Iterable[RuleFinding]]:
    """The findings of each phase, in the order of checking; a phase runs only when its findings are read."""
    if parsed.unreadable:
        yield (parsed.unreadable,)
        return
    shape: Iterable[RuleFinding] = (RuleFinding("R4.body-not-object", "", {}),)
    if parsed.lone_surrogate:  # and nothing more about its shape: half a character in a path cannot be printed
        shape = (RuleFinding("R63.lone-surrogate", "", {}),)
    elif isinstance(parsed.value, dict):
        shape = ShapeCheck(view.version, view.betas, counting).walk(view.body)
    yield chain(shape, _run("schema", view, in_force))
    for phase in LATER:
        yield _run(phase, view, in_force)


def _run(phase: Phase, view: RequestView, in_force: _RulesInForce) -> Iterator[RuleFinding]:
    for rule in rules().values():
        if rule.phase == phase and rule.id in CHECKS and in_force.holds(rule):
            yield from (RuleFinding(rule.id, *defect) for defect in CHECKS[rule.id](view))


# ── rules that a request alone does not decide: they need the vendor's secrets, its clock or its token counts


OUTSIDE = frozenset(
    {
        "R62.not-found",
        "R75.limit",
        "R62.too-large-decoded",
        "R1.credential-missing",
        "R1.credential-both",
        "R1.credential-invalid",
    }
)
"""Rules about address, compression and credential, which are no part of the request that is checked."""


def _always(_: RequestView) -> bool:
    return True


def _has(kind: str) -> Callable[[RequestView], bool]:
    return lambda view: any(block.type == kind for block in view.blocks())


_PDF_SOURCES = ("base64", "url", "file")


def _has_thinking(view: RequestView) -> bool:
    return any(block.is_thinking for block in view.blocks())


def _latest_has_thinking(view: RequestView) -> bool:
    return any(block.is_thinking for run in view.assistant_runs[-1:] for block in run.blocks)


TOUCHED: dict[str, Callable[[RequestView], bool]] = {
    "R5.model-unknown": _always,
    "R5.model-retired": _always,
    "R64.image-dimensions": _has("image"),
    "R64.image-unreadable": _has("image"),
    "R64.pdf-pages": lambda view: any(
        block.type == "document" and object_of(block.value.get("source")).get("type") in _PDF_SOURCES
        for block in view.blocks()
    ),
    "R33.invalid-signature": _has("thinking"),
    "R33.invalid-data": _has("redacted_thinking"),
    "R34.modified": _latest_has_thinking,
    "R34.text-edited": _latest_has_thinking,
    "R43.unreadable": lambda view: view.stance.get("C-9") == "reject" and _has_thinking(view),
    "R44.conversation": lambda view: view.profile.prefix_check and _has_thinking(view),
    "R8.prompt-too-long": _always,
    "R8.prompt-and-output-too-long": lambda view: view.profile.overflow == "reject",
}
"""When a request touches such a rule, so that a report can name what was not checked."""


def not_checkable(
    request: bytes | JsonObject, *, profile: ModelFacts | None = None, stance: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The rules that this request touches and that only the vendor can judge, in the order of checking."""
    parsed = parse(request)
    if not isinstance(parsed.value, dict):
        return ()
    view = _view_of(parsed, read_headers(None), {**default_stances(), **(stance or {})}, profile)
    return tuple(rule for rule in rules() if rule in TOUCHED and TOUCHED[rule](view))
