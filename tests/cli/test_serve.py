"""`clew serve` as a command: where it listens, what it prints, when it does not start."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.cli.serve_admin import greeting, moved_warning
from clew.cli.sim import demo
from clew.cli.threads import exchange_lines
from clew.errors import SettingsInvalid
from clew.gateway.admission import Border
from clew.gateway.client import line_to_copy, variables
from clew.gateway.plan import Plan, check_exposure, url_of
from clew.http.message import request_of
from clew.settings.home import Home
from clew.settings.load import load
from clew.settings.named_keys import NamedKeys
from clew.settings.processes import RegisteredGateway, registered_gateways
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.cli.homes import Home as UserHome
from tests.cli.invoking import Clew
from tests.cli.ptys import on_terminal
from tests.counts import examples
from tests.database import connected
from tests.forking import ClewProcess, run_clew
from tests.gateway.conftest import KEYED, PASSTHROUGH, settings_with
from tests.gateway.served import MOST_SECONDS, Served, backend
from tests.manifest import proves, public
from tests.waiting import until


@contextmanager
def serving(*options: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """The command with a home of its own, and its standard output."""
    with tempfile.TemporaryDirectory(prefix="clew-") as home:
        env = {"PATH": os.environ["PATH"], "CLEW_HOME": home, **environ}
        process = ClewProcess(["serve", *options], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(MOST_SECONDS)
            assert process.stdout is not None
            process.stdout.close()
        assert code == 0


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


@pytest.mark.slow
@proves("req:S1-51")
def test_a_busy_port_gives_the_next_unless_it_was_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert Plan(name="x", port=port).ports()[:2] == (port, port + 1)
        said = f"Error: port {port} is in use by {_us()}: choose another with --port, or a free one with --port 0\n"
        for workers in ("1", "2"):
            options = ["serve", "--port", str(port), "--no-admin", "--workers", workers]
            failed = CliRunner().invoke(main, options, env={"CLEW_HOME": str(_home())})
            assert (failed.exit_code, failed.stderr) == (1, said)


def _us() -> str:
    return f"{Path('/proc/self/comm').read_text().strip()} (process {os.getpid()})"


@pytest.mark.slow
def test_a_port_that_a_gateway_has_is_named_with_that_gateway(tmp_path: Path) -> None:
    """Asked for, it is an error; the usual one gives the next, and says where calls to the usual one go."""
    with Served("[gateway]\nadmin_port = 0\n" + backend("a", "http://127.0.0.1:9")) as first:
        owner = f"the gateway {first.process.pid} (process {first.process.pid})"
        failed = first.clew("serve", "--port", str(first.port), "--no-admin")
        assert (failed.returncode, failed.stderr) == (
            1,
            f"Error: port {first.port} is in use by {owner}: use that one, end it with `kill {first.process.pid}`, or choose "
            "another with --port, or a free one with --port 0\n",
        )
        told = list(moved_warning(first.port, "http://127.0.0.1:9", Home(first.home)))
    assert told == [
        f"port {first.port} is in use by {owner}, so http://127.0.0.1:9 is taken instead: "
        f"a client that calls port {first.port} reaches the other program"
    ]


@pytest.mark.slow
def test_the_second_of_two_gateways_says_who_has_the_usual_port(tmp_path: Path) -> None:
    """Also a port that a process has which the registry does not know."""
    with serving("--json", "--no-admin") as first:
        url = json.loads(line(first))["url"]
        command, environ = ["serve", "--json", "--no-admin"], {"PATH": os.environ["PATH"], "CLEW_HOME": str(tmp_path)}
        with ClewProcess(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as second:
            other = json.loads(line(second))["url"]
            second.send_signal(signal.SIGTERM)
            told = second.communicate(timeout=MOST_SECONDS)[1]
    assert other != url
    assert f"so {other} is taken instead: a client that calls port 2539 reaches the other program" in told
    assert "warning: port 2539 is in use by " in told


@pytest.mark.slow
def test_a_busy_port_for_the_admin_is_named_with_its_own_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        failed = CliRunner().invoke(
            main, ["serve", "--port", "0", "--admin-port", str(port)], env={"CLEW_HOME": str(_home())}
        )
    said = f"Error: port {port} is in use by {_us()}: choose another with --admin-port, or a free one with --admin-port 0\n"
    assert (failed.exit_code, failed.stderr) == (1, said)


@pytest.mark.slow
def test_a_busy_port_of_the_settings_is_not_exchanged_for_another(tmp_path: Path) -> None:
    """Anyone who wrote it there forwards it, or looks at the metrics behind it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "clew.toml").write_text(f"[gateway]\nport = 0\nadmin_port = {port}\n")
        environ = {"PATH": os.environ["PATH"], "CLEW_HOME": str(tmp_path)}
        failed = run_clew(["serve"], env=environ, timeout=MOST_SECONDS)
    said = f"port {port} is in use by {_us()}: choose another with --admin-port"
    assert (failed.returncode, said in failed.stderr) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-name.invalid"])
