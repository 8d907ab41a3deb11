"""Numbers and switches: what the model takes, and within which bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.rules import Finding
from clew.simulator.values import as_dict, as_list, as_number, as_str

__all__ = ["check_parameters"]

_RANGES: Final = {"temperature": (0, 2), "top_p": (0, 1), "presence_penalty": (-2, 2), "frequency_penalty": (-2, 2)}
_MANY: Final = 1_000_000


def check_parameters(case: ChatCase) -> Iterator[Finding]:
    yield from _unsupported(case)
    yield from _effort(case)
    yield from _thinking(case)
    yield from _caps(case)
    yield from _budget(case)
    yield from _numbers(case)
    yield from _stops(case)
    if case.body.get("stream_options") is not None and case.body.get("stream") is not True:
        yield Finding("chat.stream-options", "stream_options")


def _unsupported(case: ChatCase) -> Iterator[Finding]:
    for name, argument in case.traits.refuses.items():
        if case.body.get(name) is not None:
            names = {"field": name, "argument": argument, "model": case.model}
            yield Finding("chat.parameter-unsupported", name, names)
    for name, allowed in case.traits.pinned.items():
        given = case.body.get(name)
        if given is not None and given != allowed:
            names = {"field": name, "given": given, "allowed": f"{allowed:g}"}
            yield Finding("chat.parameter-pinned", name, names)


def _effort(case: ChatCase) -> Iterator[Finding]:
    for path, given in (
        ("reasoning_effort", case.body.get("reasoning_effort")),
        ("reasoning.effort", as_dict(case.body.get("reasoning")).get("effort")),
    ):
        if isinstance(given, str) and case.traits.efforts and given not in case.traits.efforts:
            efforts = ", ".join(f"'{effort}'" for effort in case.traits.efforts)
            yield Finding("chat.effort-value", path, {"given": given, "efforts": efforts, "model": case.model})


def _thinking(case: ChatCase) -> Iterator[Finding]:
    """Only `{type: enabled | disabled}`, and what the row of the vendor knows beside it."""
    if "thinking" not in case.traits.switches or case.body.get("thinking") is None:
        return
    given = as_dict(case.body["thinking"])
    kinds = case.traits.thinking
    if as_str(given.get("type")) not in kinds or given.keys() - {"type", *case.traits.thinking_fields}:
        yield Finding("chat.thinking-shape", "thinking", {"given": msgspec.json.encode(case.body["thinking"]).decode()})


def _caps(case: ChatCase) -> Iterator[Finding]:
    names = [name for name in ("max_tokens", "max_completion_tokens") if case.body.get(name) is not None]
    if len(names) == 2:
        yield Finding("chat.max-tokens-both", "max_tokens")
    limit = case.traits.max_output or _MANY
    for name in names:
        given = as_number(case.body[name])
        if given is not None and not 1 <= given <= limit:
            yield Finding("chat.max-tokens", name, {"given": given, "limit": limit})


def _budget(case: ChatCase) -> Iterator[Finding]:
    given, limit = case.body.get("thinking_budget"), case.traits.budget
    if given is not None and not (isinstance(given, int) and 1 <= given <= limit):
        yield Finding("chat.budget", "thinking_budget", {"limit": limit})


def _numbers(case: ChatCase) -> Iterator[Finding]:
    for name, (low, high) in _RANGES.items():
        given = as_number(case.body.get(name))
        if given is not None and not low <= given <= high:
            yield Finding("chat.number-range", name, {"given": given, "low": low, "high": high})


def _stops(case: ChatCase) -> Iterator[Finding]:
    stops = as_list(case.body.get("stop"))
    if len(stops) > case.vendor.stops or "" in stops:
        yield Finding("chat.stop-count", "stop", {"given": len(stops)})
