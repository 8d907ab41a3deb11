"""What the last answer of a backend remembers of how it was asked, where its dialect has weaker forms of a request.

Only its strand says so (`thinking.repairs`): a repair is paid for once in a conversation, and a fork from before it never
hears of it.
"""

from __future__ import annotations

from clew.engine.backend_dialect import RecalledDialect
from clew.engine.received_request import ReceivedRequest
from clew.engine.route import BackendRoute
from clew.pipeline.thinking_parameter import loop_start
from clew.thinking.strands import newest_of_backend, remarks_of


def remembered(route: BackendRoute, received: ReceivedRequest) -> RecalledDialect | None:
    """The form in which this backend was asked for its last answer in this history; None for the usual one."""
    last = newest_of_backend(received.newest, route.backend.name, route.target.model, received.shelf)
    if last is None:
        return None
    remarks = remarks_of(last, received.shelf)
    return route.dialect.recalled(remarks, loop_start(received.request.messages) is not None) if remarks else None