def test_an_address_that_is_not_here_is_named(host: str) -> None:
    environ = {"CLEW_HOME": str(_home()), "CLEW_KEY": "a-key-that-is-long-enough"}
    failed = CliRunner().invoke(main, ["serve", "--host", host, "--port", "0"], env=environ)
    assert (failed.exit_code, failed.stderr.startswith(f"Error: cannot listen on {host}: ")) == (1, True)


def _home() -> Path:
    return Path(tempfile.mkdtemp(prefix="clew-"))


@pytest.mark.slow
@public("cli")
@proves("req:S1-51")
def test_the_next_port_is_the_one_that_is_told() -> None:
    """Two gateways of one user, both without a word about ports."""
    with serving("--json", "--no-admin") as first, serving("--json", "--no-admin") as second:
        urls = [json.loads(line(process))["url"] for process in (first, second)]
        assert len(set(urls)) == 2
        assert all(urllib.request.urlopen(f"{url}/healthz", timeout=120).status == 200 for url in urls)


def test_ports_to_try_leave_out_the_admins() -> None:
    assert Plan(name="x", port=2539, admin_port=2540).ports()[:3] == (2539, 2541, 2542)
    assert Plan(name="x", port=2539, port_is_asked_for=True).ports() == (2539,)
    assert Plan(name="x", port=0).ports() == (0,)
    assert Plan(name="x", port=65535).ports() == (65535,)


@pytest.mark.slow
def test_the_demo_answers_without_any_key_of_a_vendor() -> None:
    """The second line that is printed is one to copy; it names the key, and does not show it where nobody sits."""
    with serving("--demo", "--port", "0", "--admin-port", "0", CLEW_KEY="demo-key") as process:
        assert line(process).startswith("clew listens on http://127.0.0.1:")
        copied = line(process).strip()
        assert copied.endswith(' ANTHROPIC_AUTH_TOKEN="$CLEW_KEY" claude')
        assert line(process).startswith("backends: claude (active), other, deepseek;")
        assert line(process).startswith("web UI: http://127.0.0.1:")
        url = copied.split()[0].removeprefix("ANTHROPIC_BASE_URL=")
        assert asked(url, "demo-key")["model"] == "claude-opus-5-5"


