"""One step from legal: each mutation alters a legal request in one place.

A mutation that `aims` at a rule makes a request that breaks it (or an earlier one, where the step breaks two). The others,
in `anywhere`, aim at nothing: they alter any value, and what comes of it, two judges must see alike.
"""

from tests.conversations.mutations import anywhere, arrival, layout, parameters, shapes, structure, tools
from tests.conversations.mutations.moves import Move, Mutation, mutate

MUTATIONS: tuple[Mutation, ...] = (
    *arrival.MUTATIONS,
    *shapes.MUTATIONS,
    *parameters.MUTATIONS,
    *tools.MUTATIONS,
    *structure.MUTATIONS,
    *layout.MUTATIONS,
    *anywhere.MUTATIONS,
)

__all__ = ["MUTATIONS", "Move", "Mutation", "mutate"]
