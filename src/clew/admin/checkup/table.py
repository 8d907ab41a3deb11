"""The table of checks, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from clew.admin.checkup import client, config, files, kept, present, room
from clew.admin.checkup.finding import Check, Circumstances, Finding, State, broken

__all__ = ["CHECKS", "Examined", "examined"]

CHECKS: Final[tuple[Check, ...]] = (
    Check("config", "The config can be read and is valid; no key stands in it.", config.config),
    Check("backends", "Each backend has its key; with --online, it can be reached.", config.backends),
    Check("files", "What clew keeps is its owner's alone: 0700 and 0600, -wal and -shm too.", files.files),
    Check("disk", "What clew keeps can be written, and there is room for it.", room.disk),
    Check("secret", "The secret behind the seals is there.", files.secret),
    Check("key", "The gateway's key is there.", files.key),
    *kept.PROGRAMS,
    Check("store", "The store is sound and has a schema that this clew knows.", kept.store),
    Check("gateways", "Each gateway that is registered answers.", present.gateways),
    Check("ports", "The ports are free, or a gateway's own.", present.ports),
    Check("bypass", "Nothing leads Claude Code past the gateway.", client.bypass),
    Check("proxy", "No proxy stands between clients and the gateway.", client.proxies),
    Check("claude", "Claude Code is there, and which version.", client.claude),
    Check("clock", "The clock is about right.", present.clock),
)


class Examined(Struct, frozen=True):
    """What came of one check: the worst of its findings, and all of them."""

    name: str
    state: State
    findings: tuple[Finding, ...]


def examined(check: Check, at: Circumstances, redact: Callable[[str], str]) -> Examined:
    """Run it. No finding holds a secret."""
    found = tuple(Finding(each.state, redact(each.says), redact(each.mend)) for each in _tried(check, at))
    states = {each.state for each in found}
    return Examined(check.name, "broken" if "broken" in states else "warning" if "warning" in states else "ok", found)


def _tried(check: Check, at: Circumstances) -> Iterator[Finding]:
    """A check that fails itself is a finding too: the others still run."""
    try:
        yield from check.run(at)
    except OSError as error:
        yield broken(f"cannot be looked at: {error.strerror or error}", "mend its rights, or report this")