@pytest.mark.slow
def test_every_command_can_use_the_demo_from_a_second_shell(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serving("--demo", "--port", "0", "--admin-port", "0", CLEW_HOME=str(home)) as process:
        assert line(process).startswith("clew listens on")
        shell = Clew(home)
        assert (home / "clew.toml").exists()
        assert [shell(*command).exit_code for command in (("config", "check"), ("doctor",), ("backends", "test"))] == [0] * 3


@pytest.mark.slow
def test_a_demo_in_a_home_of_its_own_says_how_a_second_shell_switches_it(tmp_path: Path) -> None:
    with serving("--demo", "--port", "0", "--admin-port", "0", CLEW_HOME="", HOME=str(tmp_path)) as process:
        told = [line(process) for _ in range(3)][-1]
        command = told.removeprefix("backends: claude (active), other, deepseek; `").removesuffix(" use NAME` switches")
        home = command.removeprefix("CLEW_HOME=").removesuffix(" clew")
        assert Clew(Path(home))("use", "other").exit_code == 0


@pytest.mark.slow
def test_a_file_that_was_named_is_named_to_a_second_shell_too(tmp_path: Path) -> None:
    file = tmp_path / "my clew.toml"
    file.write_text('[backends.mine]\nurl = "http://127.0.0.1:1"\nauth = "none"\n')
    arguments = ("--config", str(file), "--port", "0", "--no-admin")
    with serving(*arguments, CLEW_HOME=str(tmp_path / "home"), CLEW_CONFIG="") as process:
        told = [line(process) for _ in range(3)][-1]
        assert told == f"backends: mine (active); `CLEW_CONFIG='{file}' clew use NAME` switches"


def test_the_greeting_names_the_backend_that_clew_use_chose(tmp_path: Path) -> None:
    clew = Clew(tmp_path / "home")
    row = 'url = "http://127.0.0.1:1"\nauth = "none"\n'
    clew.write(f'active = "one"\n[backends.one]\n{row}[backends.two]\n{row}')
    assert clew("use", "two").exit_code == 0
    loaded = load(clew.config, {})
    said = greeting(loaded, "http://127.0.0.1:1", "key", Home(clew.home), "127.0.0.1").splitlines()[-1]
    assert said.startswith("backends: one, two (active); ")


@pytest.mark.parametrize(
    ("host", "others"),
    [("127.0.0.1", ""), ("0.0.0.0", ", and on every other address of this machine (0.0.0.0)")],
)
def test_anyone_who_lets_others_in_is_told_so(tmp_path: Path, host: str, others: str) -> None:
    loaded = load(None, {"CLEW_HOME": str(tmp_path)})
    said = greeting(loaded, url_of(host, 1), "key", Home(tmp_path), host).splitlines()[0]
    assert said == f"clew listens on http://127.0.0.1:1{others}"


def test_the_demo_begins_without_a_warning(tmp_path: Path) -> None:
    """Its config holds a key of its own, so nobody else may read it."""

    async def config() -> tuple[int, list[str]]:
        async with demo({"CLEW_HOME": str(tmp_path), "PATH": ""}) as (file, environ):
            return file.stat().st_mode & 0o777, [each for each in load(file, environ).warnings if "others can read" in each]

    assert asyncio.run(config()) == (0o600, [])


@pytest.mark.slow
def test_a_second_demo_in_the_same_home_leaves_the_first_alone(tmp_path: Path) -> None:
    """`make run` in two shells: the first goes on with its own backends, also when the second has ended."""
    one = ("--demo", "--port", "0", "--admin-port", "0")
    environ = {"CLEW_HOME": str(tmp_path), "CLEW_KEY": "demo-key"}
    with serving(*one, **environ) as first:
        url = line(first).removeprefix("clew listens on ")
        config = (tmp_path / "clew.toml").read_bytes()
        for _ in range(examples(1, soak=2)):
            with serving(*one, **environ) as second, serving(*one, **environ) as third:
                named = [[line(each) for _ in range(3)] for each in (second, third)]
                assert asked(named[0][0].removeprefix("clew listens on "), "demo-key")["model"] == "claude-opus-5-5"
                told = [
                    f"; `CLEW_CONFIG={tmp_path}/demo-{each.pid}.toml clew use NAME` switches" for each in (second, third)
                ]
                assert [lines[-1][-len(end) :] for lines, end in zip(named, told, strict=True)] == told
        assert asked(url, "demo-key")["model"] == "claude-opus-5-5"
        assert (tmp_path / "clew.toml").read_bytes() == config
    assert [file.name for file in tmp_path.glob("*.toml")] == ["clew.toml"]
    with serving(*one, **environ) as later:
        assert [line(later) for _ in range(3)][-1].endswith("; `clew use NAME` switches")


def asked(url: str, key: str) -> dict[str, object]:
    body = {"model": "claude-opus-5-5", "max_tokens": 500, "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:1"),
        ("0.0.0.0", "http://127.0.0.1:1"),
        ("::", "http://127.0.0.1:1"),
        ("::1", "http://[::1]:1"),
        ("192.0.2.7", "http://192.0.2.7:1"),
    ],
)
def test_the_address_that_is_told_is_one_that_the_gateway_answers_to(host: str, url: str) -> None:
    assert url_of(host, 1) == url
    request = request_of(method="GET", target="/", headers=(("host", url.removeprefix("http://")),), body=b"")
    assert Border(host, 1).check(request) is None


def test_with_a_key_that_was_given_others_may_be_let_in(tmp_path: Path) -> None:
    home, plan = Home(tmp_path).make(), Plan(name="x", host="0.0.0.0")
    check_exposure(plan, home, {"CLEW_KEY": "given"})
    with pytest.raises(SettingsInvalid, match="no key exists for them"):
        check_exposure(plan, home, {"CLEW_KEY": " "})
    NamedKeys(home).add("alice", principal="alice")
    check_exposure(plan, home, {})


def test_others_are_not_let_in_before_somebody_said_who(tmp_path: Path) -> None:
    """4.1: an address that others can reach needs a key that they were given."""
    result = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0", "--no-admin"], env={"CLEW_HOME": str(tmp_path / "h")})
    assert result.exit_code == 5
    assert "other machines can reach 0.0.0.0, and no key exists for them: set CLEW_KEY" in result.output


