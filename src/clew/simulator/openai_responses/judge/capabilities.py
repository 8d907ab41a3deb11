"""What the model takes and what it does not: parameters, efforts, summaries, encrypted content, lengths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from clew.simulator.openai_responses.judge.case import ResponsesCase, quoted
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_list, objects_in

_MOST_BREAKPOINTS: Final = 4
_UNVERIFIED: Final = "unverified"
"""How the name of an organization begins that is not verified."""


def check_model(case: ResponsesCase) -> Iterator[RuleBreach]:
    """The model must exist."""
    if case.vendor.traits_of(case.model) is None:
        yield RuleBreach("responses.model-unknown", "model", {"model": case.model})


def check_parameters(case: ResponsesCase) -> Iterator[RuleBreach]:
    """The model takes what is set."""
    for name in case.traits.refuses:
        if case.body.get(name) is not None:
            yield RuleBreach("responses.parameter-unsupported", name)
    include = as_list(case.body.get("include"))
    thinks = case.traits.thinks != "never"
    if thinks and "message.output_text.logprobs" in include:
        yield RuleBreach("responses.logprobs", "include")
    if thinks and case.body.get("top_logprobs"):
        yield RuleBreach("responses.logprobs", "top_logprobs")
    if not thinks and "reasoning.encrypted_content" in include:
        yield RuleBreach("responses.include-unsupported", "include")
    given, limit = case.body.get("max_output_tokens"), case.traits.max_output
    if isinstance(given, int) and limit and given > limit:
        yield RuleBreach("responses.max-output-high", "max_output_tokens", {"given": given, "limit": limit})


def check_reasoning_options(case: ResponsesCase) -> Iterator[RuleBreach]:
    """The effort and the summary are among the model's, and the organization may have summaries."""
    for name, values in (("effort", case.traits.efforts), ("summary", case.traits.summaries)):
        given, path = case.reasoning.get(name), f"reasoning.{name}"
        if given is None:
            continue
        if case.traits.thinks == "never":
            yield RuleBreach("responses.effort-unsupported", path)
        elif given not in values:
            names = {"given": given, "model": case.model, "values": quoted(values)}
            yield RuleBreach("responses.effort-value", path, names)
    if case.reasoning.get("summary") is not None and case.account.startswith(_UNVERIFIED):
        yield RuleBreach("responses.summary-unverified", "reasoning.summary")


def check_format(case: ResponsesCase) -> Iterator[RuleBreach]:
    """JSON without a schema needs the word in some message."""
    format_ = as_dict(as_dict(case.body.get("text")).get("format"))
    if format_.get("type") == "json_object":
        said = msgspec.json.encode([each.item for each in case.items if "role" in each.item])
        if b"json" not in said.lower():
            yield RuleBreach("responses.json-word", "input")


def check_breakpoints(case: ResponsesCase) -> Iterator[RuleBreach]:
    """A request may have four marks of the prompt cache at most."""
    count = sum("prompt_cache_breakpoint" in each for each in objects_in(case.body))
    if count > _MOST_BREAKPOINTS:
        yield RuleBreach("responses.breakpoints", "input", {"count": count})


def check_length(case: ResponsesCase) -> Iterator[RuleBreach]:
    """The prompt and the answer fit."""
    asked = case.body.get("max_output_tokens")
    answer = asked if isinstance(asked, int) else 0
    if case.body.get("truncation") != "auto" and case.tokens + answer > case.traits.context:
        yield RuleBreach("responses.too-long", "input")
