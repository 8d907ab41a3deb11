"""The end of a gateway with large questions under way: what is worked on in threads is kept too before the process ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.gateway.served import Served, backend
from tests.manifest import proves

pytestmark = pytest.mark.slow

LONG = "about: long\n\nturn:\n  text: It begins.\n  pause: 60\n  text: It ends.\n"
LARGE = "x" * 300_000


@pytest.fixture
def vendor(tmp_path: Path) -> Iterator[Simulator]:
    (tmp_path / "long.scenario").write_text(LONG)
    with Simulator(scenario=str(tmp_path / "long.scenario")) as simulator:
        yield simulator


@proves("fault:P1")
def test_large_exchanges_that_the_end_cuts_off_are_kept_as_cut(vendor: Simulator) -> None:
    """P1: told in the stream, and in the store as what they are when the process is gone."""
    config = 'active = "claude"\n[gateway]\ndrain_seconds = 0.3\nclosing_seconds = 30\n' + backend(
        "claude", vendor.url, 'realm = "anthropic"\n'
    )
    with Served(config, "--no-admin") as gateway:
        peers = [gateway.ask(f"{n} {LARGE}") for n in range(12)]
        for peer in peers:
            peer.read_until(b"It begins.")
        gateway.signal()
        told = [peer.read_to_end() for peer in peers]
        assert gateway.ended() == 0
        assert [(b"event: error" in each, b"message_stop" in each) for each in told] == [(True, False)] * 12
        assert Counter(exchange.outcome for exchange in gateway.exchanges()) == {"cut": 12}
