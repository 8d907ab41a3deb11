"""`clew ui`: a new link to a gateway that runs."""

import os
import time
from pathlib import Path

import pytest

from clew.settings.home import Home as Place
from clew.settings.processes import RegisteredGateway, register
from tests.admin.booth import Booth
from tests.cli.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "h")


def enter(home: Home, name: str, socket: str, started: float) -> None:
    here = RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:2539", started=started, name=name, socket=socket)
    register(Place(home.root), here)


@pytest.mark.slow
def test_the_link_lets_a_browser_in_once(home: Home) -> None:
    with Booth(home.root) as booth:
        enter(home, "old", "/nowhere", time.time() - 10)
        enter(home, "one", str(booth.admin.socket), time.time())
        (url,) = home.lines("ui")
        path = url.removeprefix(booth.admin.url)
        assert [booth.ask(path, port=True).status for _ in range(2)] == [303, 401]
        assert home.json("ui", "--gateway", "one")["gateway"] == "one"


def test_where_none_runs_it_says_how_to_start_one(home: Home) -> None:
    assert home.refused("ui") == (1, "Error: no gateway with a web UI is running: `clew serve` starts one and prints a link")


def test_one_that_does_not_answer_and_one_that_is_not_there_are_said(home: Home, tmp_path: Path) -> None:
    enter(home, "gone", str(tmp_path / "gone.sock"), 1.0)
    code, says = home.refused("ui")
    assert (code, says.startswith("Error: the gateway gone does not answer on ")) == (1, True)
    assert home.refused("ui", "--gateway", "x") == (2, "Error: No gateway 'x' is running. Running: gone.")
