"""Retry and failover, driven by hand: no clock, no sockets, no chance."""

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import (
    BackendBroken,
    BackendError,
    BackendOverloaded,
    BackendRejected,
    BackendTimedOut,
    BackendUnreachable,
    CredentialsExhausted,
)
from clew.pipeline.attempts import (
    DEAD_KEY_SECONDS,
    Attempt,
    AttemptOutcome,
    Candidate,
    CoolDowns,
    RetryPolicy,
    Verdict,
    attempts,
    class_of_status,
)
from clew.pipeline.retry_hints import retry_after_of, should_retry_of
from tests.counts import examples

A1, A2, B = Candidate("a", "1"), Candidate("a", "2"), Candidate("b", "1")
GONE = BackendUnreachable("a: refused")


class Story:
    """A flow and what it said. Time goes on by what is waited, and by `took` for each attempt."""

    def __init__(self, *targets: Candidate, cool: CoolDowns | None = None, jitter: float = 1.0, **policy: Any) -> None:
        self.now = 100.0
        self.flow = attempts(targets, RetryPolicy(**policy), cool or CoolDowns(), jitter=lambda: jitter, now=self.now)
        self.seen: list[Attempt] = [next(self.flow)]
        self.verdict: Verdict | None = None

    def tell(self, took: float = 0.0, **outcome: Any) -> "Story":
        self.now += self.seen[-1].wait + took
        try:
            self.seen.append(self.flow.send(AttemptOutcome(now=self.now, **outcome)))
        except StopIteration as stop:
            self.verdict = stop.value
        return self

    @property
    def way(self) -> list[tuple[Candidate, float]]:
        return [(attempt.target, attempt.wait) for attempt in self.seen]

    @property
    def failure(self) -> BackendError:
        assert self.verdict is not None
        assert self.verdict.failure is not None
        return self.verdict.failure


def until(*moments: tuple[Candidate, float]) -> CoolDowns:
    return CoolDowns(MappingProxyType({(target.backend, target.key): moment for target, moment in moments}))


def limited(target: Candidate, moment: float) -> CoolDowns:
    """As the backend itself said."""
    return CoolDowns(until((target, moment)).until, frozenset({(target.backend, target.key)}))


def test_success_ends_it() -> None:
    story = Story(A1, B).tell(status=200)
    assert (story.way, story.verdict) == ([(A1, 0.0)], Verdict(A1, None, 1, CoolDowns()))


@pytest.mark.parametrize("status", [400, 404, 405, 413, 422, 418])
def test_what_is_the_requests_own_fault_is_never_tried_again(status: int) -> None:
    """U5."""
    story = Story(A1, B).tell(status=status, body=b"why")
    assert story.way == [(A1, 0.0)]
    assert isinstance(story.failure, BackendRejected)
    assert (story.failure.status, story.failure.body) == (status, b"why")


@pytest.mark.parametrize(
    "failed", [{"status": status} for status in (408, 409, 499, 500, 502, 503, 504, 529)] + [{"error": GONE}]
)
def test_the_backends_trouble_is_tried_again_and_then_elsewhere(failed: dict[str, Any]) -> None:
    """U1, U4: twice more after growing waits, then the next backend at once."""
    story = Story(A1, B).tell(**failed).tell(**failed).tell(**failed).tell(status=200)
    assert story.way == [(A1, 0.0), (A1, 0.5), (A1, 1.0), (B, 0.0)]
    assert story.verdict == Verdict(B, None, 4, until((A1, 111.5)))


def test_the_number_of_tries_is_bounded_and_the_last_one_knows_it() -> None:
    story = Story(A1, B)
    for _ in range(6):
        story.tell(status=500)
    assert [attempt.last for attempt in story.seen] == [False] * 5 + [True]
    assert story.failure.status == 500


def test_waits_double_up_to_a_bound_and_jitter_shortens_them() -> None:
    """U4."""
    story = Story(A1, jitter=0.5, retries=6)
    for _ in range(7):
        story.tell(status=500)
    assert [attempt.wait for attempt in story.seen] == [0.0, 0.25, 0.5, 1.0, 2.0, 2.5, 2.5]


def test_another_key_takes_over_from_one_that_is_limited() -> None:
    """U3: after a short wait for the same backend, and the first key cools for as long as it asked."""
    story = Story(A1, A2).tell(status=429, retry_after=20.0).tell(status=200)
    assert story.way == [(A1, 0.0), (A2, 0.5)]
    assert story.verdict == Verdict(A2, None, 2, limited(A1, 120.0))


def test_another_backend_takes_over_without_a_wait() -> None:
    assert Story(A1, B).tell(status=429, retry_after=20.0).way == [(A1, 0.0), (B, 0.0)]


