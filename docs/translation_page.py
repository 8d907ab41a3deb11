"""The page about translation: which form of asking counts, what becomes of schemas, and what errors are told as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clew.model.facts.chat_backends import Validator, bands, validators
from clew.model.facts.failures import Meaning, meanings
from clew.model.failure import error_type_of

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

HEAD = """# Translation

How requests and errors are translated between a client of Anthropic's API and a backend in dialect `openai-chat`. If a
backend has no field for a part of a request, that part is listed as a change in the log. See also [Backends](backends.md).

## Which thinking setting is used

If a request has several, the first of this list is used, and the log names the others.

1. `thinking: disabled`: no thinking. A backend that always thinks gets its lowest level.
2. `thinking: between_tools`: the lowest level.
3. `output_config.effort`: the newest one; it is used for the whole request.
4. `thinking.budget_tokens`: the same number, if the backend accepts one, within its limits and with 1,024 tokens left for
   the answer. Otherwise a level, by the table below. A budget of 0 means no thinking.
5. `thinking: adaptive`, and `enabled` without a budget: the model decides.
6. None of these: the backend's own default.

If a backend does not have a level, it is rounded as [its row](backends.md#how-each-kind-is-asked-to-think) says. If a model
does not have it, the next lower level is used, or else the lowest.
"""

REASONS = {
    "full": "the prompt is too long: clients compact it, or ask for fewer tokens",
    "cap": "more output tokens are asked for than the model can write",
    "billing": "the account has no credit",
    "overloaded": "the backend is overloaded: clients wait",
    "rate": "a rate limit: clients wait for the given time",
    "auth": "the key is refused",
    "model": "the model does not exist",
    "filter": "the content filter refused it",
    "answer": "the backend discarded the model's answer: another try helps",
    "permission": "not allowed",
    "timeout": "it took too long",
    "request": "the request is invalid",
}

ERRORS = """## Errors

An error is recognized by its code or by its message. `status`: only answers with these statuses are corrected; 0 is an error
inside an answer with status 200. An error without a row keeps its status, or gets the matching one of Anthropic's API.
"""


def translation_page(table: Table) -> str:
    rows = [(f"{floor:,}", level) for floor, level in sorted(bands())]
    parts = [HEAD, table(("from tokens", "level"), rows)]
    parts += [
        "## Schemas of tools\n",
        "What the check of a backend (`wire.validator`) accepts, and what clew rewrites.\n",
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
