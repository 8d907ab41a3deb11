"""A settings file that changes a hundred times under load, is broken, or is written in two steps: nobody who asks notices."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.counts import examples
from tests.engine.gate import Answer, Gate, claude
from tests.faults.conftest import Calling, Gating
from tests.faults.scene import impatient, question, story
from tests.gateway.served import backend
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

RELOADS = examples(24, soak=1000)
ANTHROPIC = 'realm = "anthropic"\n'


def forms(a: Simulator, b: Simulator) -> list[str]:
    """Backends come, go and change their names; keys rotate."""
    one, two = backend("a", a.url, ANTHROPIC), backend("b", b.url, ANTHROPIC)
    return [
        f'active = "a"\n{one}',
        f'active = "b"\n{one}{two}',
        f'active = "renamed"\n{backend("renamed", b.url, ANTHROPIC)}',
        f'active = "b"\nfailover = ["a"]\n{one}{two}'.replace("sim-test-key", "sim-other-key"),
    ]


def save(gate: Gate, text: str | bytes) -> None:
    """A new file in place of the old one, as most editors do it; and two looks at it, for one is not enough."""
    fresh = gate.home / "clew.toml.new"
    fresh.write_bytes(text if isinstance(text, bytes) else text.encode())
    fresh.chmod(0o600)
    fresh.replace(gate.home / "clew.toml")
    gate.current.poll()
    gate.current.poll()


@contextmanager
def load(gate: Gate, clients: int = 3) -> Iterator[list[Answer]]:
    """Clients that ask without a pause; all that they were told."""
    told: list[Answer] = []
    ending = threading.Event()

    def ask(number: int) -> None:
        while not ending.is_set():
            told.append(gate.ask(question(f"Client {number}", stream=number % 2 == 0)))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        ending.set()
        for thread in threads:
            thread.join(120)


@proves("fault:P5")
def test_many_reloads_cost_no_request_and_no_descriptor(
    gating: Gating, calling: Calling, a: Simulator, b: Simulator
) -> None:
    """P5, 3.3: a stream that began before the first of them ends whole on a backend that is long gone."""
    gate = gating(claude(a, "a"), **impatient())
    forms_ = forms(a, b)
    save(gate, forms_[2])
    b.fault("stall 1.5 content=3")
    long = calling(gate).asks()
    long.read_until(b"content_block_delta")
    with load(gate) as told:
        until(lambda: len(told) > 6)
        before = len(os.listdir("/proc/self/fd"))
        active = []
        for n in range(RELOADS):
            save(gate, forms_[n % len(forms_)])
            active.append(gate.current.snapshot.active)
        after = len(os.listdir("/proc/self/fd"))
        for form, name in zip(forms_, ("a", "b", "renamed"), strict=False):
            save(gate, form)
            until(lambda name=name: name in backends_of(told))
    assert active == [["a", "b", "renamed", "b"][n % 4] for n in range(RELOADS)]
    assert {(answer.status, story(answer)) for answer in told} == {(200, "whole")}
    assert backends_of(told) == {"a", "b", "renamed"}
    assert b"message_stop" in long.read_until(b"0\r\n\r\n")
    assert abs(after - before) < 20, "a few connections more or less are open at any moment"
    assert gate.current.problem == ""


def backends_of(told: list[Answer]) -> set[str]:
    return {answer.headers["x-clew-backend"] for answer in list(told)}


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "half a line": ('active = "a', "clew.toml:1"),
    "a key that nobody knows": ('active = "a"\nactve = "b"\n', "clew.toml:2"),
    "a backend that is not there": ('active = "nobody"\n[backends.a]\nurl = "https://a.example"\n', "clew.toml:1"),
    "a backend without an address": ("[backends.a]\nauth = 'key'\nkey = 'k'\n", "backends.a"),
    "a variable that is not set": ('active = "${NOT_SET}"\n[backends.a]\nurl = "https://a.example"\n', "NOT_SET"),
    "a number for a word": ("active = 5\n", "clew.toml:1"),
    "a table twice": ("[gateway]\n[gateway]\n", "clew.toml"),
    "an address that must not be called": ('[backends.a]\nurl = "http://169.254.169.254"\n', "backends.a"),
    "no UTF-8": (b"active = '\xff'\n", "clew.toml"),
    "a failover to nobody": ('failover = ["nobody"]\n[backends.a]\nurl = "https://a.example"\n', "nobody"),
    "a timeout below zero": ("[timeouts]\ngap = -1\n", "gap"),
}


@proves("fault:P6")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_whole_and_the_old_one_stays(gating: Gating, a: Simulator, b: Simulator, name: str) -> None:
    """P6: said in `/readyz`, with the place; then it is corrected."""
    text, says = BROKEN[name]
    gate = gating(claude(a, "a"), **impatient())
    save(gate, forms(a, b)[2])
    save(gate, text)
    ready = readiness(gate)
    assert (ready["status"], says in ready["problem"]) == ("ready", True), ready
    assert gate.ask(question()).headers["x-clew-backend"] == "renamed"
    save(gate, forms(a, b)[0])
    assert readiness(gate) == {"status": "ready"}
    assert gate.ask(question()).headers["x-clew-backend"] == "a"


def readiness(gate: Gate) -> dict[str, str]:
    with urllib.request.urlopen(f"{gate.url}/readyz", timeout=120) as response:
        return json.load(response)


@proves("fault:P6")
@pytest.mark.parametrize("gone", ["removed", "a directory"])
def test_a_file_that_is_not_there_any_more_is_no_end(gating: Gating, a: Simulator, b: Simulator, gone: str) -> None:
    """P6: whatever was in it goes on, or what there is without a file; no request fails because of it."""
    gate = gating(claude(a, "a"), **impatient())
    save(gate, forms(a, b)[2])
    file = gate.home / "clew.toml"
    file.unlink()
    if gone == "a directory":
        file.mkdir()
    gate.current.poll()
    gate.current.poll()
    assert readiness(gate)["status"] == "ready"
    if gate.current.problem:
        assert gate.ask(question()).headers["x-clew-backend"] == "renamed"


@proves("fault:P7")
def test_a_file_that_is_written_in_two_steps_is_read_when_it_rests(gating: Gating, a: Simulator, b: Simulator) -> None:
    """P7: the half of it is never taken for the whole, and nobody is told of a problem that is none."""
    gate = gating(claude(a, "a"), **impatient())
    whole = forms(a, b)[2]
    file: Path = gate.home / "clew.toml"
    for cut in range(10, len(whole), 25):
        file.write_text(whole[:cut])
        file.chmod(0o600)
        gate.current.poll()
        assert (gate.current.problem, gate.current.snapshot.active) == ("", "a")
    file.write_text(whole)
    gate.current.poll()
    assert gate.current.snapshot.active == "a"
    gate.current.poll()
    assert (gate.current.problem, gate.current.snapshot.active) == ("", "renamed")
    assert story(gate.ask(question())) == "whole"
