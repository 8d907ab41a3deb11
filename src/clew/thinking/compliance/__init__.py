"""The doctor: which of the vendor's rules a request breaks. It never changes anything.

It shares the tables of facts (`clew.model.facts`) with the simulator and nothing else: two independent readings, which a
property test compares. It covers what a request alone decides (the *static* rules); the rest, `not_checkable` names.

The vendor checks in phases and answers with the first defect. So `check` stops after the first phase that finds something,
and returns all that this phase found, in the order of the rules: the first is the one that the vendor would name.

    >>> [violation.rule for violation in check({"model": "claude-opus-5-5", "max_tokens": 10})]
    ['R4.messages-required']
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain

from clew.model.facts import Grade, ModelFacts, Phase, Rule, default_stances, rules
from clew.model.json import JsonObject
from clew.thinking.compliance import caching, content, layout, pairing, parameters, roles, sampling, tools, versions
from clew.thinking.compliance.arrival import Headers, Parsed, oversize, parse, read_headers
from clew.thinking.compliance.findings import Finding, Violation, in_order
from clew.thinking.compliance.reading import Check, Reading, obj, spoken
from clew.thinking.compliance.schema import Schema
from clew.thinking.compliance.unchecked import TOUCHED
from clew.thinking.profiles import profile_for

__all__ = ["CHECKS", "Violation", "check", "not_checkable"]

CHECKS: Mapping[str, Check] = {
    **versions.RULES,
    **parameters.RULES,
    **sampling.RULES,
    **tools.RULES,
    **roles.RULES,
    **pairing.RULES,
    **content.RULES,
    **caching.RULES,
    **layout.RULES,
}
"""The rules that have a function of their own. The other static ones are about headers, bytes, or the tables of shapes."""

UNREADABLE = frozenset({"R4.body-empty", "R4.body-not-json", "R4.body-not-object", "R63.lone-surrogate"})
"""Then there is no request to go on with, so that no grade switches them off."""

LATER: tuple[Phase, ...] = ("parameters", "structure", "layout", "signature")


@dataclass(frozen=True, slots=True)
class _Book:
    """The rules that are in force."""

    stance: Mapping[str, str]
    without_grades: Collection[Grade]
    also: Collection[str]

    def holds(self, rule: Rule) -> bool:
        if rule.id in UNREADABLE:
            return True
        asked = rule.enforced or rule.id in self.also
        return rule.static and asked and rule.grade not in self.without_grades and rule.in_force(self.stance)

    def keep(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        return (each for each in findings if self.holds(rules()[each.rule]))


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
    """All that the first failing phase finds; nothing if the request breaks no static rule.

    `headers`: the request's; None judges the body alone, with every beta. `profile`: the target's facts; by default those of
    the request's model. `stance`: answers to disputed questions, by conflict id, on top of the suggested ones.
    `without_grades`: rules of these grades count for nothing. `also`: rules that hold only if asked for. `counting`: the
    request goes to count_tokens. `thorough`: what the later phases find too, for a person who mends all of it at once.

    >>> [violation] = check({"model": "claude-opus-5-5", "max_tokens": 100, "messages": []})
    >>> violation.words
    'messages: at least one message is required'
    """
    book = _Book({**default_stances(), **(stance or {})}, without_grades, also)
    said, parsed = read_headers(headers), parse(request)
    reading = _read(parsed, said, book.stance, profile)
    phases = ((*oversize(request), *said.findings), *_of_body(parsed, reading, book, counting))
    found = (in_order(book.keep(findings)) for findings in phases)
    return _all_of(found) if thorough else next(filter(None, found), ())


def _all_of(found: Iterator[tuple[Violation, ...]]) -> tuple[Violation, ...]:
    """Every phase's findings; those of shape end it, because the later phases read a request that has its shape."""
    arrival, shape = next(found, ()), next(found, ())
    return arrival + shape if shape else arrival + tuple(chain.from_iterable(found))


def _of_body(parsed: Parsed, reading: Reading, book: _Book, counting: bool) -> Iterator[Iterable[Finding]]:
    """What each phase finds in the body, in the order of checking; nothing is looked at before it is asked for."""
    if parsed.unreadable:
        yield (parsed.unreadable,)
        return
    yield chain(_schema(parsed, reading, counting), _run("schema", reading, book))
    for phase in LATER:
        yield _run(phase, reading, book)


def _read(parsed: Parsed, said: Headers, stance: Mapping[str, str], profile: ModelFacts | None) -> Reading:
    body = obj(parsed.value)
    return Reading(body, profile or profile_for(spoken(body.get("model"))), said.version, said.betas, stance)


def _schema(parsed: Parsed, reading: Reading, counting: bool) -> Iterator[Finding]:
    if parsed.lone_surrogate:
        yield Finding("R63.lone-surrogate", "", {})  # and nothing more: half a character in a path cannot be printed
    elif isinstance(parsed.value, dict):
        yield from Schema(reading.version, reading.betas, counting).walk(reading.body)
    else:
        yield Finding("R4.body-not-object", "", {})


@cache
def _table(phase: Phase) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules().values() if rule.phase == phase and rule.id in CHECKS)


def _run(phase: Phase, reading: Reading, book: _Book) -> Iterator[Finding]:
    for rule in _table(phase):
        if book.holds(rule):
            yield from (Finding(rule.id, *spot) for spot in CHECKS[rule.id](reading))


def not_checkable(
    request: bytes | JsonObject, *, profile: ModelFacts | None = None, stance: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The rules that this request comes near and that only the vendor can judge, in the order of checking."""
    parsed = parse(request)
    if not isinstance(parsed.value, dict):
        return ()
    reading = _read(parsed, read_headers(None), {**default_stances(), **(stance or {})}, profile)
    return tuple(rule for rule in rules() if rule in TOUCHED and TOUCHED[rule](reading))
