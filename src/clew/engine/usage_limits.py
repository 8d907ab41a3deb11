"""Limits on the exchanges of this process: who is let in, what is reserved, and what is charged.

Soft limits and rates are decided here at once, by the ledger; hard ones by the store, before the backend is asked. What a
turn used goes with it into the store (`TurnRecord.charges`). The limits, and what others used, are read by the thread that
follows the settings, whenever the store changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Final

from msgspec import Struct, structs

from clew.backends.prices import load_prices, most_price, price_of
from clew.backends.row import Backend
from clew.engine.parallel import SlotNeed
from clew.errors import StoreError, UsageLimitReached
from clew.exchange.call import Call
from clew.exchange.commands import Reserve
from clew.limits.ledger import LimitLedger, Overrun
from clew.limits.limit import Amounts, Limit, LimitScope, amounts_of, limits_digest, micro_usd, micro_usd_at_most
from clew.model.turn import TurnRecord
from clew.store import Store
from clew.store.limit_tables import ReservationRequest

RESERVE_SECONDS: Final = 2.0
"""How long a request waits for a hard limit to be checked."""
_UNREACHABLE: Final = "The hard limits that hold for this request cannot be checked: the store does not answer. Try again."
_UNREACHABLE_SECONDS: Final = 5.0
_TIDY_SECONDS: Final = 3600.0


class _Admitted(Struct, frozen=True):
    """A request that was let in, and the limits that hold for it."""

    limits: tuple[Limit, ...]
    reserving: Future[Overrun | None] | None = None
    """The reservation in its hard limits, if it has such."""


class UsageLimits:
    """One for a process. `look` may be called by any thread, everything else by the loop's."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        wall: Callable[[], float],
        clock: Callable[[], float],
        backends: Callable[[], Mapping[str, Backend]],
    ) -> None:
        self.ledger = LimitLedger()
        self.is_active = False
        self.has_hard = False
        self.digest = ""
        """Of the limits that hold now; "" for none."""
        self._store = store
        self._wall = wall
        self._clock = clock
        self._backends = backends
        self._admitted: dict[str, _Admitted] = {}
        self._unreleased: set[str] = set()
        """Exchanges whose reservations are still to be given back."""
        self._tidied = 0.0
        self._was_asked = False
        """Limits held for a request since the sums were read."""

    def look(self) -> None:
        """Read the limits, and what was used. What cannot be read stays as it was."""
        if self._store is None:
            return
        try:
            limits, wall = self._store.limits.all(), self._wall()
            if any(limit.unit == "usd" for limit in limits) and not self.ledger.has_money:
                load_prices()  # here, where nobody waits
            self.ledger.learn(self._store.limits.totals(wall) if limits else {})
        except StoreError:
            return
        self.ledger.set_limits(limits)
        self.is_active, self.has_hard = bool(limits), any(limit.hard for limit in limits)
        self.digest = limits_digest(limits)
        self._keep_tidy(wall)

    def refresh(self) -> None:
        """Read what was used, if limits hold for a request that came since the last time."""
        if self._store is None or not self._was_asked:
            return
        self._was_asked = False
        try:
            self.ledger.learn(self._store.limits.totals(self._wall()))
        except StoreError:  # what is known goes on counting
            self._was_asked = True

    def _keep_tidy(self, wall: float) -> None:
        assert self._store is not None
        for exchange in tuple(self._unreleased):
            self._unreleased.discard(exchange)
            self._release(exchange)
        if self.is_active and wall - self._tidied > _TIDY_SECONDS:
            self._tidied = wall
            self._store.limits.tidy(wall)

    def begin(self, id: str, call: Call, wanted: Reserve) -> Future[Overrun | None] | None:
        """Let a request in. None if it is; else what the store says about its hard limits. Raises UsageLimitReached."""
        limits = self.ledger.limits_of(scopes_of(call))
        if not limits:
            return None
        self._was_asked = True
        now, wall = self._clock(), self._wall()
        over = self.ledger.overrun(limits, now=now, wall=wall)
        if over is not None:
            raise reached(over)
        hard = tuple(limit for limit in limits if limit.hard)
        if not hard:
            self._admitted[id] = _Admitted(limits)
            self.ledger.begin(limits, now=now)
            return None
        assert self._store is not None
        most = self._most(wanted, wall, needs_price=any(limit.unit == "usd" for limit in hard))
        reserving = self._store.limits.reserve(ReservationRequest(exchange=id, limits=hard, most=most, at=wall))
        self._admitted[id] = _Admitted(limits, reserving)
        self.ledger.begin(limits, now=now)
        return reserving

    def slots_of(self, call: Call) -> list[SlotNeed]:
        """As many requests at the same time as the caller may have."""
        limits = self.ledger.limits_of(scopes_of(call))
        return [_slot_need(limit) for limit in limits if limit.unit == "parallel"]

    def _most(self, wanted: Reserve, wall: float, *, needs_price: bool) -> Amounts:
        """The most that a request can use, whichever of its backends answers it. Raises UsageLimitReached."""
        found = Amounts(requests=1)
        if needs_price and wanted.dearer:
            raise UsageLimitReached(
                f"A hard limit on money holds for this request, and its field `{wanted.dearer}` can make it cost more than "
                "the list price of its model. Leave the field out, or let the operator make the limit soft or count tokens.",
                status=403,
            )
        for route in wanted.routes:
            output = wanted.most_output or route.target.profile.max_tokens or route.target.profile.max_tokens_usual
            model, micro = route.target.model, 0
            if needs_price:
                usd = most_price(model, wanted.input, output, route.backend, wall)
                if usd is None:
                    raise UsageLimitReached(
                        f"A hard limit on money holds for this request, and the price of {model} at {route.backend.name} "
                        "is not known. Ask for another model, or let the operator make the limit soft or count tokens.",
                        status=403,
                    )
                micro = micro_usd_at_most(usd)
            found = Amounts(max(found.micro_usd, micro), max(found.tokens, wanted.input + output), 1)
        return found

    def charge(self, id: str, turn: TurnRecord) -> TurnRecord:
        """The turn with what it adds to the sums. A request that used nothing adds nothing."""
        admitted = self._admitted.pop(id, None)
        if admitted is None:
            return turn
        self.ledger.end(admitted.limits)
        exchange, usage = turn.exchange, turn.exchange.usage
        self._release_later(id, admitted)
        if usage is None and admitted.reserving is None:
            return turn
        micro = self._price(turn) if any(limit.unit == "usd" for limit in admitted.limits) else None
        charges = self.ledger.charge(admitted.limits, amounts_of(usage, micro), exchange.ended)
        if usage is not None:
            exchange = structs.replace(exchange, usage=structs.replace(usage, micro_usd=micro))
        return structs.replace(turn, exchange=exchange, charges=charges)

    def follow(self, id: str, recorded: Future[bool]) -> None:
        """Give back what was reserved if the turn cannot be kept."""
        if self.has_hard:
            recorded.add_done_callback(lambda done: self._release(id) if done.exception() else None)

    def drop(self, id: str) -> None:
        """An exchange is over, and its turn was not kept."""
        admitted = self._admitted.pop(id, None)
        if admitted is not None:
            self.ledger.end(admitted.limits)
            if admitted.reserving is not None:
                admitted.reserving.add_done_callback(lambda _: self._release(id))

    def _release_later(self, id: str, admitted: _Admitted) -> None:
        """A client left before its reservation was made: the turn that ends it may be written first."""
        if admitted.reserving is not None and not admitted.reserving.done():
            admitted.reserving.add_done_callback(lambda _: self._release(id))

    def _release(self, id: str) -> None:
        assert self._store is not None
        released = self._store.limits.release(id)
        released.add_done_callback(lambda done: self._unreleased.add(id) if done.exception() else None)

    def _price(self, turn: TurnRecord) -> int | None:
        exchange = turn.exchange
        backend = self._backends().get(exchange.backend)
        if exchange.usage is None or backend is None:
            return None
        usd = price_of(exchange.model, exchange.usage, backend, exchange.ended)
        return None if usd is None else micro_usd(usd)


def _slot_need(limit: Limit) -> SlotNeed:
    return SlotNeed(str(limit.scope), limit.cap, f"The {limit.scope.kind} {limit.scope.name!r} may have {limit.words}")


def reached(over: Overrun) -> UsageLimitReached:
    return UsageLimitReached(over.words, retry_after=over.wait)


def store_silent() -> UsageLimitReached:
    """A client may ask again by itself: a server that is away is often back soon."""
    return UsageLimitReached(_UNREACHABLE, retry_after=_UNREACHABLE_SECONDS)


def reservation_result(reserving: Future[Overrun | None]) -> None:
    """Raises UsageLimitReached where there is no room, or where nobody can say."""
    try:
        over = reserving.result()
    except StoreError as error:
        raise store_silent() from error
    if over is not None:
        raise reached(over)


def scopes_of(call: Call) -> Sequence[LimitScope]:
    """Whose limits hold for a request."""
    scopes = [LimitScope("principal", call.principal)]
    if call.key:
        scopes.append(LimitScope("key", call.key))
    if call.team:
        scopes.append(LimitScope("team", call.team))
    return scopes
