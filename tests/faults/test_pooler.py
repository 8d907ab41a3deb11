"""Through PgBouncer in transaction mode: each transaction may have another session, so there are no notifications and no
prepared statements; and which statements are sent at all, by the server's own log."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.store.postgres.store import PostgresStore
from tests.postgres import PostgresServer, private_server
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HOW = "this test needs PgBouncer: install it (Debian: `apt-get install pgbouncer`)"


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_server(log_statement="all", log_line_prefix="%p ") as server:
        yield server


@contextmanager
def pooler(server: PostgresServer) -> Generator[str]:
    """A PgBouncer in front of a server: the beginning of its URLs."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    assert Path(program).exists(), HOW
    folder = server.folder.with_name("pooler")
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "ini").write_text(
        f"[databases]\n* = host={server.folder}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {folder}/users\npool_mode = transaction\ndefault_pool_size = 3\nlogfile = {folder}/log\n"
    )
    command = [program, str(folder / "ini")]
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port))
        yield f"postgresql://postgres@127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_gateways_share_a_database_behind_a_transaction_pooler(server: PostgresServer, tmp_path: Path) -> None:
    name = server.create().split("/")[3].partition("?")[0]
    with pooler(server) as through:
        url = f"{through}/{name}"
        with PostgresStore(url, spool=tmp_path / "a") as one, PostgresStore(url, spool=tmp_path / "b") as two:
            answers = conversation(30)
            for each, store in zip(answers, [one, two] * 15, strict=True):
                assert store.record(turn(each)).result(60)
            assert one.health().local + two.health().local == 0
            assert [len(store.passages("local", "t")) for store in (one, two)] == [30, 30]
            one.set("active", "glm", at=NOON).result(60)
            until(lambda: one.changes() == two.changes())
            assert two.settings() == {"active": "glm"}
            assert one.forget("local", "t", at=NOON).result(60)
            assert one.verify() == ()
        log = (server.folder / "log").read_text()
    kept_by_a_session = ("LISTEN", "PREPARE", "DECLARE", "CREATE TEMP", "pg_advisory_lock(")
    assert [each for each in kept_by_a_session if each in log] == []
    assert "does not exist" not in log, "a prepared statement of another session"


def test_turns_notify_nobody(server: PostgresServer, tmp_path: Path) -> None:
    """The server's log has every statement of the store."""
    with PostgresStore(server.create(), spool=tmp_path / "spool") as store:
        for number in range(20):
            store.record(turn(recorded(f"r{number}")))
        store.touch("local", keys=[b"k"], at=NOON).result(60)
        store.record(turn(recorded("last"))).result(60)
        log = (server.folder / "log").read_text()
        assert "INSERT INTO clew.exchanges" in log
        assert "pg_notify" not in log
        store.set("active", "glm", at=NOON).result(60)
        until(lambda: (server.folder / "log").read_text().count("pg_notify") == 1)
