"""`clew sim` as a process: what it prints, how it ends, what it says when it cannot start."""

import itertools
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clew.cli import COMMANDS, main
from clew.simulator.server import kinds
from tests.forking import ClewProcess
from tests.simulator.wire import ask, call


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[str]]:
    process = ClewProcess(["sim", "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def first_line(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments))


# As a process.


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_ends_cleanly(number: signal.Signals) -> None:
    with running("--json", "--seed", "7") as process:
        told = first_line(process)
        assert told == {
            "url": f"http://127.0.0.1:{told['port']}",
            "port": told["port"],
            "pid": process.pid,
            "kind": "anthropic",
            "seed": 7,
        }
        assert ask(told["url"]).status == 200
        process.send_signal(number)
        assert process.wait(120) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_it_ends_within_a_moment_also_with_an_open_stream() -> None:
    with running("--json") as process:
        told = first_line(process)
        with socket.create_connection(("127.0.0.1", told["port"]), timeout=120) as peer:
            body = b'{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true}'
            head = "POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
            head += f"x-sim-fault: stall 60 after=2\r\nContent-Length: {len(body)}\r\n\r\n"
            peer.sendall(head.encode() + body)
            assert peer.recv(65536).startswith(b"HTTP/1.1 200 OK")
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 0


@pytest.mark.slow
def test_its_two_lines_can_be_copied_and_work() -> None:
    with running() as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline())
        command = shlex.split(next(line for line in lines if "curl" in line))
        assert command[0] == "curl"
        url, data = command[2], command[command.index("-d") + 1]
        headers = dict(word.split(": ") for flag, word in itertools.pairwise(command) if flag == "-H")
        base = url.removesuffix("/v1/messages")
        reply = call(base, "POST", "/v1/messages", data.encode(), headers)
        assert reply.status == 200
        export = next(line for line in lines if "export" in line).split()
        assert export == ["export", f"ANTHROPIC_BASE_URL={base}", "ANTHROPIC_API_KEY=sim-me-1"]


@pytest.mark.slow
def test_options_reach_the_simulator(tmp_path: Path) -> None:
    stance = tmp_path / "stance.toml"
    stance.write_text('both_credentials = "reject"\n')
    script = tmp_path / "mine.scenario"
    script.write_text("text: My own words.\n")
    journal = tmp_path / "journal.jsonl"
    options = ["--kind", "compat", "--stance", stance, "--scenario", script, "--journal", journal]
    with running("--json", "--predecessor", "read", "--without-grade", "D", *map(str, options)) as process:
        url = first_line(process)["url"]
        reply = ask(url, model="any-model-at-all")
        assert reply.json["content"] == [{"type": "text", "text": "My own words."}]
        both = ask(url, headers={"authorization": "Bearer b"})
        assert both.headers["x-sim-rule"] == "R1.credential-both"
        process.send_signal(signal.SIGINT)
        process.wait(120)
    assert [json.loads(line)["scenario"] for line in journal.read_text().splitlines()] == ["mine", None]


@pytest.mark.slow
def test_a_users_rows_about_models_count(tmp_path: Path) -> None:
    """A row adds a model that the table does not know, and changes what a known one takes."""
    config = tmp_path / "clew.toml"
    config.write_text('[models.claude-nova-9]\nas = "claude-opus-4-6"\n[models.claude-opus-4-6]\nmax_tokens = 900\n')
    with running("--json") as plain, running("--json", "--config", str(config)) as told:
        urls = [first_line(process)["url"] for process in (plain, told)]
        replies = [[ask(url), ask(url, model="claude-nova-9", max_tokens=800)] for url in urls]
        rules = [[reply.headers.get("x-sim-rule") for reply in each] for each in replies]
        assert rules == [[None, "R5.model-unknown"], ["R7.over-cap", None]]
        listed = [[row["id"] for row in call(url, "GET", "/v1/models?limit=1000").json["data"]] for url in urls]
        assert ["claude-nova-9" in names for names in listed] == [False, True]


def test_a_config_that_cannot_be_used_ends_with_5(tmp_path: Path) -> None:
    config = tmp_path / "clew.toml"
    config.write_text("nonsense = 1\n")
    result = invoke("sim", "--config", str(config))
    assert (result.exit_code, result.stderr.startswith(f"Error: {config}:1: nonsense: ")) == (5, True)


@pytest.mark.slow
def test_only_what_is_needed_is_imported_at_the_start() -> None:
    """`clew --help` must be quick: click alone, no simulator, no event loop."""
    code = "import sys; from clew.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stdout.split("\n")[-2].split())
    assert not {
        name for name in loaded if re.match(r"(clew\.(?!cli(\.streams)?$)|msgspec|httptools|uvloop|asyncio|rich)", name)
    }


# What it says when it cannot.


def test_a_busy_port_is_named_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = invoke("sim", "--port", str(port))
    assert result.exit_code == 1
    assert f"port {port} is in use; choose another with --port, or a free one with --port 0" in result.output


def test_a_journal_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "no" / "such" / "file"
    result = invoke("sim", "--port", "0", "--journal", str(file))
    assert (result.exit_code, result.output) == (1, f"Error: cannot start: {file}: No such file or directory\n")


def test_a_stance_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    file = tmp_path / "stance.toml"
    result = invoke("sim", "--port", "0", "--stance", str(file))
    assert (result.exit_code, result.output) == (5, f"Error: {file}: No such file or directory\n")


def test_a_scenario_that_there_is_not_is_a_usage_error() -> None:
    result = invoke("sim", "--scenario", "nonsense")
    assert result.exit_code == 2
    assert "there is no scenario 'nonsense'; there are default, " in " ".join(result.output.split())


def test_a_kind_that_there_is_not_is_a_usage_error() -> None:
    result = invoke("sim", "--kind", "acme")
    assert result.exit_code == 2
    assert "there is no kind 'acme'; there are anthropic, compat, " in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('colour = "blue"', "there is no stance 'colour'; there are predecessor, "),
        ('C-7 = "maybe"', "C-7 cannot be 'maybe'; it is one of accept, reject"),
        ("not toml", "stance.toml: Expected '=' after a key"),
    ],
)
def test_a_stance_file_that_is_wrong_is_a_config_error(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "stance.toml"
    path.write_text(text)
    result = invoke("sim", "--stance", str(path))
    assert result.exit_code == 5
    assert str(path) in result.output
    assert words in result.output


def test_a_stance_file_that_is_not_there_is_a_config_error() -> None:
    result = invoke("sim", "--stance", "/nowhere/stance.toml")
    assert result.exit_code == 5
    assert "/nowhere/stance.toml" in result.output


def test_the_kinds_are_listed_with_a_line_each() -> None:
    lines = invoke("sim", "--list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(kinds())
    assert lines[0] == "anthropic            The Anthropic API."
    assert json.loads(invoke("sim", "--list", "--json").output) == kinds()


@pytest.mark.slow
def test_a_chat_kind_says_how_to_ask_it() -> None:
    with running("--kind", "deepseek-chat") as process:
        assert process.stdout is not None
        text = "".join(process.stdout.readline() for _ in range(8))
    assert "clew simulator (deepseek-chat, scenario default) at http://127.0.0.1:" in text
    assert "/v1/chat/completions -H 'authorization: Bearer sim-me-1'" in text
    assert '"model":"deepseek-v4-pro"' in text
    assert "export OPENAI_BASE_URL=http://127.0.0.1:" in text


# The group.


def test_help_has_examples_and_lists_every_option() -> None:
    text = invoke("sim", "--help").output
    assert "clew sim --scenario interleaved" in text
    for option in (
        "--port",
        "--kind",
        "--scenario",
        "--stance",
        "--predecessor",
        "--seed",
        "--realm",
        "--journal",
        "--list",
        "--without-grade",
    ):
        assert option in text


def test_help_lists_every_command() -> None:
    asked = invoke("--help")
    assert asked.exit_code == 0
    told = " ".join(asked.output.split())
    for name, row in COMMANDS.items():
        assert f" {name} {row.does}" in told


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert invoke("--version").output == f"clew {version('clew')}\n"


def test_an_unknown_command_is_a_usage_error() -> None:
    result = invoke("nonsense")
    assert result.exit_code == 2
    assert "No such command 'nonsense'" in result.output


def test_a_command_that_was_mistyped_is_told_how_it_is_written() -> None:
    said = {name: invoke(name).output.splitlines()[-1] for name in ("stauts", "exprot", "nonsense")}
    assert said == {
        "stauts": "Error: No such command 'stauts'. Did you mean 'status'?",
        "exprot": "Error: No such command 'exprot'. Did you mean 'export'?",
        "nonsense": "Error: No such command 'nonsense'.",
    }


def test_every_command_of_the_table_can_be_loaded() -> None:
    for name in COMMANDS:
        assert invoke(name, "--help").exit_code == 0
