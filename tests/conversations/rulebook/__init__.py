"""Every static rule from both sides: the nearest request that it lets pass, and one that it refuses.

The cases are data, because two judges have to pass them: the compliance check and the simulator.
"""

from tests.conversations.rulebook import arrival, caching, content, layout, pairing, parameters, roles, schema, shapes, tools
from tests.conversations.rulebook.case import Case, accepted, refused

CASES: tuple[Case, ...] = (
    *arrival.CASES,
    *schema.CASES,
    *shapes.CASES,
    *parameters.CASES,
    *tools.CASES,
    *roles.CASES,
    *pairing.CASES,
    *content.CASES,
    *caching.CASES,
    *layout.CASES,
)

__all__ = ["CASES", "Case", "accepted", "refused"]
