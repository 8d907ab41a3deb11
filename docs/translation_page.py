"""The page about translation: which form of asking counts, what becomes of schemas, and what errors are told as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clew.model.facts.chat_backends import Validator, bands, validators
from clew.model.facts.failures import Meaning, meanings
from clew.model.failure import error_type_of

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

HEAD = """# Translation

What becomes of a request, and of an error, between a client of Anthropic and a backend in dialect `openai-chat`. Nothing is
lost in silence: what a backend has no words for is a change, which the log tells. [Backends](backends.md) has their words.

## Which form of asking counts

From the strongest to the weakest; what another form overrides is told.

1. `thinking: disabled` is no thinking. A backend that cannot stop gets its lowest level.
2. `thinking: between_tools` is the lowest level.
3. `output_config.effort`: the newest one, and it holds for the whole request.
4. `thinking.budget_tokens`: the same number where the backend takes one, within its bounds and with 1,024 tokens left for
   the answer; otherwise a level, by the table below. A budget of 0 is no thinking.
5. `thinking: adaptive`, and `enabled` without a budget, leave it to the model.
6. Nothing at all is the backend's own default.

A level that a knob has no words for is rounded as the [knob's row](backends.md#how-each-kind-is-asked-to-think) says; one
that a model does not have, to the next lower, else to its lowest.
"""

REASONS = {
    "full": "the prompt is too long: clients compact, or ask for less if that is enough",
    "cap": "more is asked for than the model can say at once",
    "billing": "no money",
    "overloaded": "too much to do there: clients wait",
    "rate": "too much asked: clients wait as long as they are told",
    "auth": "the key is not accepted",
    "model": "no such model",
    "filter": "the content filter refused it",
    "answer": "the model's answer was thrown away: asking again helps",
    "permission": "not allowed",
    "timeout": "it took too long",
    "request": "the request is not understood",
}

ERRORS = """## What errors are told as

By the error's own code, or by its words. `status` are those of the response that it may correct; 0 is an error inside a 200.
An error that no row fits keeps its status, or gets the one of Anthropic's that stands for it.
"""


def translation_page(table: Table) -> str:
    rows = [(f"{floor:,}", level) for floor, level in sorted(bands())]
    parts = [HEAD, table(("from tokens", "level"), rows)]
    parts += [
        "## Schemas of tools\n",
        "What a backend's check (`wire.validator`) lets pass, and what is said in other words.\n",
    ]
    parts += [
        table(("validator", "passes", "never passes", "formats", "rewrites", "source"), map(_check, validators().values()))
    ]
    return "\n".join([*parts, ERRORS, table(("what it is", "told as", "status", "codes"), map(_error, meanings()))])


def _check(row: Validator) -> tuple[str, ...]:
    formats = "any" if row.formats is None else _listed(row.formats)
    named = _listed(row.keeps) or "all others"
    return f"`{row.name}`", named, _listed(row.drops), formats, _listed(row.rewrites), "; ".join(row.sources)


def _error(row: Meaning) -> tuple[str, ...]:
    statuses = ", ".join(map(str, sorted(row.over)))
    codes = _listed(row.codes) or "by its words"
    return REASONS[row.reason], f"{row.says} `{error_type_of(row.says)}`", statuses, codes


def _listed(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in sorted(names))
