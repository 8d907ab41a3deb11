"""Retry and failover, in one place: a generator that yields the next attempt, and receives its outcome.

    flow = attempts(targets, policy, cool_downs, jitter=random.random, now=clock())
    attempt = next(flow)
    while True:                                   # wait `attempt.wait` seconds, ask `attempt.target`, then
        attempt = flow.send(Outcome(...))         # StopIteration carries the Verdict

It has no clock, no chance and no I/O: moments come in with each outcome, jitter as a function. So a test drives a whole
exchange by hand. One table, `class_of_status`, says what a failure means:

    never       the request's own fault (400, 404, 413, 422, …)     reported at once
    key         this key is no good (401, 402, 403)                 the next target, without a wait; a dead key cools down
    limited     this key has had enough (429)                       it cools down; the next target, else the wait it asks for
    transient   the backend's trouble (408, 409, 499, 5xx, silence) the same again after a wait, then the next

`x-should-retry` overrides the table for the same target: `true` makes any failure worth another try, `false` none. Once
content has reached the client nothing is tried again. A target that cools down is skipped, but never the last of the list: a
guess must not turn into an outage.

The policy's budget bounds the waiting. When it is used up, no target is tried twice, but each that was not tried yet still
has its one chance.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from clew.errors import (
    BackendBroken,
    BackendError,
    BackendOverloaded,
    BackendRejected,
    CredentialsExhausted,
)

MOST_COOL: Final = 3600.0
"""The longest cool-down, in seconds: a limit per day is asked about again each hour, and a vendor's mistake blocks no target
for days."""

DEAD_KEY_SECONDS: Final = 60.0
"""For a key that its backend does not know, or that nobody pays for: then it is asked again whether that has changed."""
_DEAD: Final = frozenset({401, 402})
"""A 403 may be about what was asked for: another model, or a file of somebody else."""

FailureClass: TypeAlias = Literal["never", "key", "limited", "transient"]

_NO_MONEY: Final = 402
_BY_STATUS: Final[dict[int, FailureClass]] = {
    401: "key",
    _NO_MONEY: "key",
    403: "key",
    408: "transient",
    409: "transient",
    429: "limited",
    499: "transient",  # a proxy's word for a client that left: it lost the call, not we
}


def class_of_status(status: int) -> FailureClass | None:
    """What a status means for trying again; None for success. A redirect is never followed, so it is a failure too."""
    if 200 <= status < 300:
        return None
    return _BY_STATUS.get(status, "transient" if status >= 500 else "never")


class Candidate(Struct, frozen=True):
    """Where a request may go: a backend, with one of its keys."""

    backend: str
    key: str
    """A name or a fingerprint of the key, never the key."""
    own: bool = True
    """The operator's key. The client's own (passthrough) is not: then its 401 is the client's to read."""
    key_from: str = ""
    """Where the operator's key was found, for people."""
    has_key: bool = True
    """False where the settings name none: then there is none to put right."""


