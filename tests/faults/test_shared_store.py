"""Several gateways on one PostgreSQL: any of them answers any request, one of them dies, and the database goes away and comes
back."""

from __future__ import annotations

import http.client
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
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
        status, _, body = gateway.get("/readyz")
        assert (status, json.loads(body)["store"]) == (200, "degraded")
        until(lambda: set(told[3:]) <= recorded_here(gateway))
        server.start()
        until(lambda: not any((gateway.home / "spool").iterdir()))
        until(lambda: json.loads(gateway.get("/readyz")[2])["store"] == "ok")
        ask()
    with PostgresStore(url) as store:
        assert [each.exchange for each in store.passages("local", told[0])] == told
        assert store.verify() == ()
    assert refusals(vendor) == []


def recorded_here(gateway: Served) -> set[str]:
    """The exchanges of which the log says that they are on this machine alone: the head of a stream goes out before that is
    known."""
    lines = [line for line in (gateway.config.parent / "log").read_text().splitlines() if "recorded on this machine" in line]
    return {json.loads(line)["exchange"] for line in lines}


def test_what_an_asynchronous_standby_does_not_have_comes_from_the_clients_copy(vendor: Simulator) -> None:
    """Turns that the old primary acknowledged can be missing on the new one. How many, is counted; nothing is refused."""
    messages, told = list[Json](), list[str]()
    with (
        private_server(max_wal_senders="4", wal_level="replica") as primary,
        primary.standby() as standby,
        ExitStack() as stack,
    ):
        name = primary.create().split("/")[3].partition("?")[0]
        config = config_of(vendor, f"postgresql://postgres@/{name}?host={primary.folder},{standby.folder}")
        gateways = [stack.enter_context(SharedGateway(config, "--no-admin", patient=True)) for _ in range(2)]

        def ask(gateway: Served) -> None:
            asking = user(f"Question {len(told)}?")
            answer = send(gateway, [*messages, asking])
            told.append(answer.headers["x-clew-exchange"])
            messages.extend([asking, assistant(*content_of(answer))])

        for _ in range(3):
            ask(gateways[0])
        until(lambda: rows_in(standby, name) == 3)
        standby.stop_following()
        for _ in range(2):
            ask(gateways[0])
        primary.stop("immediate")
        standby.promote()
        for _ in range(2):
            ask(gateways[1])  # which has nothing of it in its memory
        until(lambda: rows_in(standby, name) == 5 and not any(gateways[1].home.glob("spool/*.turn")))
        with PostgresStore(standby.url(name)) as store:
            lost = [id for id in told if store.recordings("local").by_id(id) is None]
            assert lost == told[3:5]
            assert store.verify() == ()
    assert refusals(vendor) == []
    note("acknowledged turns that an asynchronous standby did not have", len(lost))


def rows_in(server: PostgresServer, name: str) -> int:
    """How many whole turns it has; 0 where it cannot be asked."""
    try:
        with psycopg.connect(server.url(name)) as connection:
            return connection.execute("SELECT count(*) FROM clew.exchanges WHERE outcome = 'whole'").fetchall()[0][0]
    except psycopg.Error:
        return 0


def test_an_exhausted_server_is_never_a_refused_key(vendor: Simulator) -> None:
    with private_server(max_connections="6", superuser_reserved_connections="0") as server:
        url = server.create()
        PostgresStore(url).close()
        greedy = [psycopg.connect(url) for _ in range(6)]
        with SharedGateway(config_of(vendor, url), "--no-admin", patient=True) as gateway:
            told = [send(gateway, [user(f"Question {number}?")]).headers["x-clew-exchange"] for number in range(3)]
            assert gateway.get("/readyz")[0] == 200
            for each in greedy:
                each.close()
            until(lambda: not any(gateway.home.glob("spool/*.turn")))
        with PostgresStore(url) as store:
            assert [id for id in told if store.recordings("local").by_id(id) is None] == []


def test_a_gateway_starts_without_its_database(server: PostgresServer, vendor: Simulator) -> None:
    """A conversation that another one began goes on there, too."""
    url = server.create()
    server.stop()
    with SharedGateway(config_of(vendor, url), "--no-admin", patient=True) as gateway:
        answers = [
            send(gateway, [user("Is anybody there?")]),
            send(gateway, [user("Hello?"), assistant({"type": "text", "text": "Hello."}), user("Who is it?")]),
        ]
        server.start()
        until(lambda: not any((gateway.home / "spool").iterdir()))
    with PostgresStore(url) as store:
        for answer in answers:
            assert store.recordings("local").by_id(answer.headers["x-clew-exchange"]) is not None
