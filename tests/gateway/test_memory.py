"""Memory that was freed is kept for the next large body."""

import resource

from clew.gateway.memory import keep_memory


def faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        _ = [bytes(1_000_000) + b"x", b"y" * 1_000_000]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_a_second_megabyte_is_no_news_to_the_system() -> None:
    """Each page that is asked for again would be a fault, 256 for each of these. (Without glibc all is as it was.)"""
    before = faults()
    keep_memory()
    faults()
    assert faults() <= max(1000, before)
