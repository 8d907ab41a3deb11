"""What the last answer of a backend remembers of how it was asked, where its dialect has weaker forms of a request.

Only its strand says so (`thinking.repairs`): a repair is paid for once in a conversation, and a fork from before it never
hears of it.
"""

from __future__ import annotations

from clew.engine.asking import Asking
from clew.engine.backend_dialect import RecalledDialect
from clew.engine.route import Way
from clew.pipeline.thinking_parameter import loop_start
from clew.thinking.strands import newest_of_backend, remarks_of

__all__ = ["remembered"]


def remembered(way: Way, asking: Asking) -> RecalledDialect | None:
    """The form in which this backend was asked for its last answer in this history; None for the usual one."""
    last = newest_of_backend(asking.newest, way.backend.name, way.target.model, asking.shelf)
    if last is None:
        return None
    remarks = remarks_of(last, asking.shelf)
    return way.dialect.recalled(remarks, loop_start(asking.request.messages) is not None) if remarks else None
