"""Whether the vendor serves the model at all (R5). Another vendor takes any name."""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding

__all__ = ["check_model"]


def check_model(case: Case) -> Iterator[Finding]:
    if case.vendor.models:
        return
    if not case.model.known:
        yield Finding("R5.model-unknown", "model", {"model": case.body.get("model")})
    elif case.model.retired:
        yield Finding("R5.model-retired", "model", {"model": case.body.get("model")})
