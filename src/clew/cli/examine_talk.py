"""A conversation of a transcript, examined like a request.

Its thinking goes through `examine` in excerpts, and what that finds is told in terms of the transcript: lines for places
that nobody has ever seen, and no numbers in the vendor's words that no request has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import structs

from clew.cli.check_targets import targets_for
from clew.cli.examine import Judged, Report, examine
from clew.cli.transcripts import Excerpt, Place, Talk, excerpts
from clew.model.origin import ANTHROPIC
from clew.pipeline.step import Facts
from clew.settings.values import Settings
from clew.thinking.compliance import Violation

__all__ = ["examine_talk"]

_PATH = re.compile(r"messages\.(\d+)\.content\.(\d+)")
_OF_REQUESTS = ("R5.", "R8.")
"""Model names and token counts: of the excerpt's they would say nothing."""


def examine_talk(
    talk: Talk, names: Sequence[str], facts: Facts, settings: Settings | None = None
) -> tuple[Report, dict[str, Place]]:
    """One conversation of a transcript; and where each block of the report stands."""
    targets = targets_for(names, talk.model, settings)
    judged = tuple(Judged(name, (), known=target.realm == ANTHROPIC) for name, target in targets.items())
    report = Report(name=talk.name, model=talk.model, messages=talk.messages, judged=judged)
    places: dict[str, Place] = {}
    for excerpt in excerpts(talk, talk.model):
        report = _joined(report, _placed(examine(excerpt.raw, names, facts, settings=settings), excerpt))
        places |= {str(place): place for place in excerpt.places.values()}
    return report, places


def _joined(first: Report, second: Report) -> Report:
    judged = [
        structs.replace(one, violations=(*one.violations, *two.violations), left=(*one.left, *two.left))
        for one, two in zip(first.judged, second.judged, strict=True)
    ]
    return structs.replace(
        first,
        blocks=(*first.blocks, *second.blocks),
        judged=tuple(judged),
        unchecked=tuple(rule for rule in second.unchecked if not rule.startswith(_OF_REQUESTS)),
        doubled=(*first.doubled, *second.doubled),
        is_ours=first.is_ours or second.is_ours,
    )


def _placed(report: Report, excerpt: Excerpt) -> Report:
    """The report with lines of the transcript for places in the excerpt."""
    blocks = tuple(structs.replace(each, path=_place(each.path, excerpt)) for each in report.blocks)
    judged = tuple(
        structs.replace(each, violations=tuple(_retold(violation, excerpt) for violation in each.violations))
        for each in report.judged
    )
    doubled = tuple(_place(each, excerpt) for each in report.doubled)
    return structs.replace(report, blocks=blocks, judged=judged, doubled=doubled)


def _retold(violation: Violation, excerpt: Excerpt) -> Violation:
    words = _PATH.sub("messages.N.content.M", violation.words)
    return structs.replace(violation, path=_place(violation.path, excerpt), words=words)


def _place(path: str, excerpt: Excerpt) -> str:
    return _PATH.sub(lambda match: str(excerpt.places.get((int(match[1]), int(match[2])), match[0])), path)
