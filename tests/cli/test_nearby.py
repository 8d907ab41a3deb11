"""Servers on this machine: found on their usual ports, asked for nothing that costs, and never waited for."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select

import pytest
from msgspec import structs

import clew.admin.trial.capabilities
from clew.admin.trial.capabilities import LocalServer, find_local_servers, local_presets
from clew.backends.presets import Preset, presets
from clew.backends.row import Backend
from clew.http.loops import run
from tests.cli.invoking import Clew

LISTS = {"object": "list", "data": [{"id": "qwen3:32b", "object": "model"}, {"id": "gpt-oss:20b"}]}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that answer do so in time, however busy the machine is."""
    monkeypatch.setattr(clew.admin.trial.capabilities, "_SECONDS", 60.0)


@contextmanager
def server(status: int, body: bytes, asked: list[tuple[str, str]] | None = None) -> Iterator[str]:
    """Answers every GET alike, and remembers what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked is not None:
                asked.append((self.path, self.headers.get("authorization", "")))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_address[1]}/v1"
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def row(name: str, url: str) -> Preset:
    return structs.replace(presets()[name], url=url)


def test_the_usual_ports_are_those_of_the_rows() -> None:
    assert {each.name: each.url for each in local_presets()} == {
        "litellm": "http://127.0.0.1:4000/v1",
        "vllm": "http://127.0.0.1:8000/v1",
        "sglang": "http://127.0.0.1:30000/v1",
        "llamacpp": "http://127.0.0.1:8080/v1",
        "ollama": "http://127.0.0.1:11434/v1",
        "lmstudio": "http://127.0.0.1:1234/v1",
    }


@pytest.mark.slow
def test_what_lists_models_is_found_and_is_asked_for_nothing_else() -> None:
    """One GET without any key; a server that wants one is named too, a page that is no list is not."""
    asked: list[tuple[str, str]] = []
    with ExitStack() as stack:
        urls = [
            stack.enter_context(server(200, json.dumps(LISTS).encode(), asked)),
            stack.enter_context(server(401, b'{"error":{"message":"no key"}}')),
            stack.enter_context(server(200, b"<html>Django</html>")),
            stack.enter_context(server(404, b"{}")),
        ]
        rows = [row(name, url) for name, url in zip(("ollama", "litellm", "vllm", "llamacpp"), urls, strict=True)]
        found = run(find_local_servers({}, rows))
    assert found == [
        LocalServer(preset="ollama", title="Ollama", url=urls[0], models=("qwen3:32b", "gpt-oss:20b")),
        LocalServer(preset="litellm", title="LiteLLM", url=urls[1], wants_key=True),
    ]
    assert asked == [("/v1/models", "")]


@pytest.mark.slow
@pytest.mark.parametrize("none", [b'{"object":"list","data":null}', b'{"object":"list","data":[]}'], ids=["null", "empty"])
def test_a_server_without_any_model_yet_is_found(none: bytes) -> None:
    with server(200, none) as url:
        assert run(find_local_servers({}, [row("ollama", url)])) == [LocalServer(preset="ollama", title="Ollama", url=url)]


@pytest.mark.slow
def test_one_that_the_config_calls_is_named_as_such() -> None:
    with server(200, json.dumps(LISTS).encode()) as url:
        known = {"mine": Backend(name="mine", url=url.replace("127.0.0.1", "localhost"), realm="mine")}
        [found] = run(find_local_servers(known, [row("ollama", url)]))
    assert found.backend == "mine"


@pytest.mark.slow
def test_nobody_waits_for_a_port_that_takes_connections_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are asked at the same time: sixteen connections are there before the first one is given up."""
    monkeypatch.setattr(clew.admin.trial.capabilities, "_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as port:
        counting = port.submit(connections_before_the_first_is_given_up, silent)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        assert run(find_local_servers({}, [row(name, url) for name in ("vllm", "ollama", "sglang", "lmstudio") * 4])) == []
        assert counting.result(120) == 16


def connections_before_the_first_is_given_up(silent: socket.socket) -> int:
    held: list[socket.socket] = []
    with ExitStack() as stack:
        while True:
            ready, _, _ = select([silent, *held], [], [])
            if silent in ready:
                held.append(stack.enter_context(silent.accept()[0]))
            elif not ready[0].recv(65536):
                return len(held)


@pytest.mark.slow
def test_the_list_shows_how_to_add_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clew_ = Clew(tmp_path / "home")
    with server(200, json.dumps(LISTS).encode()) as url:
        monkeypatch.setattr(clew.admin.trial.capabilities, "local_presets", lambda: [row("ollama", url)])
        text = clew_("backends").stdout.splitlines()
        told = json.loads(clew_("backends", "--json").stdout)["nearby"]
        silent = [clew_("backends", "--no-discover").stdout, clew_("backends", "--no-discover", "--json").stdout]
    assert text[-3] == "On this machine:"
    assert text[-1].split("  ")[-1].strip() == "clew backends add ollama --model qwen3:32b"
    assert told == [
        {
            "preset": "ollama",
            "title": "Ollama",
            "url": url,
            "models": ["qwen3:32b", "gpt-oss:20b"],
            "wants_key": False,
            "backend": "",
        }
    ]
    assert "On this machine" not in silent[0] and json.loads(silent[1])["nearby"] == []


@pytest.mark.slow
def test_models_of_a_backend_on_this_machine_can_be_asked_for_by_name(tmp_path: Path) -> None:
    """Beside those that the config names; a server that is gone costs nothing."""
    clew_ = Clew(tmp_path / "home")
    with server(200, json.dumps(LISTS).encode()) as url:
        clew_.write(
            f'[backends.mine]\nurl = "{url}"\ndialect = "openai-chat"\nauth = "none"\nmodel = "qwen3:32b"\n'
            '[backends.gone]\nurl = "http://127.0.0.1:9/v1"\ndialect = "openai-chat"\nauth = "none"\n'
        )
        shown, hidden = (json.loads(clew_("models", "--json", *more).stdout) for more in ([], ["--no-discover"]))
    named = [[row["name"] for row in rows if row["name"].startswith("anthropic/mine/")] for rows in (shown, hidden)]
    assert named == [["anthropic/mine/qwen3:32b", "anthropic/mine/gpt-oss:20b"], ["anthropic/mine/qwen3:32b"]]
    assert (shown[-1]["backend"], shown[-1]["model"]) == ("mine", "gpt-oss:20b")
