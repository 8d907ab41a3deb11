"""The FastAPI example, as it stands: a real front end talks to it, and is asked before anything is written."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from clew.testing import Simulator
from clew.testing.simulator import Background
from tests.admin.chat.served import configured
from tests.clients.front import Front

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[2] / "examples/fastapi_app/app.py"
SCRIPT = """
turn:
  think: The note first.
  call: read_note {"name": "shopping"}
turn:
  text: There is milk and bread. I add eggs.
  call: write_note {"name": "shopping", "text": "milk, bread, eggs"}
turn:
  text: {{result}}
"""


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    script = tmp_path_factory.mktemp("script") / "notes.scenario"
    script.write_text(SCRIPT)
    with Simulator(scenario=str(script)) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def module(claude: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The example's own module, with a home of its own."""
    home = configured(tmp_path_factory.mktemp("app") / "h", {"claude": claude})
    spec = importlib.util.spec_from_file_location("fastapi_example", FILE)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLEW_HOME", str(home))
        spec.loader.exec_module(loaded)
        yield loaded


@pytest.fixture(scope="module")
def url(module: Any) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener, Background() as background:
        server = uvicorn.Server(uvicorn.Config(module.app, log_config=None, lifespan="off"))

        async def serve() -> asyncio.Task[None]:
            server.config.load()
            server.lifespan = server.config.lifespan_class(server.config)
            await server.startup(sockets=[listener])
            return asyncio.create_task(server.main_loop())

        background.call(serve())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        background.call(server.shutdown(sockets=[listener]))


@pytest.fixture(scope="module")
def front(url: str) -> Iterator[Front]:
    with Front(f"{url}/api/chat", wait=True) as front:
        yield front


def parts(message: Any) -> list[tuple[str, str]]:
    return [(part["type"], part.get("state", "")) for part in message["parts"]]


def test_a_call_waits_for_the_user_and_runs_when_it_may(front: Front, module: Any) -> None:
    seen = front.do("send", "yes", text="Add eggs to my shopping.")
    assert (seen.status, seen.error) == ("ready", None)
    assert parts(seen.messages[1]) == [
        ("step-start", ""),
        ("reasoning", "done"),
        ("tool-read_note", "output-available"),
        ("step-start", ""),
        ("text", "done"),
        ("tool-write_note", "approval-requested"),
    ]
    assert module.NOTES["shopping"] == "milk, bread"
    waiting = seen.messages[1]["parts"][-1]
    after = front.do("approve", "yes", id=waiting["approval"]["id"], approved=True)
    assert (after.status, after.error) == ("ready", None)
    assert len(after.messages) == 2
    assert parts(after.messages[1])[-3:] == [("tool-write_note", "output-available"), ("step-start", ""), ("text", "done")]
    assert module.NOTES["shopping"] == "milk, bread, eggs"
    assert after.messages[1]["parts"][-1]["text"] == "Written."


def test_a_call_that_is_denied_never_runs_and_the_model_is_told_why(front: Front, module: Any) -> None:
    module.NOTES["shopping"] = "milk, bread"
    seen = front.do("send", "no", text="Add eggs to my shopping.")
    waiting = seen.messages[1]["parts"][-1]
    after = front.do("approve", "no", id=waiting["approval"]["id"], approved=False, reason="No eggs today.")
    assert (after.status, after.error) == ("ready", None)
    assert ("tool-write_note", "output-denied") in parts(after.messages[1])
    assert module.NOTES["shopping"] == "milk, bread"
    assert "No eggs today." in after.messages[1]["parts"][-1]["text"]


def test_the_conversation_goes_on_in_its_thread(front: Front, claude: Simulator) -> None:
    seen = front.do("send", "on", text="Add eggs to my shopping.")
    waiting = seen.messages[1]["parts"][-1]
    told = front.do("approve", "on", id=waiting["approval"]["id"], approved=False, reason="No eggs today.")
    before = told.messages[1]["metadata"]["thread"]
    after = front.do("send", "on", text="Thank you.")
    assert after.messages[-1]["metadata"]["thread"] == before
    assert len(after.messages) == 4
