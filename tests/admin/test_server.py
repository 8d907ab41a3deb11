"""What answers for the admin is loaded when somebody connects, and loading it holds nobody up."""

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from clew.admin.listening import Admin, serve_admin
from clew.engine.hub import Hub
from clew.settings.home import Home
from tests.admin.booth import Booth, present

START = """
import asyncio, sys, time
from pathlib import Path
from clew.admin.listening import serve_admin
from clew.engine.current import Current
from clew.engine.hub import Hub
from clew.settings.home import Home
from clew.settings.load import load
from clew.thinking.keyring import keyring_of
from clew.web import routes

FRAMEWORKS = {"starlette", "uvicorn", "anyio", "jinja2", "clew.chat", "clew.admin.services", "clew.web.frame"}
NEEDLESS = {"prometheus_client", "importlib.metadata", "markdown_it", "nh3", "genai_prices"}

async def start():
    environ = {"CLEW_HOME": sys.argv[1]}
    current = Current(load(None, environ), keyring_of(b"x" * 32).sealer(), environ=environ)
    home = Home(Path(sys.argv[1]))
    return await serve_admin(current=current, store=None, hub=Hub(), home=home, port=0, pages=routes)
"""

ASK = """
async def scene():
    admin = await start()
    assert "/login?code=" in admin.login_url and admin.open_streams == 0
    print(*sorted((FRAMEWORKS | NEEDLESS) & set(sys.modules)))
    reader, writer = await asyncio.open_connection("127.0.0.1", int(admin.url.rpartition(":")[2]))
    writer.write(b"GET /healthz HTTP/1.1\\r\\nHost: %b\\r\\n\\r\\n" % admin.url.removeprefix("http://").encode())
    print((await reader.readline()).decode().strip())
    print(*sorted((FRAMEWORKS | NEEDLESS) & set(sys.modules)))
    writer.close()
    await admin.close()

asyncio.run(scene())
"""

LOOK = """
async def scene():
    admin = await start()
    loading = admin.load()
    longest, began_all = 0.0, time.process_time()
    while not loading.done():
        began = time.process_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.process_time() - began)
    print(longest / (time.process_time() - began_all))
    await admin.close()

asyncio.run(scene())
"""


def _ran(code: str, root: Path) -> str:
    ran = subprocess.run([sys.executable, "-c", START + code, f"{root}/h"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_frameworks_pages_and_chat_are_loaded_with_the_first_connection(tmp_path: Path) -> None:
    """Thirteen megabytes for those who look. Some parts wait longer, for anyone who needs them."""
    loaded = "anyio clew.admin.services clew.chat clew.web.frame jinja2 starlette uvicorn"
    assert _ran(ASK, tmp_path).splitlines() == ["", "HTTP/1.1 200 OK", loaded]


@pytest.mark.slow
def test_the_loop_goes_on_while_the_admin_is_loaded(tmp_path: Path) -> None:
    """Design §7: a stream that runs meanwhile must not stand still."""
    assert float(_ran(LOOK, tmp_path)) < 0.5, "one wait took most of the work"


@pytest.mark.slow
def test_both_doors_open_though_both_are_knocked_at_together(tmp_path: Path) -> None:
    with Booth(tmp_path / "h") as booth:
        with booth.opened("/healthz", port=True) as first, booth.opened("/healthz") as second:
            assert (first.status, second.status) == (200, 200)
        assert booth.ask("/healthz", port=True).status == 200


@pytest.mark.slow
def test_an_exchange_is_counted_though_nobody_looked_before_it(booth: Booth) -> None:
    from tests.web.test_exchange_row import exchange

    booth.publish("exchange", exchange(backend="claude", outcome="completed", status=200))
    assert b'clew_requests_total{backend="claude"' in booth.ask("/metrics").raw


async def _served(root: Path, **more: object) -> Admin:
    home = Home(root)
    return await serve_admin(current=present(home), store=None, hub=Hub(), home=home, port=0, **more)  # type: ignore[arg-type]


def test_an_admin_that_nobody_asked_ends_without_being_loaded(tmp_path: Path) -> None:
    async def scene() -> bool:
        admin = await _served(tmp_path / "h", pages=lambda: pytest.fail("nobody asked"))
        await admin.close()
        return admin.socket.exists()

    assert not asyncio.run(scene())


@pytest.mark.slow
@pytest.mark.parametrize("door", ["port", "socket"])
def test_one_that_cannot_be_loaded_says_so_to_everybody(tmp_path: Path, caplog: pytest.LogCaptureFixture, door: str) -> None:
    """Of an installation that misses something, or that was changed below a gateway that runs."""

    def broken() -> list[object]:
        raise ImportError("no module named x")

    async def asked(admin: Admin) -> bytes:
        port = int(admin.url.rpartition(":")[2])
        opening = (
            asyncio.open_connection("127.0.0.1", port) if door == "port" else asyncio.open_unix_connection(admin.socket)
        )
        reader, writer = await opening
        writer.write(b"GET /api/status HTTP/1.1\r\nhost: x\r\n\r\n")
        raw = await reader.read()
        writer.close()
        return raw

    async def scene() -> list[bytes]:
        admin = await _served(tmp_path / "h", pages=broken)
        try:
            return [await asked(admin), await asked(admin)]
        finally:
            await admin.close()

    with caplog.at_level(logging.ERROR):
        for raw in asyncio.run(scene()):
            head, _, body = raw.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503 ")
            assert json.loads(body)["error"]["next"] == "restart the gateway"
    assert "the admin could not be loaded" in caplog.text
