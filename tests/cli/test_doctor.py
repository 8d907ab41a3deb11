"""`clew doctor`: each thing that can be wrong is found, and said with its fix."""

import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from click.testing import CliRunner

from clew.admin.checkup import CHECKS, CheckFinding, read_circumstances, run_check
from clew.cli import main
from clew.exchange.redact import Redactor
from clew.settings.processes import RegisteredGateway, register
from clew.store.sqlite.store import SqliteStore
from tests.database import connected
from tests.forking import ClewProcess
from tests.gateway.served import Served, backend
from tests.manifest import proves
from tests.store.turns import recorded, turn
from tests.upstream.certificates import Certificate, make_certificate

CANARY = "canary-0123456789"


class Patient:
    """A home, a project and an environment of their own."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project" / "deep"
        self.project.mkdir(parents=True)
        self.home.mkdir(mode=0o700)
        self.environ = {"CLEW_HOME": str(self.home), "HOME": str(root), "PATH": "", "GLM": CANARY}
        (self.home / "clew.toml").write_text(CONFIG)

    def findings(self, name: str, *, online: bool = False, now: float | None = None) -> list[CheckFinding]:
        at = read_circumstances(self.environ, self.project, time.time() if now is None else now, online=online)
        [check] = [check for check in CHECKS if check.name == name]
        return list(run_check(check, at, Redactor()).findings)

    def wrong(self, name: str, **more: Any) -> list[CheckFinding]:
        return [each for each in self.findings(name, **more) if each.state != "ok"]


CONFIG = """
active = "glm"
[gateway]
port = 0
admin_port = 0
[backends.glm]
url = "https://127.0.0.1:1"
key = "${GLM}"
"""


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def test_a_new_home_has_nothing_wrong(patient: Patient) -> None:
    assert [check.name for check in CHECKS if patient.wrong(check.name)] == []


def test_a_home_after_its_first_start_has_nothing_wrong(patient: Patient) -> None:
    SqliteStore(patient.home / "clew.db").close()
    for name in ("secret", "key"):
        (patient.home / name).touch(0o600)
    assert [check.name for check in CHECKS if patient.wrong(check.name)] == []


def test_a_config_with_mistakes_is_told_line_by_line(patient: Patient) -> None:
    (patient.home / "clew.toml").write_text('active = 1\n[backends.x]\nurl = "ftp://x"\n')
    wrong = patient.wrong("config")
    assert len(wrong) >= 2
    assert {each.state for each in wrong} == {"broken"}
    assert [each.says for each in wrong if not each.says.startswith(f"{patient.home}/clew.toml:")] == []


def test_the_config_is_the_one_that_the_gateway_was_started_with(patient: Patient, tmp_path: Path) -> None:
    """As for every command that looks at what runs. A file that somebody names is still the one that is meant."""
    other = tmp_path / "other.toml"
    other.write_text(CONFIG + "nonsense = 1\n")
    register(_home(patient), RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:9", name="mine", config=str(other)))
    assert f"{other}:9" in patient.wrong("config")[0].says
    patient.environ["CLEW_CONFIG"] = str(patient.home / "clew.toml")
    assert patient.wrong("config") == []


@proves("req:S0-29", "req:S0-23", "req:S0-32")
def test_variables_that_decide_what_is_put_into_requests_are_told(patient: Patient) -> None:
    """S0-29, S0-23: what each does; S0-32: one that is no number is a warning."""
    patient.environ |= {"MAX_THINKING_TOKENS": "5000", "DISABLE_PROMPT_CACHING": "1"}
    told = [each.says for each in patient.findings("config")]
    assert "MAX_THINKING_TOKENS=5000: a thinking budget of 5000 tokens, where a request leaves thinking open" in told
    assert "DISABLE_PROMPT_CACHING=1: no cache marks are added" in told
    assert patient.wrong("config") == []
    patient.environ["MAX_THINKING_TOKENS"] = "abc"
    [wrong] = patient.wrong("config")
    assert (wrong.state, wrong.says[:43]) == ("warning", "MAX_THINKING_TOKENS='abc' is not a number: ")


def test_a_key_in_the_config_is_a_warning_and_is_not_shown(patient: Patient) -> None:
    """Design §6: `key` may be a literal (doctor warns)."""
    (patient.home / "clew.toml").write_text(CONFIG.replace("${GLM}", CANARY))
    wrong = patient.wrong("config")
    assert wrong
    assert {each.state for each in wrong} == {"warning"}
    assert not [each for each in wrong if CANARY in each.says]


@proves("fault:X15")
@pytest.mark.parametrize(
    ("name", "mode", "state"),
    [
        ("clew.db", 0o640, "broken"),
        ("clew.db-wal", 0o644, "broken"),
        ("clew.db-shm", 0o604, "broken"),
        ("secret", 0o660, "broken"),
        ("key", 0o644, "broken"),
        (".", 0o770, "broken"),
        (".", 0o755, "warning"),
    ],
)
def test_rights_that_are_too_wide_are_found_and_how_to_mend_them(patient: Patient, name: str, mode: int, state: str) -> None:
    """reliability 4.9: also -wal and -shm."""
    path = patient.home / name
    if name != ".":
        path.touch()
    path.chmod(mode)
    [finding] = patient.wrong("files")
    assert finding.state == state
    assert finding.fix == f"chmod {'700' if name == '.' else '600'} {path.resolve()}"


@proves("fault:X15")
def test_a_link_in_the_home_is_found(patient: Patient, tmp_path: Path) -> None:
    """X15."""
    (tmp_path / "elsewhere").touch(0o600)
    (patient.home / "clew.db").symlink_to(tmp_path / "elsewhere")
    assert [each.state for each in patient.wrong("files")] == ["warning"]


def test_a_lost_secret_is_told_while_the_store_is_there(patient: Patient) -> None:
    (patient.home / "clew.db").touch(0o600)
    assert [each.state for each in patient.wrong("secret")] == ["warning"]
    patient.environ["CLEW_SECRET"] = "x" * 40
    assert patient.wrong("secret") == []


def test_a_store_without_an_answer_misses_no_secret(patient: Patient) -> None:
    """`clew use` makes one before anything was asked, and sealed nothing."""
    SqliteStore(patient.home / "clew.db").close()
    assert patient.wrong("secret") == []


def test_a_short_key_is_a_warning_and_is_not_shown(patient: Patient) -> None:
    patient.environ["CLEW_KEY"] = "hunter2"
    [finding] = patient.wrong("key")
    assert (finding.state, "hunter2" in finding.says) == ("warning", False)


def test_a_table_of_keys_that_cannot_be_read_is_broken(patient: Patient) -> None:
    (patient.home / "keys.json").write_text("{")
    (patient.home / "keys.json").chmod(0o600)
    assert [each.state for each in patient.wrong("key")] == ["broken"]


def test_an_old_sqlite_is_broken(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """reliability 3.6: 3.51.3 or newer."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    assert [each.state for each in patient.wrong("sqlite")] == ["broken"]
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.3")
    assert patient.wrong("sqlite") == []


