"""`kill -9` of `clew serve` under load, again and again: whatever a client was told is there, and every conversation goes on."""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.build import Json, assistant, user
from tests.counts import examples
from tests.engine.gate import Answer
from tests.engine.talk import MODEL, SHOWN, content_of, refusals
from tests.faults.scene import question
from tests.gateway.served import KEY, Served, backend
from tests.manifest import proves
from tests.numbers import note
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROUNDS = examples(5, soak=200)
CLIENTS = 4
LONGEST = 12
"""Messages of a history; then a client begins anew."""
END = b'data: {"type":"message_stop"}\n\n'


class Talker:
    """A client that goes on and on. `heard` are the exchanges whose end it saw."""

    def __init__(self, gateway: Served, number: int) -> None:
        self.heard: list[str] = []
        self.failures = Counter[str]()
        self._gateway = gateway
        self._number = number
        self._messages: list[Json] = []

    def talk(self, ending: threading.Event) -> None:
        while not ending.is_set():
            self.ask()

    def ask(self) -> bool:
        """One question. Whether it was answered to its end: then it is part of the history, and acknowledged."""
        if len(self._messages) >= LONGEST:
            self._messages = []
        asking = user(f"Client {self._number} asks its question number {len(self.heard)}.")
        answer = self._sent(question(messages=[*self._messages, asking], model=MODEL, thinking=SHOWN))
        if answer is None or END not in answer.raw:
            return False
        self.heard.append(answer.headers["x-clew-exchange"])
        self._messages += [asking, assistant(*content_of(answer))]
        return True

    def _sent(self, body: Json) -> Answer | None:
        """What came, however far; None if nothing did."""
        connection = http.client.HTTPConnection("127.0.0.1", self._gateway.port, timeout=120)
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": KEY}
        raw = bytearray()
        response = None
        try:
            connection.request("POST", "/v1/messages", json.dumps(body), headers)
            response = connection.getresponse()
            while part := response.read1(65536):
                raw += part
        except (OSError, http.client.HTTPException) as error:
            self.failures[type(error).__name__] += 1
        finally:
            connection.close()
        if response is None:
            return None
        assert response.status == 200, raw
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, bytes(raw))


@pytest.fixture
def vendor() -> Iterator[Simulator]:
    with Simulator(stance={"prefix_enforcement": "on"}) as simulator:
        yield simulator


def load(talkers: list[Talker], gateway: Served, answers: int) -> None:
    """All ask at once until so many answers more were heard; then the process dies under them."""
    ending = threading.Event()
    enough = heard_by(talkers) + answers
    threads = [threading.Thread(target=talker.talk, args=(ending,)) for talker in talkers]
    for thread in threads:
        thread.start()
    until(lambda: heard_by(talkers) >= enough)
    gateway.process.kill()
    ending.set()
    for thread in threads:
        thread.join(120)


def heard_by(talkers: list[Talker]) -> int:
    return sum(len(talker.heard) for talker in talkers)


def start_again(gateway: Served) -> None:
    """In the home that the dead one left as it was."""
    gateway.process.wait(120)
    assert gateway.process.stdout is not None
    gateway.process.stdout.close()
    gateway.log.close()
    gateway.__enter__()


def missing(store: SqliteStore, exchanges: list[str]) -> list[str]:
    """Those that are not in the store as whole, with what was said."""
    recordings = store.recordings("local")
    found = {id: store.exchange("local", id) for id in exchanges}
    return [
        id
        for id, exchange in found.items()
        if exchange is None or exchange.outcome != "whole" or recordings.by_id(id) is None
    ]


@proves("fault:P3")
def test_what_a_client_was_told_survives_the_death_of_the_gateway(vendor: Simulator) -> None:
    """P3, 3.5, law 8: some deaths at any moment, two hundred in the soak. Each new start goes on with the same file and the same conversations."""
    chance = random.Random(20261116)
    config = 'active = "claude"\n[gateway]\nadmin_port = 0\n' + backend("claude", vendor.url, 'realm = "anthropic"\n')
    told = 0
    with Served(config, "--no-admin") as gateway:
        talkers = [Talker(gateway, number) for number in range(CLIENTS)]
        for number in range(ROUNDS):
            load(talkers, gateway, chance.randrange(2 * CLIENTS, 12 * CLIENTS))
            start_again(gateway)
            fresh = [id for talker in talkers for id in talker.heard[-200:]]
            with SqliteStore(gateway.home / "clew.db") as store:
                assert missing(store, fresh) == []
                assert number % 5 or store.verify() == ()
            told = heard_by(talkers)
        until(lambda: all(talker.ask() for talker in talkers))
        with SqliteStore(gateway.home / "clew.db") as store:
            every = [id for talker in talkers for id in talker.heard]
            assert missing(store, every) == []
            assert store.verify() == ()
            assert {each.outcome for each in store.exchanges("local", limit=100_000)} <= {"whole", "cut", "open", "failed"}
    assert told > ROUNDS * CLIENTS
    assert refusals(vendor) == [], "every history that came back was one that the vendor could read"
    note("kill -9 of the gateway", ROUNDS)
    note("turns that a client was told of before kill -9", told)
