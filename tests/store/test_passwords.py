"""Where the password of a database is found, with each connection anew."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from clew.errors import StoreError
from clew.store.postgres.passwords import find_password
from clew.store.postgres.store import PostgresStore
from tests.postgres import PostgresServer, private_server
from tests.store.turns import recorded, turn
from tests.waiting import until


def test_a_password_is_in_the_url_in_a_file_or_the_output_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from a file\n")
    assert find_password("plain", "db") == ""
    assert find_password(f"file:{tmp_path}/password", "db") == "from a file"
    assert find_password("command:echo from a command", "db") == "from a command"


@pytest.mark.parametrize(
    ("given", "says"),
    [("file:/nowhere", "cannot be read from /nowhere"), ("command:false", "status 1"), ("command:/nowhere", "No such file")],
)
def test_a_password_that_cannot_be_found_is_told(given: str, says: str) -> None:
    with pytest.raises(StoreError, match=says):
        find_password(given, "db")


@pytest.mark.slow
def test_a_password_can_be_replaced_while_a_gateway_runs(tmp_path: Path) -> None:
    """With one that holds for a moment only, every connection has another."""
    with private_server() as server:
        with psycopg.connect(server.url("postgres"), autocommit=True) as admin:
            admin.execute("CREATE ROLE clew LOGIN PASSWORD 'first'")
            admin.execute("CREATE DATABASE team OWNER clew")
        _ask_for_passwords(server)
        password = tmp_path / "password"
        password.write_text("first")
        url = f"postgresql://clew@/team?host={server.folder}&password={quote(f'file:{password}')}"
        with PostgresStore(url, spool=tmp_path / "spool") as store:
            assert store.record(turn(recorded("a"))).result(60)
            password.write_text("second")
            with psycopg.connect(server.url("postgres"), autocommit=True) as admin:
                admin.execute("ALTER ROLE clew PASSWORD 'second'")
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'clew'")
            assert store.record(turn(recorded("b"))).result(60)
            until(lambda: store.health().local == 0)
            assert len(store.exchanges("local")) == 2
        password.write_text("wrong")
        with pytest.raises(StoreError, match="password authentication failed") as failed:
            PostgresStore(url)
        assert "wrong" not in str(failed.value)


def _ask_for_passwords(server: PostgresServer) -> None:
    """Of all but the tests' own user."""
    (server.data / "pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
    with psycopg.connect(server.url("postgres"), autocommit=True) as admin:
        admin.execute("SELECT pg_reload_conf()")
