"""What `check` finds in a request of OpenAI's dialects.

As it stands it is judged by OpenAI's rules for pairs, ids and reasoning. With `--for` it is judged as that target would get
it through clew: without clew, only a server of its own dialect can read it at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from clew.cli.block_verdicts import CheckedBlock, check_blocks, is_made_through_clew
from clew.cli.examine import CheckReport, TargetReport, targets_for
from clew.dialects import DIALECTS
from clew.errors import ClewError, RequestInvalid, Unrepresentable
from clew.model.facts.models import profile_for
from clew.model.json import JsonObject, list_of, object_of, read_object, text_of
from clew.model.origin import ANTHROPIC, Target
from clew.model.request import ALWAYS, Request
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.settings.values import Settings
from clew.thinking.compliance import check
from clew.thinking.openai_compliance import check_openai
from clew.wire.requests import encode

OPENAI = "openai"
SEALED = "responses.blob-invalid"
"""The one rule that a request breaks because it was held through clew."""


def examine_openai(raw: bytes, dialect: str, names: Sequence[str], facts: Facts, settings: Settings) -> CheckReport:
    """The request as OpenAI would get it as it is; with names, as each of these targets would get it through clew."""
    body = read_object(raw) or {}
    model, found = text_of(body.get("model")), check_openai(dialect, body)
    try:
        request = DIALECTS[dialect].read_request(raw, {}, ALWAYS)
    except ClewError as error:  # what clew itself refuses
        refused = (TargetReport(name, found, unsaid=str(error), left=found) for name in names or (OPENAI,))
        return CheckReport(name="", model=model, judged=tuple(refused))
    own = Target(backend=OPENAI, model=model, profile=profile_for(model), realm=OPENAI)
    targets = targets_for(names, model, settings) if names else {OPENAI: own}
    as_it_is = TargetReport(OPENAI, found, left=tuple(each for each in found if each.rule != SEALED))
    return CheckReport(
        name="",
        model=model,
        messages=len(request.messages),
        blocks=_named_by_item(check_blocks(request, targets.values(), facts), body),
        judged=tuple(_judge(request, name, facts, settings) for name in names) or (as_it_is,),
        is_ours=is_made_through_clew(request, facts),
    )


def _judge(request: Request, name: str, facts: Facts, settings: Settings) -> TargetReport:
    """What the target would refuse of what clew sends to it."""
    from clew.exchange.backend_dialect import backend_dialect  # late: the engine takes long to load

    [target], backend = targets_for([name], request.body.model, settings).values(), settings.backends.get(name)
    if backend is None and target.realm != ANTHROPIC:
        return TargetReport(name, (), known=False)
    try:
        sent = project(request, target, facts).request
        written = backend_dialect(backend, target.model).write(sent).body if backend else encode(sent)
    except (Unrepresentable, RequestInvalid) as error:
        return TargetReport(name, (), unsaid=str(error))
    dialect = backend.dialect if backend else ANTHROPIC
    if dialect == ANTHROPIC:
        found = check(written, profile=target.profile, thorough=True) if target.realm == ANTHROPIC else ()
    else:
        found = check_openai(dialect, read_object(written) or {})
    return TargetReport(name, found, left=found)


def _named_by_item(blocks: tuple[CheckedBlock, ...], body: JsonObject) -> tuple[CheckedBlock, ...]:
    """The blocks of a Responses request with the places of its reasoning items, where each has become one block."""
    places = [
        f"input[{place}]"
        for place, item in enumerate(list_of(body.get("input")))
        if object_of(item).get("type") == "reasoning"
    ]
    if len(places) != len(blocks):
        return blocks
    return tuple(structs.replace(block, path=place) for block, place in zip(blocks, places, strict=True))
