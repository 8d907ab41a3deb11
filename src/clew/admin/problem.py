"""Problem: an error of the admin, which says what is the matter, why, and what to do next."""

from __future__ import annotations

from msgspec import Struct

from clew.errors import ClewError, StoreError

__all__ = ["Problem", "problem_of"]


class Said(Struct, frozen=True):
    what: str
    why: str
    next: str


class Problem(Exception):
    """Raised by a route, answered as JSON."""

    def __init__(self, status: int, what: str, why: str = "", next: str = "", *, retry_after: int = 0) -> None:
        """`retry_after`: the seconds after which it may be another, where that can be said."""
        super().__init__(what)
        self.status = status
        self.said = Said(what, why, next)
        self.headers = {"retry-after": str(retry_after)} if retry_after else {}


def problem_of(error: ClewError) -> Problem:
    """What clew raised on purpose, in this shape. The doctor knows no cure for what the caller said."""
    if isinstance(error, StoreError):
        return Problem(503, "the store cannot be used", str(error), "run `clew doctor`")
    if error.status < 500:
        return Problem(error.status, "that did not work", str(error))
    return Problem(500, "that did not work", str(error), "run `clew doctor`")
