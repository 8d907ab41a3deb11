"""The checks of `clew doctor`: problems with this clew and around it, and how to repair each.

Every check is a row of `CHECKS`: a name, what it looks at, and a function from the circumstances to findings. Checks read
and change nothing, so they can run beside a gateway, and the command and the page show the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from clew.admin.checkup import config, storage, surroundings
from clew.admin.checkup.findings import Check, CheckFinding, Circumstances, State, broken, read_circumstances

__all__ = ["CHECKS", "Check", "CheckFinding", "CheckResult", "Circumstances", "read_circumstances", "run_check"]

CHECKS: Final[tuple[Check, ...]] = (
    Check("config", "The config can be read and is valid; it contains no key.", config.config),
    Check("backends", "Each backend has its key; with --online, it can be reached.", config.backends),
    Check("files", "Only the owner can read clew's files: 0700 and 0600, -wal and -shm too.", storage.files),
    Check("disk", "clew's files can be written, and the disk has room.", storage.disk),
    Check("secret", "The secret for seals exists.", storage.secret),
    Check("key", "The gateway's key exists.", storage.key),
    *storage.PROGRAMS,
    Check("store", "The store is sound and has a schema that this clew knows.", storage.store),
    Check("gateways", "Each gateway that is registered answers.", surroundings.gateways),
    Check("ports", "The ports are free, or a gateway's own.", surroundings.ports),
    Check("bypass", "No setting makes Claude Code bypass the gateway.", surroundings.bypass),
    Check("editors", "No editor makes its Claude Code bypass the gateway.", surroundings.editors),
    Check("proxy", "There is no proxy between clients and the gateway.", surroundings.proxies),
    Check("claude", "Claude Code is installed, and its version.", surroundings.claude),
    Check("clock", "The clock is about right.", surroundings.clock),
)
"""In the order in which they are shown."""


class CheckResult(Struct, frozen=True):
    """The findings of one check, and the worst state among them."""

    name: str
    state: State
    findings: tuple[CheckFinding, ...]


def run_check(check: Check, at: Circumstances, redact: Callable[[str], str]) -> CheckResult:
    """No finding holds a secret. A check that fails itself gives a finding too: the others still run."""
    found: list[CheckFinding] = []
    try:
        for each in check.run(at):
            found.append(each)
    except OSError as error:
        found.append(
            broken(f"cannot be checked: {error.strerror or error}", "correct its permissions, or report this problem")
        )
    findings = tuple(CheckFinding(each.state, redact(each.says), redact(each.fix)) for each in found)
    states = {each.state for each in findings}
    return CheckResult(check.name, "broken" if "broken" in states else "warning" if "warning" in states else "ok", findings)
