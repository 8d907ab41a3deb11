"""A backend that is silent for a while: who looks after that, and whom it leaves alone."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.http.message import HttpRequest
from clew.http.responder import Responder
from clew.http.server import listen
from clew.settings.values import GatewaySettings, Retry
from clew.testing.simulator import Background
from tests.build import user
from tests.clock import Clock
from tests.engine.conftest import Gating
from tests.engine.questions import EVENTS, OPUS, sse

pytestmark = pytest.mark.slow


class Busy:
    """Has no time for the first who asks. Anyone who asks again waits for the first words, and others in the middle."""

    def __init__(self) -> None:
        self.refused = Event()
        self.begun = Event()

    async def handle(self, request: HttpRequest, respond: Responder) -> None:
        again = json.loads(request.body)["messages"][0]["content"] == "again"
        if again and not self.refused.is_set():
            respond.send(529, [("content-type", "application/json"), ("retry-after", "1")], b"{}")
            self.refused.set()
            return
        if not again:
            self.begun.set()
        before = 2 if again else 4
        respond.start(200, [("content-type", "text/event-stream")])
        respond.push(b"".join(map(sse, EVENTS[:before])))
        await asyncio.sleep(5 if again else 20)
        respond.push(b"".join(map(sse, EVENTS[before:])))
        respond.end()


def test_anyone_who_asks_again_elsewhere_and_hears_nothing_leaves_the_first_connection_alone(
    clock: Clock, gating: Gating
) -> None:
    """It was given back after the refusal, and by then another answer comes there, whose end somebody waits for."""
    busy, kinds = Busy(), [event["type"] for event in EVENTS if event["type"] != "ping"]
    with Background() as loop, ThreadPoolExecutor() as clients:
        server = loop.call(listen(busy.handle))
        row = Backend(name="b", url=server.url, realm="anthropic", auth="key", keys=(Secret("sk-test-key"),))
        gate = gating(row, store=False, retry=Retry(retries=1), gateway=GatewaySettings(ping_seconds=1))

        def asked(words: str) -> list[str]:
            answer = gate.ask({"model": OPUS, "max_tokens": 9, "stream": True, "messages": [user(words)]})
            return [kind for kind in answer.kinds if kind != "ping"]

        again = clients.submit(asked, "again")
        assert busy.refused.wait(120)
        clock.pass_time(0.2)
        other = clients.submit(asked, "other")
        assert busy.begun.wait(120)
        clock.pass_time(30)
        try:
            assert (again.result(120), other.result(120)) == (kinds, kinds)
        finally:
            gate.call(gate.closed())
            loop.call(server.close(grace=0))
