"""How many exchanges run at the same time, for each backend and each caller. The others wait, and their owners take turns.

Each process counts for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from clew.backends.row import Backend
from clew.errors import BackendOverloaded, ClewError, UsageLimitReached
from clew.limits.slots import Slots, SlotTicket

QUEUE_SECONDS: Final = 60.0
"""How long a request waits for its turn."""


class SlotNeed(NamedTuple):
    """One slot that an exchange needs: of which backend or limit, how many there are, and how that is said."""

    name: str
    most: int
    words: str


def backend_slot(backend: Backend) -> SlotNeed:
    return SlotNeed(f"backend:{backend.name}", backend.max_parallel, f"{backend.name} gets {backend.max_parallel} at once")


def slot_refusal(claim: SlotClaim, *, is_backend: bool) -> ClewError:
    """What is said to a request whose turn does not come."""
    why = (
        "too many requests are already waiting"
        if claim.is_refused
        else f"this request waited {QUEUE_SECONDS:.0f} s for its turn"
    )
    if is_backend:
        return BackendOverloaded(f"{claim.words}, and {why}", retry_after=1.0)
    return UsageLimitReached(f"{claim.words}, and {why}. Try again.", retry_after=1.0)


class ParallelSlots:
    """All slots of a process, by name."""

    def __init__(self) -> None:
        self._slots: dict[str, Slots] = {}

    def claim(self, needs: Sequence[SlotNeed], owner: str, ready: Callable[[], None]) -> SlotClaim:
        """Ask for a slot of each, one after the other. `ready` is called when another one is held."""
        ordered = sorted(needs)  # in one order: nobody waits in a circle
        return SlotClaim([(self._slots.setdefault(need.name, Slots()), need) for need in ordered], owner, ready)


class SlotClaim:
    """The slots of one exchange."""

    def __init__(self, wanted: Sequence[tuple[Slots, SlotNeed]], owner: str, ready: Callable[[], None]) -> None:
        self._wanted = wanted
        self._owner = owner
        self._ready = ready
        self._tickets: list[SlotTicket] = []
        self.is_refused = False
        """Too many wait already."""

    @property
    def words(self) -> str:
        """What it waits for."""
        return self._wanted[len(self._tickets) - 1][1].words if self._tickets else ""

    def is_held(self) -> bool:
        """Whether all slots are held. Asks for the next one if the last is."""
        while not self._tickets or self._tickets[-1].has_slot:
            if len(self._tickets) == len(self._wanted):
                return True
            slots, need = self._wanted[len(self._tickets)]
            ticket = SlotTicket(self._owner, self._ready)
            self._tickets.append(ticket)
            if not slots.enter(ticket, need.most):
                self.is_refused = True
                return False
        return False

    def release(self) -> None:
        """Give all back, and stop waiting."""
        for (slots, need), ticket in zip(self._wanted, self._tickets, strict=False):
            slots.leave(ticket, need.most)
        self._tickets = []
        self._wanted = ()
