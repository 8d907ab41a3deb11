"""Headers and size: what is wrong before anyone reads the body (R2, R3, R62)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clew.model.facts import betas
from clew.simulator.judge.case import betas_of
from clew.simulator.judge.findings import Finding

__all__ = ["MAX_BODY", "VERSIONS", "check_transport"]

MAX_BODY = 32 * 1024 * 1024
VERSIONS = ("2023-06-01", "2026-10-21")


def check_transport(body: bytes, headers: Mapping[str, str]) -> Iterator[Finding]:
    if len(body) > MAX_BODY:
        yield Finding("R62.too-large")
    version = headers.get("anthropic-version", "")
    if not version:
        yield Finding("R2.version-missing")
    elif version not in VERSIONS:
        yield Finding("R2.version-unknown", names={"version": version})
    unknown = [name for name in betas_of(headers) if name not in betas()]
    if unknown:
        yield Finding("R3.beta-unknown", names={"values": ", ".join(f"`{name}`" for name in unknown)})
