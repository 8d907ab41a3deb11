"""The problem that refuses a request to the admin. Without the web framework: what listens for the admin's first connection
is loaded with each start, and the framework is not."""

from __future__ import annotations

from msgspec import Struct

from clew.errors import ClewError, StoreError


class ProblemText(Struct, frozen=True):
    what: str
    why: str
    next: str


class AdminProblem(Exception):
    """Raised by a route, answered as JSON."""

    def __init__(self, status: int, what: str, why: str = "", next: str = "", *, retry_after: int = 0) -> None:
        """`retry_after`: the seconds after which a retry may succeed, where that is known."""
        super().__init__(what)
        self.status = status
        self.said = ProblemText(what, why, next)
        self.headers = {"retry-after": str(retry_after)} if retry_after else {}


def problem_of(error: ClewError) -> AdminProblem:
    """An error that clew raised on purpose. `clew doctor` cannot help with one that the caller made."""
    if isinstance(error, StoreError):
        return AdminProblem(503, "the store cannot be used", str(error), "run `clew doctor`")
    if error.status < 500:
        return AdminProblem(error.status, "that did not work", str(error))
    return AdminProblem(500, "that did not work", str(error), "run `clew doctor`")
