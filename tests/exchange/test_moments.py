"""The moments of a stream that its timeline shows."""

from clew.exchange.moments import StreamMoments


def test_of_a_silence_the_first_and_the_last_moment_are_kept() -> None:
    moments = StreamMoments()
    for size, seconds in [(10, 0.25), (20, 1.0), (20, 2.0), (20, 3.0), (20, 4.0004), (30, 5.0), (30, 6.0)]:
        moments.note(size, seconds)
    assert moments.all() == ((10, 0.25), (20, 1.0), (20, 4.0), (30, 5.0), (30, 6.0))


def test_sizes_are_whole_numbers_however_large() -> None:
    moments = StreamMoments()
    moments.note(2**40 + 1, 0.5)
    ((size, seconds),) = moments.all()
    assert (type(size), size, seconds) == (int, 2**40 + 1, 0.5)


def test_none_are_none() -> None:
    assert StreamMoments().all() == ()
