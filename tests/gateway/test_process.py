"""A gateway from its start to its end, as a process of its own in front of a simulator."""

import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.gateway.plan import Plan, claim_port
from clew.gateway.resources import client_limits
from clew.http.message import ServerLimits
from clew.http.server import bound
from clew.settings.values import GatewaySettings
from clew.testing import Simulator
from tests.gateway.served import CLEW, KEY, Served, backend, listens
from tests.http.conftest import Peer
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

STREAMS = 50
SHORT = "turn:\n  text: It begins.\n  pause: 1.0\n  text: It ends.\n"
LONG = "turn:\n  text: It begins.\n  pause: 60\n  text: It ends.\n"
ANTHROPIC = 'realm = "anthropic"\n'


@pytest.fixture
def vendors(tmp_path: Path) -> Iterator[dict[str, Simulator]]:
    """One that is done in a second, one that is not done in a minute."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Simulator(scenario=_script(tmp_path, name, text))) for name, text in SCRIPTS.items()
        }


SCRIPTS = {"short": SHORT, "long": LONG}


def _script(directory: Path, name: str, text: str) -> str:
    path = directory / f"{name}.scenario"
    path.write_text(f"about: {name}\n\n{text}")
    return str(path)


def config(vendors: dict[str, Simulator], drain: float) -> str:
    """Opus goes to the short one, Haiku to the long one."""
    rows = "".join(backend(name, vendor.url, ANTHROPIC) for name, vendor in vendors.items())
    rules = '\n[[rules]]\nfamily = "haiku"\nbackend = "long"\n'
    return f'active = "short"\n[gateway]\nadmin_port = 0\ndrain_seconds = {drain}\nclosing_seconds = 30\n{rows}{rules}'


def begun(peer: Peer) -> Peer:
    """Its first content is here."""
    peer.read_until(b"It begins.")
    return peer


def rest(peer: Peer) -> bytes:
    return peer.read_to_end()


@proves("fault:P1")
def test_a_signal_lets_streams_finish_and_tells_those_that_cannot(vendors: dict[str, Simulator]) -> None:
    """Fifty streams, half of them longer than the drain. Nobody sees an end that was none."""
    with Served(config(vendors, drain=3)) as gateway:
        idle = gateway.peer()
        assert gateway.get("/readyz", idle)[0] == 200
        models = ["claude-opus-5-5", "claude-haiku-5-5"] * (STREAMS // 2)
        peers = [gateway.ask(f"Number {n}", model=model) for n, model in enumerate(models)]
        for peer in peers:
            begun(peer)
        gateway.signal()
        until(lambda: not listens(gateway.port))
        status, headers, body = gateway.get("/readyz", idle)
        assert (status, headers["connection"], body) == (503, "close", b'{"status":"draining","store":"ok"}')
        endings = [rest(peer) for peer in peers]
        for short, long in zip(endings[::2], endings[1::2], strict=True):
            assert b"message_stop" in short
            assert b"event: error" not in short
            assert b"message_stop" not in long
            assert b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"' in long
            assert long.endswith(b"0\r\n\r\n")
        assert gateway.ended() == 0
        assert Counter(exchange.outcome for exchange in gateway.exchanges()) == {"whole": 25, "cut": 25}


@proves("fault:P2")
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once_and_still_in_good_order(vendors: dict[str, Simulator], second: signal.Signals) -> None:
    """The first one alone would take ten minutes."""
    with Served(config(vendors, drain=600)) as gateway:
        peer = begun(gateway.ask(model="claude-haiku-5-5"))
        waiting = gateway.ask(model="claude-haiku-5-5", stream=False)
        until(lambda: len(vendors["long"].journal()) == 2)
        gateway.signal()
        until(lambda: not listens(gateway.port))  # it has heard the first one: two at once are one
        assert gateway.process.poll() is None
        gateway.signal(second)
        assert gateway.ended() == 0
        assert b"event: error" in rest(peer)
        assert waiting.response()[0] in (503, 529)
        assert {exchange.outcome for exchange in gateway.exchanges()} <= {"cut", "failed"}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_service_is_not_ended_by_a_hangup(vendors: dict[str, Simulator], workers: str) -> None:
    """What an operator sends after an edit, by custom. Streams go on, and so does all else."""
    with Served(config(vendors, drain=1), "--workers", workers, command=("setsid", CLEW)) as gateway:
        peer = begun(gateway.ask())
        gateway.signal(signal.SIGHUP)
        peer.read_until(b"message_stop")
        assert gateway.get("/readyz")[0] == 200
        gateway.signal()
        assert gateway.ended() == 0


def test_nothing_heavy_is_loaded_before_it_listens() -> None:
    """Clients can connect within half a second: store, engine, TLS, admin and tables for people come after."""
    code = "import sys, clew.cli.serve, clew.gateway.process, clew.settings.load, clew.http.loops; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout.split()
    assert "clew.gateway.plane" in loaded
    heavy = {"apsw", "starlette", "uvicorn", "rich", "clew.engine.engine", "clew.upstream.pool", "clew.store.sqlite.store"}
    assert heavy & set(loaded) == set()


def test_with_nothing_to_finish_it_ends_soon(vendors: dict[str, Simulator]) -> None:
    """It does not take the ten minutes that answers would have."""
    with Served(config(vendors, drain=600)) as gateway:
        gateway.get("/readyz")
        gateway.signal(signal.SIGINT)
        assert gateway.ended() == 0


def test_it_enters_itself_among_what_runs_and_leaves_nothing_behind(vendors: dict[str, Simulator]) -> None:
    with Served(config(vendors, drain=1)) as gateway:
        told = gateway.told
        assert (told["pid"], told["name"]) == (gateway.process.pid, str(gateway.process.pid))
        assert stat.S_IMODE(Path(told["socket"]).stat().st_mode) == 0o600
        assert gateway.url in gateway.clew("status").stdout
        gateway.signal()
        assert gateway.ended() == 0
        assert list((gateway.home / "run").iterdir()) == []


@proves("fault:P6", "fault:P7")
def test_a_config_that_cannot_be_used_changes_nothing_and_is_told(vendors: dict[str, Simulator]) -> None:
    """Written in two steps, as an editor might; then corrected."""
    with Served(config(vendors, drain=1)) as gateway:
        good = gateway.config.read_text()
        gateway.config.write_text('active = "sho')
        until(lambda: b"problem" in gateway.get("/readyz")[2], 120)
        status, _, body = gateway.get("/readyz")
        assert status == 200
        assert b"clew.toml:1" in body
        assert b"message_stop" in gateway.ask().read_until(b"0\r\n\r\n")
        assert gateway.clew("config", "check", "--config", str(gateway.config)).returncode != 0
        gateway.config.write_text(good.replace('active = "short"', 'active = "long"'))
        until(lambda: b"problem" not in gateway.get("/readyz")[2], 120)
        begun(gateway.ask())
        assert len(vendors["long"].journal()) == 1


@proves("fault:X12")
def test_no_key_is_in_any_log_or_on_any_command_line(vendors: dict[str, Simulator]) -> None:
    with Served(config(vendors, drain=1), "--workers", "2", command=(CLEW,)) as gateway:
        gateway.ask().read_until(b"0\r\n\r\n")
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
        assert [line for line in lines if KEY.encode() in line or b"sim-test-key" in line] == []
        gateway.signal()
        assert gateway.ended() == 0
        written = (gateway.home / "log").read_text()
        assert '"event":"request"' in written
        assert KEY not in written
        assert "sim-test-key" not in written


def _readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


def test_of_two_that_bind_a_port_at_once_the_one_that_claimed_it_has_it() -> None:
    """Both may bind while nobody listens; a claim listens, so the other one goes on to the next port."""
    with ExitStack() as stack:
        rival = stack.enter_context(bound("127.0.0.1", 0))
        stack.enter_context(claim_port(Plan(name="x", port=rival.getsockname()[1], port_is_asked_for=True)))
        with pytest.raises(OSError, match="in use"):
            rival.listen()


def test_the_bounds_of_a_connection_are_the_operators(vendors: dict[str, Simulator]) -> None:
    """Each is a key of `[gateway]`, and without any they are the server's own."""
    assert client_limits(GatewaySettings(), 20_128, 4 * 1024**3) == ServerLimits()
    assert client_limits(GatewaySettings(head_seconds=0.5), 20_128, 4 * 1024**3) == ServerLimits(head_seconds=0.5)
    given = config(vendors, 1).replace("admin_port = 0", "admin_port = 0\nmax_headers = 3\nhead_seconds = 0.5")
    with Served(given) as gateway:
        many, slow = gateway.peer(), gateway.peer()
        many.send(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\na: 1\r\nb: 2\r\nc: 3\r\n\r\n")
        slow.send(b"GET /healthz HTTP/1.1\r\n")
        assert many.read_to_end().startswith(b"HTTP/1.1 431 ")
        assert slow.read_to_end() == b""