def test_a_single_target_is_waited_for_as_long_as_it_asks() -> None:
    """U3."""
    story = Story(A1).tell(status=429, retry_after=2.0)
    assert story.way == [(A1, 0.0), (A1, 2.0)]
    assert story.seen[-1].cooled == limited(A1, 102.0)
    assert story.tell(status=200).verdict == Verdict(A1, None, 2, limited(A1, 102.0))


def test_a_wait_past_the_budget_is_not_begun_and_the_client_is_told_of_it() -> None:
    """U3: the header is passed on when we give up."""
    story = Story(A1).tell(status=429, retry_after=31.0, body=b"later")
    assert story.way == [(A1, 0.0)]
    assert isinstance(story.failure, BackendOverloaded)
    found = story.failure
    assert (found.status, found.error_type, found.retry_after, found.body) == (429, "rate_limit_error", 31.0, b"later")


@pytest.mark.parametrize("status", [503, 529])
def test_an_overloaded_backend_is_reported_as_such(status: int) -> None:
    story = Story(A1, retries=0).tell(status=status)
    assert isinstance(story.failure, BackendOverloaded)
    assert (story.failure.status, story.failure.error_type) == (status, "overloaded_error")


def test_when_the_time_is_used_up_each_further_target_still_has_its_one_try() -> None:
    """U8: a time limit longer than the budget must not prevent the failover."""
    late = BackendTimedOut("a: first byte", phase="first byte")
    story = Story(A1, B).tell(took=60.0, error=late).tell(took=60.0, error=late)
    assert story.way == [(A1, 0.0), (B, 0.0)]
    assert story.failure is late


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_key_that_is_refused_makes_way_for_the_next_without_a_wait(status: int) -> None:
    """U6."""
    story = Story(A1, A2).tell(status=status)
    assert story.way == [(A1, 0.0), (A2, 0.0)]
    story.tell(status=status)
    assert isinstance(story.failure, CredentialsExhausted)
    assert story.failure.status == 502
    assert story.verdict is not None
    cooled = story.verdict.cooled
    if status == 403:  # it may be about what was asked for
        assert cooled == CoolDowns()
    else:  # so that neither the next request nor another gateway tries a dead key first
        assert set(cooled.until.values()) == {story.now + DEAD_KEY_SECONDS}
        assert cooled.limits == cooled.until.keys() == {(A1.backend, A1.key), (A2.backend, A2.key)}


def test_a_dead_key_that_is_the_only_one_is_asked_all_the_same() -> None:
    """Somebody may have paid."""
    first = Story(A1).tell(status=402)
    assert first.verdict is not None
    assert Story(A1, cool=first.verdict.cooled).way == [(A1, 0.0)]


def test_the_clients_own_key_is_the_clients_to_mend() -> None:
    story = Story(Candidate("a", "client", own=False)).tell(status=401, body=b"bad key")
    assert story.verdict is not None
    assert story.verdict.cooled == CoolDowns()
    assert isinstance(story.failure, BackendRejected)
    assert (story.failure.status, story.failure.body) == (401, b"bad key")


def test_the_backend_may_ask_for_another_try() -> None:
    assert Story(A1, B).tell(status=400, should_retry=True).way == [(A1, 0.0), (A1, 0.5)]


def test_the_backend_may_ask_for_none_and_others_are_still_tried() -> None:
    assert Story(A1, B).tell(status=529, should_retry=False).way == [(A1, 0.0), (B, 0.0)]
    assert Story(A1).tell(status=529, should_retry=False).failure.status == 529


@pytest.mark.parametrize("failed", [{"status": 529}, {"status": 200, "error": BackendBroken("a: cut")}, {"error": GONE}])
def test_after_content_nothing_is_tried_again(failed: dict[str, Any]) -> None:
    """U10, U11: no other backend's bytes in the same message."""
    story = Story(A1, B).tell(content_started=True, **failed)
    assert story.way == [(A1, 0.0)]
    assert story.failure is failed.get("error", story.failure)


def test_success_after_content_is_success() -> None:
    assert Story(A1).tell(status=200, content_started=True).verdict == Verdict(A1, None, 1, CoolDowns())


def test_a_200_that_fails_before_content_is_a_failure_like_others() -> None:
    """U7, U12."""
    assert Story(A1, B, retries=0).tell(status=200, error=BackendBroken("a: no content")).way[-1] == (B, 0.0)


def test_a_redirect_is_reported_and_not_followed() -> None:
    """U17."""
    story = Story(A1, B).tell(status=302)
    assert (story.way, type(story.failure), story.failure.status) == ([(A1, 0.0)], BackendBroken, 502)


def test_a_silly_wait_cools_for_an_hour_at_most() -> None:
    """A limit per day is asked about again each hour; what a vendor got wrong parks nobody for days."""
    story = Story(A1, B).tell(status=429, retry_after=1e300)
    assert story.seen[-1].cooled == limited(A1, 100.0 + 3600.0)


