"""`kill -9` of gateways that share one PostgreSQL, under load: what a client was told is where it was told to be.

Three accounts are held against each other: what the clients heard, what the journal of the vendor has, and the rows. An
answer in one piece says where its turn is (`x-clew-recorded`): `shared` is in the database at once, `local` when the gateway
that kept it is back.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from clew.store.postgres.store import PostgresStore
from clew.testing import Simulator
from tests.build import Json, assistant, user
from tests.counts import examples
from tests.engine.talk import MODEL, SHOWN, refusals
from tests.faults.scene import question
from tests.fleet import Fleet
from tests.gateway.served import KEY, backend
from tests.numbers import note
from tests.postgres import PostgresServer, private_server
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

ROUNDS = examples(3, soak=200)
CLIENTS = 4
LONGEST = 8
"""Messages of a history; then a client begins anew."""


class Asker:
    """A client that asks again and again. `told` is where each exchange is that it has an answer of."""

    def __init__(self, port: int, name: str) -> None:
        self.told: dict[str, str] = {}
        self.failures = Counter[str]()
        self._port = port
        self._name = name
        self._messages: list[Json] = []

    def ask_until(self, ending: threading.Event) -> None:
        while not ending.is_set():
            self.ask()

    def ask(self) -> None:
        self._messages = [] if len(self._messages) >= LONGEST else self._messages
        asking = user(f"{self._name} asks its question number {len(self.told)}.")
        body = question(messages=[*self._messages, asking], model=MODEL, thinking=SHOWN, stream=False)
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": KEY}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            connection.request("POST", "/v1/messages", json.dumps(body), headers)
            response = connection.getresponse()
            raw = response.read()
        except (OSError, http.client.HTTPException) as error:  # its gateway died
            self.failures[type(error).__name__] += 1
            return
        finally:
            connection.close()
        assert response.status == 200, raw
        self.told[response.headers["x-clew-exchange"]] = response.headers["x-clew-recorded"]
        self._messages += [asking, assistant(*json.loads(raw)["content"])]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_server() as server:
        yield server


def whole_rows(url: str) -> dict[str, str]:
    """The vendor's request id of each whole exchange that has its recording."""
    wanted = (
        "SELECT exchanges.id, request_id FROM clew.exchanges JOIN clew.recordings USING (principal, id) "
        "WHERE outcome = 'whole' AND exchanges.recording = recordings.id"
    )
    with psycopg.connect(url) as connection:
        return dict(connection.execute(wanted).fetchall())


def test_what_clients_were_told_survives_the_death_of_any_gateway(server: PostgresServer, tmp_path: Path) -> None:
    chance, url = random.Random(20261118), server.create()
    with Simulator(stance={"prefix_enforcement": "on"}) as vendor:
        config = tmp_path / "clew.toml"
        config.write_text(
            f'active = "claude"\n[store]\nurl = "{url}"\n' + backend("claude", vendor.url, 'realm = "anthropic"\n')
        )
        config.chmod(0o600)
        with Fleet(config, tmp_path, url, environ={"CLEW_KEY": KEY}) as fleet:
            askers = [Asker(fleet.port, f"Client {number}") for number in range(CLIENTS)]
            for _ in range(ROUNDS):
                kill_under_load(fleet, askers, chance.randrange(CLIENTS, 6 * CLIENTS))
                shared = {id for each in askers for id, place in each.told.items() if place == "shared"}
                assert shared <= whole_rows(url).keys(), "before anybody is back"
                fleet.start()
            for each in askers:
                each.ask()
            until(lambda: not fleet.waiting())
        told = {id: place for each in askers for id, place in each.told.items()}
        rows = whole_rows(url)
        answered = {entry["request_id"] for entry in vendor.journal() if entry["ended"] == "whole"}
        assert told.keys() <= rows.keys()
        assert "no" not in told.values()
        assert set(rows.values()) <= answered, "nothing is kept that the vendor did not say"
        assert len(set(rows.values())) == len(rows), "and nothing twice"
        assert refusals(vendor) == []
    with PostgresStore(url) as store:
        assert store.verify() == ()
    note("kill -9 of one of three gateways", ROUNDS)
    note("answers that clients were told of, three gateways", len(told))
    note("of these on one machine first", sum(place == "local" for place in told.values()))
    note("requests that a death cut off", sum(sum(each.failures.values()) for each in askers))


def kill_under_load(fleet: Fleet, askers: list[Asker], answers: int) -> None:
    """All ask at once until so many answers more are there; then one gateway dies under them."""
    ending, enough = threading.Event(), count_told(askers) + answers
    threads = [threading.Thread(target=each.ask_until, args=(ending,)) for each in askers]
    for thread in threads:
        thread.start()
    until(lambda: count_told(askers) >= enough)
    fleet.kill()
    ending.set()
    for thread in threads:
        thread.join(120)


def count_told(askers: list[Asker]) -> int:
    return sum(len(each.told) for each in askers)
