"""The part of `clew.store.protocols` by which processes that have one store open know of each other: which of them live,
what they took over, and what others did."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from clew.store.values import CallOwner, Deletions, GatewayProcess, RunClaim


class Leases(Protocol):
    """Which processes have the store open. A process has a name as long as it lives, however it ends."""

    def name(self) -> str:
        """The name of this process, for others. Raises StoreError where it cannot be published."""
        ...

    def is_held(self, name: str) -> bool:
        """Whether the process of this name lives. No process is called ""."""
        ...


class LeaseStore(Protocol):
    """Which processes live, and which agent run has the tool calls of an answer."""

    @property
    def leases(self) -> Leases: ...

    def announce(self, process: GatewayProcess) -> None:
        """Let all gateways that share this store know of this process, as long as it lives. Nobody waits for it."""
        ...

    def gateways(self) -> list[GatewayProcess]:
        """The processes that announced themselves and live. Empty for a store that no other machine shares."""
        ...

    def claim_calls(self, claim: RunClaim, *, at: float, here: bool) -> Future[bool]:
        """Take the calls of an answer, to run them; `here`: in this process. False if another run was first."""
        ...

    def abandon_calls(self, claim: RunClaim, *, at: float) -> Future[None]:
        """Note that the run stopped and that the calls have no results."""
        ...

    def finish_calls(self, claim: RunClaim) -> Future[None]:
        """Remove the note that the calls were begun."""
        ...

    def call_owner(self, principal: str, thread: str) -> CallOwner:
        """The turn whose calls were begun, and by which run. `process` is filled in only as long as that process lives."""
        ...


class NewsStore(Protocol):
    """What other processes did."""

    def data_version(self) -> int:
        """A number that changes when anything was committed, by any process. Cheap enough to ask twice a second."""
        ...

    def changes(self) -> int:
        """A number that rises when something was committed that running gateways take over: a choice, a pin, a key, a
        limit, a cool-down, a deletion. A store that is not shared may count other commits too."""
        ...

    def deletions(self) -> Deletions:
        """A value that changes when a thread was deleted, by any process."""
        ...

    def refresh_pins(self) -> str:
        """Take over the pins that other processes set since the last time. The result is another text after each such
        change."""
        ...

    def clear_memory(self) -> None:
        """Keep no text in memory: a process that deletes a thread cannot reach the memory of another."""
        ...
