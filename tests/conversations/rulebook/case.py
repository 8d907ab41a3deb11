"""One rule from both sides."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.conversations.asked import Asked
from tests.manifest import accepts, proves, refuses


class Case(NamedTuple):
    """`good` passes; `bad` breaks the rule at `path`, and the vendor's words have `said` in them."""

    rule: str
    path: str
    good: Asked
    bad: Asked
    said: dict[str, Any]
    stance: dict[str, str]
    also: tuple[str, ...]
    """Rules that hold only if asked for."""


def case(
    rule: str,
    path: str,
    *,
    good: Asked,
    bad: Asked,
    stance: dict[str, str] | None = None,
    also: bool = False,
    **said: Any,
) -> Case:
    return Case(rule, path, good, bad, said, stance or {}, (rule,) if also else ())


def accepted(cases: tuple[Case, ...]) -> list[Any]:
    return [pytest.param(each, id=_id(each, n), marks=_marks(each, accepts)) for n, each in enumerate(cases)]


def refused(cases: tuple[Case, ...]) -> list[Any]:
    return [pytest.param(each, id=_id(each, n), marks=_marks(each, refuses)) for n, each in enumerate(cases)]


def _id(case: Case, n: int) -> str:
    return f"{case.rule}-{n}"


def _marks(case: Case, side: Any) -> list[pytest.MarkDecorator]:
    return [side(f"rule:{case.rule}"), *(proves(f"conflict:{name}") for name in case.stance)]