@public("cli")
@proves("req:S1-52")
def test_a_config_that_cannot_be_used_is_named_and_nothing_starts(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('active = "nobody"\n')
    result = CliRunner().invoke(main, ["serve", "--config", str(file)], env={"CLEW_HOME": str(tmp_path / "h")})
    assert result.exit_code == 5
    assert "mine.toml:1" in result.output


def test_a_store_that_a_newer_clew_wrote_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "h").mkdir(mode=0o700)
    database = connected(tmp_path / "h/clew.db")
    database.execute("PRAGMA user_version = 9999")
    database.close()
    result = CliRunner().invoke(main, ["serve", "--port", "0", "--no-admin"], env={"CLEW_HOME": str(tmp_path / "h")})
    assert result.exit_code == 1
    assert "newer" in result.output


def _damaged(file: Path) -> None:
    file.write_bytes(b"never a database" * 1000)


def _too_new(file: Path) -> None:
    with _altered(file) as database:
        database.execute("PRAGMA user_version = 9999")


def _open_to_others(file: Path) -> None:
    file.touch()
    file.chmod(0o644)


@contextmanager
def _altered(file: Path) -> Iterator[apsw.Connection]:
    SqliteStore(file).close()
    database = connected(file)
    try:
        yield database
    finally:
        database.close()


UNUSABLE = {"damaged": _damaged, "newer": _too_new, "can be used by others": _open_to_others}


