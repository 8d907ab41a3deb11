"""What is kept: the program under each kind of store, and whether the store is sound, in its own words."""

from __future__ import annotations

from collections.abc import Iterator

from clew.admin.checkup.finding import Check, Circumstances, Finding, fine
from clew.store.kinds import KINDS, kind_named
from clew.store.location import StoreFinding

__all__ = ["PROGRAMS", "store"]


def store(at: Circumstances) -> Iterator[Finding]:
    """The schema is ours, the store's own check finds nothing, and what is kept agrees with itself."""
    if at.store is None:
        yield fine('switched off: `[store] url = "off"`')
    else:
        yield from map(_finding, at.store.examine(at.now))


def _program(name: str) -> Check:
    kind = kind_named(name)
    return Check(name, kind.program, lambda at: map(_finding, kind.examine_program()))


def _finding(each: StoreFinding) -> Finding:
    return Finding(each.state, each.says, each.repair)


PROGRAMS = tuple(_program(name) for name in KINDS)
"""A check for each kind of store: whether the program under it can be used."""