@pytest.fixture
def kept(patient: Patient) -> Path:
    path = patient.home / "clew.db"
    SqliteStore(path).close()
    return path


def test_a_store_of_a_newer_clew_is_broken(patient: Patient, kept: Path) -> None:
    connection = connected(kept)
    connection.pragma("user_version", 1000)
    connection.close()
    [finding] = patient.wrong("store")
    assert (finding.state, finding.fix) == ("broken", "update clew")


def test_a_damaged_store_is_broken(patient: Patient, kept: Path) -> None:
    raw = bytearray(kept.read_bytes())
    raw[4096 : 4096 * 3] = b"\xff" * 4096 * 2
    kept.write_bytes(raw)
    assert {each.state for each in patient.wrong("store")} == {"broken"}


def test_a_store_that_does_not_agree_with_itself_is_broken(patient: Patient, kept: Path) -> None:
    """`verify`, where SQLite itself finds nothing wrong."""
    with SqliteStore(kept) as store:
        store.record(turn(recorded("r"))).result(120)
    assert patient.wrong("store") == []
    connection = connected(kept)
    connection.execute("UPDATE recordings SET blocks = x'90'")
    connection.close()
    [finding] = patient.wrong("store")
    assert (finding.state, "r: its bytes are not those that were recorded" in finding.says) == ("broken", True)


