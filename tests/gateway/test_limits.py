"""What the system allows a gateway: open files, and memory."""

from pathlib import Path

import pytest

from clew.gateway.resources import client_limits, usable_memory
from clew.settings.values import GatewaySettings
from tests.gateway.served import CLEW, Served, backend
from tests.waiting import until

GIGABYTE = 1024**3


def test_half_of_the_files_that_may_be_open_are_for_clients() -> None:
    few, many = (client_limits(GatewaySettings(max_streams=500), files, GIGABYTE).connections for files in (256, 16_384))
    assert (few, many) == (64, 8128)


def test_the_bodies_of_all_requests_may_have_an_eighth_of_the_memory_and_one_always_fits() -> None:
    assert client_limits(GatewaySettings(), 1024, 8 * GIGABYTE).bodies_bytes == GIGABYTE
    assert client_limits(GatewaySettings(), 1024, 1024).bodies_bytes == 32 * 1024 * 1024
    assert client_limits(GatewaySettings(bodies_megabytes=100), 1024, 8 * GIGABYTE).bodies_bytes == 100 * 1024 * 1024


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_a_container_has_the_memory_that_it_was_given(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("268435456\n")
    assert usable_memory(tmp_path) == 268435456
    file.write_text("max\n")
    assert usable_memory(tmp_path) > 268435456


@pytest.mark.slow
@pytest.mark.parametrize("silent", [b"", b"POST /v1/messages HTTP/1.1\r\nhost: "], ids=["nothing", "half a head"])
def test_more_silent_connections_than_files_keep_no_client_out(silent: bytes) -> None:
    with Served(backend("a", "http://127.0.0.1:9"), command=("sh", "-c", 'ulimit -n 256; exec "$@"', "sh", CLEW)) as gateway:
        crowd = [gateway.peer().send(silent) for _ in range(600)]
        for _ in range(20):
            assert gateway.get("/healthz")[0] == 200
        assert len(crowd) == 600
        told = "max_streams is 64 instead of 500: this process may open 256 files"
        until(lambda: told in (gateway.home / "log").read_text())
