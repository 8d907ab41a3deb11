"""Loading the admin holds nobody up."""

import subprocess
import sys

import pytest

CODE = """
import asyncio, sys, time
from pathlib import Path
from clew.admin import load_admin
from clew.engine.current import Current
from clew.engine.hub import Hub
from clew.settings.home import Home
from clew.settings.load import load
from clew.thinking.keyring import keyring_of
from clew.web import routes

assert not {"starlette", "uvicorn", "prometheus_client"} & set(sys.modules)

async def load_and_serve(**parts):
    await load_admin()
    from clew.admin.serving import serve_admin
    return await serve_admin(**parts)

async def scene():
    environ = {"CLEW_HOME": sys.argv[1]}
    current = Current(load(None, environ), keyring_of(b"x" * 32).sealer(), environ=environ)
    home = Home(Path(sys.argv[1]))
    starting = asyncio.create_task(load_and_serve(current=current, store=None, hub=Hub(), home=home, port=0, pages=routes))
    longest, start = 0.0, time.process_time()
    while not starting.done():
        began = time.process_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.process_time() - began)
    print(longest / (time.process_time() - start))
    needless = {"prometheus_client", "importlib.metadata", "markdown_it", "nh3", "genai_prices"} & set(sys.modules)
    assert not needless, "megabytes that wait for whoever needs them"
    await starting.result().close()

asyncio.run(scene())
"""


@pytest.mark.slow
def test_the_loop_goes_on_while_the_admin_is_loaded(tmp_path: object) -> None:
    """Design §7: imported after the data plane listens; a stream that runs by then must not stand still."""
    ran = subprocess.run([sys.executable, "-c", CODE, f"{tmp_path}/h"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < 0.5, "one wait took most of the work"
