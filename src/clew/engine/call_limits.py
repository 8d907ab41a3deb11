"""What limits mean for one exchange: its turn among others, and its reservation. Neither is waited for without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clew.engine.backend_call import WAITING, Poll
from clew.engine.parallel import QUEUE_SECONDS, SlotClaim, backend_slot, slot_refusal
from clew.engine.services import EngineServices
from clew.engine.usage_limits import RESERVE_SECONDS, reservation_result, store_silent
from clew.exchange import commands
from clew.exchange.call import Call
from clew.store.commits import call_when_done


class CallLimits:
    """Of one exchange. `news` is called when a wait may be over."""

    __slots__ = ("_call", "_claims", "_id", "_loop", "_news", "_services", "_timer")

    def __init__(self, services: EngineServices, call: Call, id: str, news: Callable[[], None]) -> None:
        self._services = services
        self._call = call
        self._id = id
        self._news = news
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._claims: tuple[tuple[SlotClaim, bool], ...] = ()
        """The slots that it has or waits for, and whether they are a backend's."""

    def carry_out(self, command: commands.Reserve | commands.TakeSlot) -> Poll:
        """What looks whether it is done, and raises UsageLimitReached or BackendOverloaded."""
        return self._reserve(command) if isinstance(command, commands.Reserve) else self._take_slot(command)

    def _take_slot(self, command: commands.TakeSlot) -> Poll:
        """Waits where too many of the same caller, or of the same backend, are under way."""
        route, services = command.route, self._services
        needs = [backend_slot(route.backend)] if route is not None else services.limits.slots_of(self._call)
        if not needs:
            return lambda: None
        claim = services.parallel.claim(needs, self._call.key or self._call.principal, self._wake)
        self._claims = (*self._claims, (claim, route is not None))
        is_late = self._limit_wait(QUEUE_SECONDS)

        def poll() -> object:
            if claim.is_held():
                return None
            if claim.is_refused or is_late():
                raise slot_refusal(claim, is_backend=route is not None)
            return WAITING

        return poll

    def _reserve(self, command: commands.Reserve) -> Poll:
        """Waits where a hard limit holds."""
        reserving = self._services.limits.begin(self._id, self._call, command)
        if reserving is None:
            return lambda: None
        call_when_done(reserving, self._loop, self._news)
        is_late = self._limit_wait(RESERVE_SECONDS)

        def poll() -> object:
            if reserving.done():
                return reservation_result(reserving)
            if is_late():
                raise store_silent()
            return WAITING

        return poll

    def _limit_wait(self, seconds: float) -> Callable[[], bool]:
        """Whether so many seconds are over, when `news` is called. The clock is not asked: a timer may run a moment early,
        and no other would follow."""
        is_over = False

        def end_wait() -> None:
            nonlocal is_over
            is_over = True
            self._news()

        self._stop_timer()
        self._timer = self._loop.call_later(seconds, end_wait)
        return lambda: is_over

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def leave_backend(self) -> None:
        """Another request may have its slot."""
        for claim, is_backend in self._claims:
            if is_backend:
                claim.release()
        self._claims = tuple(each for each in self._claims if not each[1])

    def close(self) -> None:
        """The exchange is over."""
        self._stop_timer()
        self._services.limits.drop(self._id)
        for claim, _ in self._claims:
            claim.release()
        self._claims = ()

    def _wake(self) -> None:
        """Another exchange, which gave its slot back, comes to its end first."""
        self._loop.call_soon(self._news)
