"""Memory that was freed is kept for the next large body, and the garbage collector seldom looks for more."""

import gc
import resource
import subprocess
import sys

import pytest

from clew.gateway.resources import keep_freed_memory, rare_collections


def faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        _ = [bytes(1_000_000) + b"x", b"y" * 1_000_000]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_a_second_megabyte_is_no_news_to_the_system() -> None:
    """Each page that is asked for again would be a fault, 256 for each of these. (Without glibc all is as it was.)"""
    before = faults()
    keep_freed_memory()
    faults()
    assert faults() <= max(1000, before)


def test_while_a_gateway_serves_the_garbage_collector_looks_seldom_and_afterwards_as_before() -> None:
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    with rare_collections():
        assert gc.get_threshold()[0] > 5 * threshold[0]
        assert gc.get_freeze_count() > frozen
    assert gc.get_threshold() == threshold
    gc.freeze()  # as the tests have it


BURST = """
from pathlib import Path
from clew.gateway.resources import keep_freed_memory

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20

keep_freed_memory()
before, outlives, bodies = megabytes(), [], []
for number in range(8):
    bodies.append(b"x" * 30_000_000)
    outlives.append(bytearray(100_000 + number))
assert megabytes() - before > 200
bodies.clear()
print(megabytes() - before)
"""


SCATTERED = """
from pathlib import Path
from clew.gateway.resources import FreedMemory, keep_freed_memory

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20

keep_freed_memory()
now = worked = 0.0
memory = FreedMemory(lambda: now, lambda: worked)
before, bodies, outlives = megabytes(), [], []
for number in range(1000):
    bodies.append(b"x" * 100_000)
    outlives.append(bytearray(1000))
bodies.clear()
for now, worked in LOOKS:
    memory.look()
    print(megabytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is resident in this way")
@pytest.mark.parametrize(
    "looks",
    [
        pytest.param(((60.0, 0.1), (60.0, 60.0)), id="much work"),
        pytest.param(((1.0, 1.0), (1.4, 1.001)), id="some work, and then rest"),
        pytest.param(((9.0, 0.1), (9.4, 0.1), (9.8, 0.25), (10.2, 0.25)), id="little work, added up"),
    ],
)
def test_freed_memory_between_values_that_stay_is_given_back(looks: tuple[tuple[float, float], ...]) -> None:
    """Each look at what time, after how many seconds of CPU. It is given back with the last of them."""
    code = SCATTERED.replace("LOOKS", repr(looks))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    *before, after = map(int, done.stdout.split())
    assert min(before) > 60
    assert after < 30


@pytest.mark.slow
def test_a_burst_of_the_largest_bodies_does_not_stay() -> None:
    """Whatever small things outlive it."""
    done = subprocess.run([sys.executable, "-c", BURST], capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < 60
