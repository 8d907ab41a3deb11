"""When a client that hears nothing gets a ping: on numbers, without a clock."""

from __future__ import annotations

from clew.exchange.states import SilenceWatch


def test_a_ping_is_due_when_nothing_went_out_for_as_long_as_the_client_may_wait() -> None:
    silence = SilenceWatch(15.0, now=100.0)
    assert silence.check(110.0) == (False, 5.0)
    assert silence.check(115.0) == (True, 15.0)
    assert silence.check(120.0) == (False, 10.0)


def test_what_went_on_to_the_client_counts_as_a_word() -> None:
    silence = SilenceWatch(15.0, now=100.0)
    assert silence.check(115.0, heard=112.0, shown=112.0) == (False, 12.0)
    assert silence.check(127.0, heard=112.0, shown=112.0) == (True, 15.0)


def test_while_a_backend_says_what_nobody_can_see_there_is_a_ping_every_second() -> None:
    silence = SilenceWatch(15.0, now=100.0)
    silence.hides = True
    assert silence.check(100.5, heard=100.4) == (False, 0.5)
    assert silence.check(101.0, heard=100.9) == (True, 1.0)
    assert silence.check(102.0, heard=100.9) == (False, 1.0)  # and no longer than that
    assert silence.check(116.0, heard=100.9) == (True, 1.0)


def test_an_answer_that_began_eagerly_has_a_ping_every_second_whatever_the_backend_does() -> None:
    silence = SilenceWatch(15.0, now=100.0, is_eager=True)
    assert silence.check(101.0) == (False, 14.0)  # nobody has answered yet
    silence.hides = True
    assert silence.check(101.0) == (True, 1.0)
    assert silence.check(101.5, heard=101.25, shown=101.25) == (False, 0.75)
    assert silence.check(102.25, heard=101.25, shown=101.25) == (True, 1.0)


def test_a_timer_that_is_a_little_early_is_in_time() -> None:
    assert SilenceWatch(15.0, now=100.0).check(114.9995).is_due
