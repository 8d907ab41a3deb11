"""Several gateways on one PostgreSQL: any of them answers any request, one of them dies, and the database goes away and comes
back."""

from __future__ import annotations

import http.client
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from clew.store.postgres.store import PostgresStore
from clew.testing import Simulator
from tests.build import Json, assistant, user
from tests.counts import examples
from tests.engine.gate import Answer
from tests.engine.talk import MODEL, SHOWN, content_of, refusals
from tests.faults.scene import question
from tests.gateway.served import KEY, Served, backend
from tests.numbers import note
from tests.postgres import PostgresServer, private_server
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

GATEWAYS = 3
TURNS = examples(12, soak=300)
SECRET = "0123456789abcdef" * 4
END = b'data: {"type":"message_stop"}\n\n'


class SharedGateway(Served):
    """A gateway with a home of its own and the secret that all have."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "CLEW_SECRET": SECRET}


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_server() as server:
        yield server


@pytest.fixture
def vendor() -> Iterator[Simulator]:
    with Simulator(stance={"prefix_enforcement": "on"}) as simulator:
        yield simulator


def config_of(vendor: Simulator, url: str) -> str:
    store = f'[store]\nurl = "{url}"\n'
    return 'active = "claude"\n[gateway]\nadmin_port = 0\n' + store + backend("claude", vendor.url, 'realm = "anthropic"\n')


def send(gateway: Served, messages: list[Json]) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": KEY}
    connection.request("POST", "/v1/messages", json.dumps(question(messages=messages, model=MODEL, thinking=SHOWN)), headers)
    response = connection.getresponse()
    answer = Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    connection.close()
    assert answer.status == 200, answer.raw
    assert END in answer.raw
    return answer


def without_thinking(blocks: list[Json]) -> list[Json]:
    return [block for block in blocks if block["type"] != "thinking"]


def test_a_client_that_lost_its_thinking_gets_it_back_from_whichever_gateway_it_reaches(
    server: PostgresServer, vendor: Simulator
) -> None:
    """Any gateway finds what another recorded; one is killed in between, and its answers are there."""
    chance, url = random.Random(20261118), server.create()
    config, messages, told = config_of(vendor, url), list[Json](), list[str]()
    with ExitStack() as stack:
        gateways = [stack.enter_context(SharedGateway(config, "--no-admin", patient=True)) for _ in range(GATEWAYS)]
        for number in range(TURNS):
            if number == TURNS // 2:
                gateways.pop().process.kill()
            asking = user(f"Question {number}?")
            answer = send(chance.choice(gateways), [*messages, asking])
            told.append(answer.headers["x-clew-exchange"])
            messages += [asking, assistant(*without_thinking(content_of(answer)))]
            if number:
                assert f"restored={number}" in answer.headers["x-clew-thinking"], answer.headers["x-clew-thinking"]
    assert refusals(vendor) == []
    with PostgresStore(url) as store:
        assert [id for id in told if store.recordings("local").by_id(id) is None] == []
        assert store.verify() == ()
    note("turns over three gateways on one PostgreSQL", TURNS)


def test_answers_go_on_while_the_database_is_away_and_all_turns_reach_it(server: PostgresServer, vendor: Simulator) -> None:
    url, messages, told = server.create(), list[Json](), list[str]()
    with SharedGateway(config_of(vendor, url), "--no-admin", patient=True) as gateway:

        def ask() -> None:
            asking = user(f"Question {len(told)}?")
            answer = send(gateway, [*messages, asking])
            told.append(answer.headers["x-clew-exchange"])
            messages.extend([asking, assistant(*without_thinking(content_of(answer)))])

        for _ in range(3):
            ask()
        server.stop("immediate")
        for _ in range(3):
            ask()
        server.start()
        until(lambda: not any((gateway.home / "spool").iterdir()))
        ask()
    with PostgresStore(url) as store:
        assert [each.exchange for each in store.passages("local", told[0])] == told
        assert store.verify() == ()
    assert refusals(vendor) == []


def test_a_gateway_starts_without_its_database(server: PostgresServer, vendor: Simulator) -> None:
    url = server.create()
    server.stop()
    with SharedGateway(config_of(vendor, url), "--no-admin", patient=True) as gateway:
        answer = send(gateway, [user("Is anybody there?")])
        server.start()
        until(lambda: not any((gateway.home / "spool").iterdir()))
    with PostgresStore(url) as store:
        assert store.recordings("local").by_id(answer.headers["x-clew-exchange"]) is not None