def test_a_file_that_is_no_database_is_broken(patient: Patient, kept: Path) -> None:
    kept.write_bytes(b"not a database, but a text that is long enough to be looked at" * 100)
    assert {each.state for each in patient.wrong("store")} == {"broken"}


@pytest.mark.parametrize(
    ("free", "state", "says"),
    [
        (1_000_000, "broken", "1 MB are free at {}: answers come, but are not kept"),
        (100_000_000, "warning", "100 MB are free at {}"),
        (100_000_000_000, "ok", "100,000 MB are free at {}"),
    ],
)
def test_a_disk_without_room_is_found(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, free: int, state: str, says: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=free))
    [finding] = patient.findings("disk")
    assert (finding.state, finding.says) == (state, says.format(patient.home))


def test_a_disk_that_cannot_be_written_is_found(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda place, mode: mode != os.W_OK)
    [finding] = patient.wrong("disk")
    assert (finding.state, finding.fix) == ("broken", "correct its permissions, or mount it for writing")


def test_nobody_is_told_to_move_a_store_away_that_is_only_in_use(patient: Patient, kept: Path) -> None:
    holder = connected(kept)
    holder.pragma("locking_mode", "exclusive")
    holder.execute("BEGIN EXCLUSIVE")
    [finding] = patient.wrong("store")
    holder.close()
    assert (finding.state, finding.fix, "is locked by another process" in finding.says) == ("broken", "", True)


def test_a_store_from_the_future_means_that_the_clock_is_wrong(patient: Patient, kept: Path) -> None:
    assert [each.fix for each in patient.wrong("store", now=time.time() - 10_000)] == ["set this machine's clock"]
    assert [each.state for each in patient.wrong("clock", now=0.0)] == ["broken"]


