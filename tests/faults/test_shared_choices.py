"""Several gateways on one PostgreSQL take over what is chosen at any of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.store.postgres.store import PostgresStore
from clew.testing import Simulator
from tests.build import user
from tests.faults.test_pooler import pooler
from tests.faults.test_shared_store import SharedGateway, config_of, send
from tests.forking import run_clew
from tests.gateway.served import backend
from tests.postgres import prepared_url, private_server
from tests.store.turns import recorded, turn
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def vendors() -> Iterator[tuple[Simulator, Simulator]]:
    with Simulator() as first, Simulator() as second:
        yield first, second


def test_a_choice_holds_on_every_gateway_when_the_command_ends(vendors: tuple[Simulator, Simulator]) -> None:
    choose_for_three(prepared_url(), vendors)


@pytest.mark.soak
def test_a_choice_holds_on_every_gateway_behind_a_transaction_pooler(vendors: tuple[Simulator, Simulator]) -> None:
    """Which passes no notifications on."""
    with private_server() as server:
        name = server.create().split("/")[3].partition("?")[0]
        with pooler(server) as through:
            choose_for_three(f"{through}/{name}", vendors)


def choose_for_three(url: str, vendors: tuple[Simulator, Simulator]) -> None:
    config = config_of(vendors[0], url) + backend("other", vendors[1].url, 'realm = "anthropic"\n')
    with ExitStack() as stack, PostgresStore(url) as store:
        gateways = [stack.enter_context(SharedGateway(config, "--no-admin", patient=True)) for _ in range(3)]
        until(lambda: len(store.gateways()) == 3)
        done = gateways[0].clew("use", "other", "--json", CLEW_CONFIG=str(gateways[0].config))
        said = json.loads(done.stdout)["followed"]
        assert (said["gateways"], said["behind"]) == (3, []), done
        for each in gateways:
            send(each, [user(f"Who answers at {each.port}?")])
        assert [len(each.journal()) for each in vendors] == [0, 3]
        assert {each.active for each in store.gateways()} == {"other"}


def test_the_status_line_asks_a_gateway_and_not_the_database(vendors: tuple[Simulator, Simulator]) -> None:
    """Claude Code runs it up to three times a second, on every machine."""
    with private_server(log_connections="on") as server:
        url = server.create()
        with PostgresStore(url) as store:
            assert store.record(turn(recorded("a"), session="s1", at=time.time())).result(60)
        with SharedGateway(config_of(vendors[0], url), patient=True) as gateway:

            def line() -> tuple[str, int]:
                told = run_clew(["statusline"], input='{"session_id": "s1"}', env=ours, timeout=60).stdout
                return told, (server.folder / "log").read_text().count("connection authorized")

            ours = {**gateway.environment, "CLEW_CONFIG": str(gateway.config)}
            until(lambda: line()[0].startswith("claude-opus-5-5 → claude claude-opus-5-5"))  # it waits for half a second
            _, before = line()
            again = [line() for _ in range(10)]
            assert again[-1][1] < before + 10, "the gateway itself may have made a connection meanwhile, of four at most"
            gateway.process.kill()
            gateway.process.wait(60)
            told, before = line()
            assert told == "clew → claude\n", "nobody is asked, and the settings say who would answer"
            assert line()[1] == before


def test_a_gateway_with_another_secret_does_not_start(vendors: tuple[Simulator, Simulator], tmp_path: Path) -> None:
    with SharedGateway(config_of(vendors[0], prepared_url()), "--no-admin", patient=True) as gateway:
        send(gateway, [user("Hello?")])
        strange = {"CLEW_SECRET": "fedcba9876543210" * 4, "CLEW_HOME": str(tmp_path)}
        done = gateway.clew("serve", "--port", "0", "--no-admin", "--config", str(gateway.config), **strange)
    assert done.returncode != 0
    assert "Give this gateway the same CLEW_SECRET as the others have" in done.stderr
