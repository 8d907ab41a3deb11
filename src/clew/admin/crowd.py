"""Crowd: how much room each key holder takes, so that one of them cannot take it all.

A request counts from when its key is known until the last byte of its answer went out, however it ends. Whoever has the
admin's own doors (its socket, its token, a session) is the owner, and is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from starlette.types import Scope

from clew.admin.access import Caller
from clew.admin.problem import Problem

__all__ = ["MOST", "Crowd"]

MOST: Final = 32
"""Requests at the same time, for each principal: a part of what the listener takes."""

_COUNTED: Final = "clew.counted"


class Crowd:
    """`visit` around a request; `admit` once it is known whose it is."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._inside: Counter[str] = Counter()

    @contextmanager
    def visit(self, scope: Scope) -> Generator[None]:
        """Around one request: if `admit` counted its caller in, count it out again at the end."""
        try:
            yield
        finally:
            if (principal := scope.pop(_COUNTED, None)) is not None:
                self._inside[principal] -= 1
                self._inside += Counter()  # nobody is remembered who is gone

    def admit(self, scope: Scope, caller: Caller | None) -> None:
        """Raises Problem where this key holder has as many already."""
        if caller is None or caller.door != "key":
            return
        if self._inside[caller.principal] >= self._most:
            why = f"{self._most} requests with this principal's keys are under way"
            raise Problem(429, "too many requests at once", why, "wait for the end of one", retry_after=1)
        self._inside[caller.principal] += 1
        scope[_COUNTED] = caller.principal
