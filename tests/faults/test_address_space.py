"""A gateway that may use little memory (`ulimit -v`)."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

import pytest

from clew.testing import Simulator
from tests.counts import examples
from tests.gateway.served import CLEW, Served, backend
from tests.http.conftest import Peer
from tests.numbers import note

pytestmark = pytest.mark.slow

KILOBYTES = 1_200_000
ASKED = 8


def test_requests_for_which_there_is_no_memory_are_refused_in_words_and_the_gateway_lives_on() -> None:
    """Eight times 30 MB at once, in the soak twice: more than twice what there is room for."""
    limited = ("sh", "-c", f'ulimit -v {KILOBYTES}; exec "$@"', "sh", CLEW)
    with Simulator() as vendor, Served("[gateway]\nadmin_port = 0\n" + backend("a", vendor.url), command=limited) as gateway:
        asked = gateway.request("x" * (30 << 20), stream=False)
        for _ in range(examples(1, soak=2)):
            statuses = _ask_at_once(asked, [gateway.peer() for _ in range(ASKED)])
            assert set(statuses) <= {200, 400, 500, 503}
            assert 503 in statuses
            assert gateway.get("/healthz")[0] == 200
            assert gateway.ask(stream=False).response()[0] == 200
            note("requests refused for want of memory", statuses.count(503))
        assert gateway.process.poll() is None


def _ask_at_once(asked: bytes, peers: Sequence[Peer]) -> list[int]:
    statuses: list[int] = []

    def ask(peer: Peer) -> None:
        status, _, body = peer.send(asked).response()
        assert status == 200 or json.loads(body)["type"] == "error"
        statuses.append(status)

    threads = [threading.Thread(target=ask, args=(peer,)) for peer in peers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(statuses) == len(peers)
    return statuses