@pytest.mark.parametrize(
    ("file", "env", "says"),
    [
        (".claude/settings.json", {"ANTHROPIC_BASE_URL": "https://elsewhere.example"}, "ANTHROPIC_BASE_URL"),
        (".claude/settings.local.json", {"CLAUDE_CODE_USE_BEDROCK": "1"}, "CLAUDE_CODE_USE_BEDROCK"),
        ("../.claude/settings.json", {"CLAUDE_CODE_USE_VERTEX": 1}, "CLAUDE_CODE_USE_VERTEX"),
        ("../../.claude/settings.json", {"ANTHROPIC_BASE_URL": "https://elsewhere.example"}, "ANTHROPIC_BASE_URL"),
    ],
)
def test_settings_that_lead_the_client_past_the_gateway_are_found(
    patient: Patient, file: str, env: dict[str, object], says: str
) -> None:
    """Claude Code's own settings override its environment."""
    path = patient.project / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"env": env, "permissions": {}}))
    wrong = patient.wrong("bypass")
    assert wrong
    assert {each.state for each in wrong} == {"warning"}
    assert all(says in each.says and str(path.resolve().name) in each.says for each in wrong)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"env": 1}', '{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:2539"}}'])
def test_settings_that_say_nothing_of_it_are_left_alone(patient: Patient, text: str) -> None:
    path = patient.project / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(text)
    assert patient.wrong("bypass") == []


@pytest.mark.parametrize("name", ["ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK"])
def test_an_editor_that_leads_its_claude_code_elsewhere_is_found(
    patient: Patient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its settings may have comments, as editors allow."""
    monkeypatch.setattr("sys.platform", "linux")
    path = Path(patient.environ["HOME"]) / ".config/Cursor/User/settings.json"
    path.parent.mkdir(parents=True)
    text = (
        '{\n  // mine\n  "editor.fontSize": 12,\n  "claudeCode.environmentVariables": [{"name": "%s", "value": "%s"}],\n}\n'
    )
    path.write_text(text % (name, "https://elsewhere.example"))
    [wrong] = patient.wrong("editors")
    assert (wrong.state, name in wrong.says, "Cursor" in wrong.says) == ("warning", True, True)
    path.write_text(text % ("ANTHROPIC_BASE_URL", "http://127.0.0.1:2539"))
    assert patient.wrong("editors") == []
    path.write_text("{")
    assert patient.wrong("editors") == []


def test_the_environment_is_looked_at_too(patient: Patient) -> None:
    patient.environ |= {"CLAUDE_CODE_USE_FOUNDRY": "1", "HTTPS_PROXY": f"http://u:{CANARY}@proxy:3128"}
    assert [each.fix for each in patient.wrong("bypass")] == ["unset CLAUDE_CODE_USE_FOUNDRY"]
    [proxy] = patient.wrong("proxy")
    assert (proxy.fix, CANARY in proxy.says) == ("export NO_PROXY=127.0.0.1,localhost", False)
    patient.environ["no_proxy"] = "example.org, localhost"
    assert patient.wrong("proxy") == []


@pytest.mark.parametrize(
    ("script", "state", "says"),
    [
        ("echo '9.9.9 (Claude Code)'", "ok", "bin/claude: 9.9.9 (Claude Code)"),
        ("exit 3", "warning", "(exit 3)"),
    ],
)
def test_claude_code_is_asked_for_its_version(patient: Patient, tmp_path: Path, script: str, state: str, says: str) -> None:
    command = tmp_path / "bin" / "claude"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    patient.environ["PATH"] = str(command.parent)
    [finding] = patient.findings("claude")
    assert (finding.state, says in finding.says) == (state, True)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


def port_of(listener: socket.socket) -> int:
    return listener.getsockname()[1]


def _this_program() -> str:
    return Path("/proc/self/comm").read_text().strip()


@pytest.mark.slow
def test_another_clew_is_not_called_another_program(patient: Patient) -> None:
    """One of another home, which this one's registry does not know."""
    with Served("[gateway]\nadmin_port = 0\n" + backend("a", "http://127.0.0.1:9")) as other:
        text = CONFIG.replace("admin_port = 0", f"admin_port = {other.port}")
        (patient.home / "clew.toml").write_text(text)
        [finding] = patient.wrong("ports")
    assert finding.says == f"{other.port} is used by another clew (process {other.process.pid})"


@pytest.mark.slow
def test_a_port_is_free_or_somebodys(patient: Patient, listener: socket.socket) -> None:
    port = port_of(listener)
    text = CONFIG.replace("admin_port = 0", f"admin_port = {port}")
    (patient.home / "clew.toml").write_text(text)
    [finding] = patient.wrong("ports")
    assert (finding.state, finding.says) == ("warning", f"{port} is used by {_this_program()} (process {os.getpid()})")
    assert finding.fix == "choose another: `[gateway] admin_port = …`, or `--admin-port`"
    register(
        _home(patient),
        RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:9", admin_url=f"http://127.0.0.1:{port}", name="mine"),
    )
    assert [each.says for each in patient.findings("ports")][1] == f"{port} is the gateway mine's"


def _home(patient: Patient) -> Any:
    return read_circumstances(patient.environ, patient.project, 0.0).home


@pytest.mark.slow
def test_a_gateway_that_is_registered_and_silent_is_broken(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        register(_home(patient), RegisteredGateway(pid=os.getpid(), url=f"http://127.0.0.1:{port_of(closed)}", name="mute"))
        [finding] = patient.wrong("gateways")
    assert (finding.state, finding.fix) == ("broken", f"kill {os.getpid()}, and start it again")


@pytest.mark.slow
def test_online_each_backend_is_reached_by_a_handshake_alone(patient: Patient, tmp_path: Path) -> None:
    """With --online only; no byte of a request, so no key, is sent."""
    certificate = make_certificate(tmp_path, "IP:127.0.0.1")
    with _Handshakes(certificate) as peer:
        text = CONFIG.replace("127.0.0.1:1", f"127.0.0.1:{peer.port}")
        (patient.home / "clew.toml").write_text(text)
        [untrusted] = patient.wrong("backends", online=True)
        (patient.home / "clew.toml").write_text(f'ca_file = "{certificate.file}"\n{text}')
        assert patient.wrong("backends", online=True) == []
    assert "its certificate is not valid" in untrusted.says
    assert peer.heard == b""
    [unreachable] = patient.wrong("backends", online=True)
    assert unreachable.state == "broken"
    assert patient.wrong("backends") == []


class _Handshakes:
    """Takes TLS connections one after the other, and keeps whatever is said inside."""

    def __init__(self, certificate: Certificate) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._context = certificate.context()
        self.port = port_of(self._listener)
        self.heard = b""
        self._thread = threading.Thread(target=self._take, daemon=True)

    def __enter__(self) -> "_Handshakes":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(120)

    def _take(self) -> None:
        while True:
            try:
                plug, _ = self._listener.accept()
            except OSError:
                return
            with plug:
                plug.settimeout(120)
                try:
                    with self._context.wrap_socket(plug, server_side=True) as inside:
                        self.heard += inside.recv(1)
                except OSError:
                    continue


def test_the_command_tells_all_and_ends_with_one_if_something_is_broken(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status: 0 well, 1 broken; warnings do not fail."""
    for name, value in patient.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(patient.project)
    well = CliRunner().invoke(main, ["doctor"])
    assert (well.exit_code, well.stdout.splitlines()[-1]) == (0, "no problems")
    monkeypatch.setenv("CLEW_KEY", "hunter2")
    warned = CliRunner().invoke(main, ["doctor"])
    assert (warned.exit_code, warned.stdout.splitlines()[-1]) == (0, "1 with a warning")
    assert "key        warning  CLEW_KEY has 7 characters\n                    → use a longer one" in warned.stdout
    (patient.home / "key").touch(0o644)
    (patient.home / "key").chmod(0o644)
    failed = CliRunner().invoke(main, ["doctor"])
    assert (failed.exit_code, failed.stdout.splitlines()[-1]) == (1, "1 broken, 1 with a warning")


def test_as_json_it_says_the_same(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in patient.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(patient.project)
    (patient.home / "key").touch(0o644)
    (patient.home / "key").chmod(0o644)
    ran = CliRunner().invoke(main, ["doctor", "--json"])
    told = json.loads(ran.stdout)
    assert (ran.exit_code, told["broken"], told["warnings"]) == (1, 1, 0)
    assert [each["name"] for each in told["checks"]] == [check.name for check in CHECKS]
    [broken] = [each for each in told["checks"] if each["state"] == "broken"]
    assert broken["findings"][0]["fix"] == f"chmod 600 {patient.home / 'key'}"


@proves("fault:X12")
def test_no_secret_is_shown(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """X12: nor where a text that is shown happens to hold one."""
    for name, value in {**patient.environ, "CLEW_KEY": "clew-key-canary-1", "CLEW_SECRET": "s" * 40}.items():
        monkeypatch.setenv(name, value)
    patient.project.joinpath(CANARY).mkdir()
    monkeypatch.chdir(patient.project / CANARY)
    (patient.project / CANARY / ".claude").mkdir()
    settings = json.dumps({"env": {"ANTHROPIC_BASE_URL": f"https://{CANARY}"}})
    (patient.project / CANARY / ".claude/settings.json").write_text(settings)
    for arguments in (["doctor"], ["doctor", "--json"]):
        shown = CliRunner().invoke(main, arguments).stdout
        assert [secret for secret in (CANARY, "clew-key-canary-1", "s" * 40) if secret in shown] == []
        assert "[redacted]" in shown


@pytest.mark.slow
def test_it_loads_no_web_server(patient: Patient) -> None:
    """The checks are the admin's, and the command needs nothing else of it."""
    code = "import sys; from clew.cli.doctor import doctor; doctor(['--json'], standalone_mode=False); "
    code += "print([name for name in ('starlette', 'uvicorn', 'prometheus_client', 'rich') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], env=patient.environ, capture_output=True, text=True, timeout=120)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr


@pytest.mark.slow
def test_a_person_at_a_terminal_sees_what_is_being_looked_at(patient: Patient) -> None:
    """Colour and progress only on a terminal; every line is whole all the same."""
    leader, follower = pty.openpty()
    environ = {**patient.environ, "TERM": "xterm", "COLUMNS": "200"}
    child = ClewProcess(["doctor"], env=environ, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
        while data := os.read(leader, 65536):
            shown += data
    os.close(leader)
    assert child.wait(120) == 0
    assert b"The store is sound" in shown
    lines = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode().replace("\r", "\n").splitlines()
    assert "clock      ok       plausible" in lines
    assert [line for line in lines if line][-1] == "no problems"