class CoolDowns(Struct, frozen=True):
    """Until when each (backend, key) should be left alone. A value: `a | b` has the later moment of each."""

    until: Mapping[tuple[str, str], float] = MappingProxyType({})
    limits: frozenset[tuple[str, str]] = frozenset()
    """Those of the key itself, wherever it is used: the backend said for how long, or that the key is dead."""

    def __or__(self, other: CoolDowns) -> CoolDowns:
        merged = dict(self.until)
        for name, moment in other.until.items():
            merged[name] = max(moment, merged.get(name, moment))
        return CoolDowns(MappingProxyType(merged), self.limits | other.limits)

    def cools(self, candidate: Candidate, now: float) -> bool:
        return self.until.get((candidate.backend, candidate.key), now) > now

    def without(self, candidate: Candidate) -> CoolDowns:
        """The cool-downs of all other candidates."""
        name = candidate.backend, candidate.key
        left = {each: moment for each, moment in self.until.items() if each != name}
        return CoolDowns(MappingProxyType(left), self.limits - {name})

    def after(self, now: float) -> CoolDowns:
        """The cool-downs that are not over."""
        left = {name: moment for name, moment in self.until.items() if moment > now}
        return CoolDowns(MappingProxyType(left), self.limits & left.keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long a request is tried again."""

    retries: int = 2
    """How often the same target is tried again after the first try."""
    budget: float = 30.0
    """No target is tried a second time later than this many seconds after the request began."""
    first_wait: float = 0.5
    """The longest wait before the first retry. It doubles with each retry. If the backend says how long to wait, that is
    used instead."""
    most_wait: float = 5.0
    """The longest wait between two retries."""
    cool_seconds: float = 10.0
    """How long a target is not asked again after its last retry failed, or after it was rate limited without a time."""


class Attempt(Struct, frozen=True):
    """Try this, after so many seconds."""

    target: Candidate
    wait: float
    number: int
    """Counts from 1."""
    last: bool
    """Nothing can follow if it fails: a caller may grant it more time."""
    cooled: CoolDowns
    """The cool-downs that this request has caused so far."""


class AttemptOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of an attempt. An error event before the first content counts as the status that it stands for."""

    now: float
    status: int | None = None
    error: BackendError | None = None
    """The error that the connection raised, instead of a status."""
    retry_after: float | None = None
    should_retry: bool | None = None
    content_started: bool = False
    """Content of this attempt has reached the client."""
    body: bytes = b""
    """The backend's own words, where it refused."""

    @property
    def is_success(self) -> bool:
        return self.error is None and self.status is not None and class_of_status(self.status) is None


class Verdict(Struct, frozen=True):
    """How the attempts ended: `failure` is None for success, else the error to report."""

    target: Candidate
    failure: BackendError | None
    attempts: int
    cooled: CoolDowns


def attempts(
    targets: Sequence[Candidate], policy: RetryPolicy, cool_downs: CoolDowns, *, jitter: Callable[[], float], now: float
) -> Generator[Attempt, AttemptOutcome, Verdict]:
    """The attempts at one request. `jitter` gives numbers from 0 up to 1; `now` is when it begins."""
    assert targets, "there is always somewhere to go"
    final = len(targets) - 1
    usable = [each for place, each in enumerate(targets) if place == final or not cool_downs.cools(each, now)]
    flow = _Flow(tuple(usable), policy, jitter, began=now)
    while True:
        outcome = yield flow.attempt()
        verdict = flow.judge(outcome)
        if verdict is not None:
            return verdict


class _Flow:
    """The state of one request: its targets, the present one, and its tries."""

    def __init__(
        self, targets: tuple[Candidate, ...], policy: RetryPolicy, jitter: Callable[[], float], *, began: float
    ) -> None:
        self._targets = targets
        self._policy = policy
        self._jitter = jitter
        self._began = began
        self._place = 0
        self._tries = 0
        self._number = 0
        self._wait = 0.0
        self._waited = 0.0
        self._cooled = CoolDowns()

    def attempt(self) -> Attempt:
        self._number += 1
        self._tries += 1
        self._waited += self._wait
        last = self._place == len(self._targets) - 1 and self._tries > self._policy.retries
        return Attempt(self._targets[self._place], self._wait, self._number, last, self._cooled)

    def judge(self, outcome: AttemptOutcome) -> Verdict | None:
        """The end, or None: there is a next attempt."""
        if outcome.error is not None:
            kind: FailureClass | None = "transient"
        else:
            assert outcome.status is not None, "an outcome has a status or an error"
            kind = class_of_status(outcome.status)
        if kind is None or outcome.content_started:
            return self._verdict(outcome.error or _status_failure(outcome, self._target) if kind is not None else None)
        again = self._again(kind, outcome)
        if kind == "limited" or (kind == "transient" and again is None):
            seconds = outcome.retry_after if outcome.retry_after is not None else self._policy.cool_seconds
            self._cool(seconds, outcome.now, of_key=kind == "limited" and outcome.retry_after is not None)
        elif kind == "key" and outcome.status in _DEAD and self._target.own and self._target.has_key:
            self._cool(DEAD_KEY_SECONDS, outcome.now, of_key=True)
        if again is not None:
            self._wait = again
            return None
        if kind != "never" and self._advance(kind):
            return None
        if kind == "key" and self._target.own:
            return self._verdict(CredentialsExhausted(self._refused_keys(outcome.status or 0)))
        return self._verdict(outcome.error or _status_failure(outcome, self._target))

    def _cool(self, seconds: float, now: float, *, of_key: bool) -> None:
        """Leave the target alone for so long. `of_key`: other processes should, too."""
        name = (self._target.backend, self._target.key)
        until = MappingProxyType({name: now + min(seconds, MOST_COOL)})
        self._cooled |= CoolDowns(until, frozenset({name} if of_key else ()))

    @property
    def _target(self) -> Candidate:
        return self._targets[self._place]

    def _again(self, kind: FailureClass, outcome: AttemptOutcome) -> float | None:
        """The wait before the same target's next try; None if it gets none."""
        willing = outcome.should_retry is True or (outcome.should_retry is None and kind in ("transient", "limited"))
        rotates = kind == "limited" and self._place < len(self._targets) - 1
        if not willing or rotates or self._tries > self._policy.retries:
            return None
        wait = outcome.retry_after if outcome.retry_after is not None else self._backoff()
        spent = max(self._waited, outcome.now - self._began)
        return wait if spent + wait <= self._policy.budget else None

    def _backoff(self) -> float:
        """Full jitter: anything up to a bound that doubles."""
        return min(self._policy.first_wait * 2 ** (self._tries - 1), self._policy.most_wait) * self._jitter()

    def _advance(self, kind: FailureClass) -> bool:
        """On to the next target; with a wait only to another key of a backend that limits us."""
        if self._place == len(self._targets) - 1:
            return False
        wait = self._backoff() if kind == "limited" else 0.0
        same = self._targets[self._place + 1].backend == self._target.backend
        self._wait = wait if same and self._waited + wait <= self._policy.budget else 0.0
        self._place += 1
        self._tries = 0
        return True

    def _refused_keys(self, status: int) -> str:
        """The message for an operator, with what to do: it is read in a client, on a terminal, on a page."""
        name = self._target.backend
        if not self._target.has_key:
            return f"{name} refuses a request without a key ({status}). Its settings have no key: add one. {_tries(name)}"
        found_in = dict.fromkeys(each.key_from for each in self._targets if each.backend == name and each.key_from)
        come = "The key comes" if len(found_in) == 1 else "The keys come"
        places = " and from ".join(found_in)
        said = f" {come} from {places}: correct it there." if found_in else ""
        if status == _NO_MONEY:  # the key may be right
            where = f" {come} from {places}." if found_in else ""
            said = f" The account has no credit: add some, or use another key.{where}"
        return f"{name} refused every key that clew holds for it ({status}).{said} {_tries(name)}"

    def _verdict(self, failure: BackendError | None) -> Verdict:
        return Verdict(self._target, failure, self._number, self._cooled)


def _tries(name: str) -> str:
    return f"`clew backends test {name}` tries it"


def _status_failure(outcome: AttemptOutcome, target: Candidate) -> BackendError:
    status = outcome.status or 0
    if status == 429 or status in (503, 529):
        text = f"{target.backend} is overloaded or over its rate limit ({status})"
        return BackendOverloaded(text, status=status, retry_after=outcome.retry_after, body=outcome.body)
    if 300 <= status < 400:
        return BackendBroken(f"{target.backend} answered with a redirect ({status}), which clew does not follow")
    return BackendRejected(f"{target.backend} refused ({status})", status=status, body=outcome.body)