def test_a_target_that_cools_down_is_skipped() -> None:
    assert Story(A1, B, cool=until((A1, 101.0))).way == [(B, 0.0)]
    assert Story(A1, B, cool=until((A1, 100.0))).way == [(A1, 0.0)]


def test_the_last_target_is_never_skipped() -> None:
    """U21."""
    everything = until((A1, 200.0), (A2, 200.0), (B, 200.0))
    assert Story(A1, A2, B, cool=everything).way == [(B, 0.0)]
    assert Story(A1, cool=everything).way == [(A1, 0.0)]


def test_cool_downs_are_values_that_add_up() -> None:
    old, new = until((A1, 5.0), (B, 9.0)), until((A1, 7.0), (B, 8.0), (A2, 1.0))
    both = until((A1, 7.0), (B, 9.0), (A2, 1.0))
    assert (old | new, new | old, both.after(7.0)) == (both, both, until((B, 9.0)))
    assert old == until((A1, 5.0), (B, 9.0))


OUTCOMES = st.fixed_dictionaries(
    {"status": st.sampled_from([200, 400, 401, 429, 500, 529, 302, 408]), "took": st.floats(0, 50)},
    optional={
        "retry_after": st.floats(0, 100),
        "should_retry": st.booleans(),
        "content_started": st.booleans(),
        "error": st.just(GONE),
    },
)


@given(
    targets=st.lists(st.sampled_from([A1, A2, B]), min_size=1, max_size=4),
    told=st.lists(OUTCOMES, min_size=12, max_size=12),
    jitter=st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=examples(48, soak=4000))
def test_every_story_ends_within_its_bounds(targets: list[Candidate], told: list[dict[str, Any]], jitter: float) -> None:
    """3.2: bounded tries, bounded waits, in the order given, and an end that says success or what failed."""
    story = Story(*targets, jitter=jitter)
    outcomes = iter(told)
    last: dict[str, Any] = {}
    while story.verdict is None:
        last = next(outcomes)
        story.tell(**last)
    assert len(story.seen) <= 3 * len(targets)
    assert sum(attempt.wait for attempt in story.seen) <= RetryPolicy().budget
    assert all(attempt.wait >= 0 for attempt in story.seen)
    assert (story.verdict.failure is None) == (last["status"] == 200 and "error" not in last)
    assert story.verdict.attempts == len(story.seen)


def test_every_status_has_a_class() -> None:
    classes = {status: class_of_status(status) for status in (200, 204, 301, 400, 402, 408, 409, 429, 500, 599)}
    assert list(classes.values()) == [
        *(None, None, "never", "never", "key"),
        *("transient", "transient", "limited", "transient", "transient"),
    ]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([], None),
        ([(b"retry-after", b"2")], 2.0),
        ([(b"retry-after", b" 0.5 ")], 0.5),
        ([(b"retry-after", b"-3")], 0.0),
        ([(b"retry-after-ms", b"250"), (b"retry-after", b"2")], 0.25),
        ([(b"x-ms-retry-after-ms", b"1500")], 1.5),
        ([(b"retry-after-ms", b"soon"), (b"retry-after", b"2")], 2.0),
        ([(b"retry-after", b"Thu, 01 Jan 1970 00:01:40 GMT")], 90.0),
        ([(b"retry-after", b"Thu, 01 Jan 1970 00:00:01 GMT")], 0.0),
        ([(b"retry-after", b"6m0s")], 360.0),
        ([(b"retry-after", b"1h2m")], 3720.0),
        ([(b"retry-after", b" 750ms ")], 0.75),
        ([(b"retry-after", b"7.66s")], 7.66),
        ([(b"retry-after", b"1789138080")], 1789138070.0),
        ([(b"retry-after", b"1789138080000")], 1789138070.0),
        ([(b"retry-after-ms", b"250ms"), (b"retry-after", b"2")], 2.0),
        ([(b"retry-after", b"soon")], None),
        ([(b"retry-after", b"inf")], None),
        ([(b"retry-after", b"nan")], None),
        ([(b"retry-after", b"\xff")], None),
    ],
)
def test_the_time_to_wait_is_read_in_each_of_its_spellings(
    headers: list[tuple[bytes, bytes]], seconds: float | None
) -> None:
    """U3."""
    assert retry_after_of(headers, wall=10.0) == seconds


@pytest.mark.parametrize(("value", "meant"), [(b"true", True), (b"False", False), (b"maybe", None), (b"", None)])
def test_the_backends_word_on_trying_again(value: bytes, meant: bool | None) -> None:
    assert should_retry_of([(b"x-should-retry", value)]) is meant
    assert should_retry_of([]) is None