def started_with(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A start that fails: the command's own end."""
    env = {"PATH": os.environ["PATH"], "CLEW_HOME": str(home)}
    return run_clew(["serve", "--port", "0", *options], env=env, timeout=MOST_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("why", UNUSABLE)
def test_nobody_is_greeted_where_the_store_cannot_be_used(tmp_path: Path, why: str, workers: str) -> None:
    """One sentence says why, and no line to copy was printed before it; nor does each worker say the same again."""
    tmp_path.chmod(0o700)
    file = tmp_path / "clew.db"
    file.touch(0o600)
    UNUSABLE[why](file)
    ended = started_with(tmp_path, "--admin-port", "0", "--workers", workers)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert (ended.stderr.startswith(f"Error: {file} "), why in ended.stderr, ended.stderr.count("\n")) == (True, True, 1)


@pytest.mark.slow
def test_nobody_is_greeted_while_another_process_holds_the_store(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with _altered(tmp_path / "clew.db") as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        other.execute("BEGIN EXCLUSIVE")
        ended = started_with(tmp_path, "--no-admin")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "is locked by another process; if that hangs, end it" in ended.stderr


@pytest.mark.slow
def test_nobody_is_greeted_where_the_admin_has_no_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = started_with(tmp_path / "home", "--admin-port", str(taken.getsockname()[1]))
    assert (ended.returncode, ended.stdout) == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_terminal_that_is_closed_ends_it_as_a_signal_does(tmp_path: Path, workers: str) -> None:
    """The answer under way comes to its end and is kept, though there is nowhere left to log to."""
    slow = tmp_path / "slow.scenario"
    slow.write_text("about: slow\n\nturn:\n  text: It begins.\n  pause: 1.0\n  text: It ends.\n")
    with Simulator(scenario=str(slow)) as vendor:
        home = UserHome(tmp_path / "home", f"[gateway]\nport = 0\nadmin_port = 0\n{backend('vendor', vendor.url)}")
        with on_terminal(home, "serve", "--workers", workers, width=200) as terminal:
            terminal.until("web UI:")
            [gateway] = registered_gateways(Home(home.root))
            key = (home.root / "key").read_text().strip()
            with _asked(gateway.url, key) as answer:
                assert b"It begins." in b"".join(iter(answer.readline, b"event: content_block_delta\n")) + answer.readline()
                terminal.hang_up()
                assert b"message_stop" in answer.read()
            assert terminal.process.wait(MOST_SECONDS) == 0
        with home.store() as store:
            assert [exchange.outcome for exchange in store.exchanges("local", limit=9)] == ["whole"]
        assert list((home.root / "run").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_on_a_terminal_each_request_is_shown_as_clew_log_shows_it(tmp_path: Path, workers: str) -> None:
    with Simulator() as vendor:
        home = UserHome(tmp_path / "home", f"[gateway]\nport = 0\nadmin_port = 0\n{backend('vendor', vendor.url)}")
        with on_terminal(home, "serve", "--workers", workers, width=200) as terminal:
            terminal.until("web UI:")
            [gateway] = registered_gateways(Home(home.root))
            with _asked(gateway.url, (home.root / "key").read_text().strip()) as answer:
                answer.read()
            shown = terminal.until("tokens: ")
            terminal.type("\x03")
            assert terminal.ended() == 0
        with home.store() as store:
            [exchange] = store.exchanges("local", limit=9)
    told = [line.text for line in exchange_lines(exchange)]
    assert [line.rstrip() for line in shown if "→" in line or line.startswith("    ")][-len(told) :] == told
    assert not any("cleanup_orphaned" in line for line in shown)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_says_what_it_waits_for_and_a_second_one_ends_now(tmp_path: Path, workers: str) -> None:
    scenario = tmp_path / "long.scenario"
    scenario.write_text("about: long\n\nturn:\n  text: It begins.\n  pause: 3600\n  text: It ends.\n")
    with Simulator(scenario=str(scenario)) as vendor:
        settings = "[gateway]\nport = 0\nadmin_port = 0\ndrain_seconds = 1800\nclosing_seconds = 30\n"
        home = UserHome(tmp_path / "home", f"{settings}{backend('vendor', vendor.url)}")
        with on_terminal(home, "serve", "--workers", workers, width=200) as terminal:
            terminal.until("web UI:")
            [gateway] = registered_gateways(Home(home.root))
            with _asked(gateway.url, (home.root / "key").read_text().strip()) as answer:
                assert b"It begins." in b"".join(iter(answer.readline, b"event: content_block_delta\n")) + answer.readline()
                _until_reported(gateway)
                terminal.type("\x03")
                terminal.until("1 answer is finishing (1800 s at most); Ctrl-C again ends now")
                terminal.type("\x03")
                assert terminal.ended() == 0


def _until_reported(gateway: RegisteredGateway) -> None:
    """Workers tell their parent now and then how many answers are under way."""
    until(lambda: b"clew_open_streams 1" in _metrics(gateway))


def _metrics(gateway: RegisteredGateway) -> bytes:
    with socket.socket(socket.AF_UNIX) as plug:
        plug.connect(gateway.socket)
        plug.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        return b"".join(iter(lambda: plug.recv(65536), b""))


def _asked(url: str, key: str) -> HTTPResponse:
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 2000,
        "stream": True,
        "messages": [{"role": "user", "content": "Why?"}],
    }
    head = {"x-api-key": key, "anthropic-version": "2023-06-01", "content-type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode(), head))


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "told"), [("1", 0), ("2", 1)])
def test_workers_without_a_store_are_said_to_be_unseen(tmp_path: Path, workers: str, told: int) -> None:
    file, errors = tmp_path / "clew.toml", tmp_path / "errors"
    file.write_text('[store]\nurl = "off"\n')
    env = {"PATH": os.environ["PATH"], "CLEW_HOME": str(tmp_path / "home")}
    command = ["serve", "--json", "--config", file, "--port", "0", "--admin-port", "0", "--workers", workers]
    with (
        errors.open("w") as out,
        ClewProcess(command, env=env, stdout=subprocess.PIPE, stderr=out, text=True) as process,
    ):
        assert line(process)
        process.send_signal(signal.SIGTERM)
    assert (
        errors.read_text().count("without a store, the web UI knows only how many requests the other workers have") == told
    )


def test_where_a_backend_takes_the_clients_credential_the_key_goes_beside_it() -> None:
    mixed, keyed = settings_with(PASSTHROUGH, KEYED), settings_with(KEYED)
    url = "http://127.0.0.1:1"
    had = {"ANTHROPIC_CUSTOM_HEADERS": "x-team: 1\nX-Clew-Key: outer", "ANTHROPIC_API_KEY": "own"}
    for_openai = {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "k",
        "OPENAI_CUSTOM_HEADERS": "x-clew-key: k",
        "CLEW_RUN_KEY": "k",
    }
    assert variables(mixed, url, "k", had) == {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_CUSTOM_HEADERS": "x-team: 1\nx-clew-key: k",
        **for_openai,
    }
    assert variables(keyed, url, "k", had) == {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_AUTH_TOKEN": "k",
        "ANTHROPIC_CUSTOM_HEADERS": "x-team: 1\nx-clew-key: k",
        **for_openai,
    }


def test_the_line_to_copy_survives_a_shell() -> None:
    """A key may be any text; where only its place is named, the shell fills it in."""
    settings, show = settings_with(PASSTHROUGH), "printenv ANTHROPIC_CUSTOM_HEADERS"
    odd = 'it\'s; $(a) `key` "$HOME"'
    for key, expands in ((odd, False), ("$CLEW_KEY", True)):
        line = line_to_copy(settings, "http://127.0.0.1:1", key, show, expands=expands)
        ran = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, env={"PATH": "/bin:/usr/bin", "CLEW_KEY": odd}
        )
        assert ran.stdout == f"x-clew-key: {odd}\n"
