"""A backend that takes the client's own credential, and a client that has none."""

from pathlib import Path

from clew.testing import Simulator
from tests.build import user
from tests.engine.gate import Gate, claude, other

BODY = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [user("hi")]}


def test_it_is_told_so_once_and_the_vendor_is_not_asked(tmp_path: Path) -> None:
    """With the gateway's key alone, Claude Code would get the vendor's bare 401 and try ten times."""
    with Simulator() as sim, Gate(tmp_path, claude(sim, auth="passthrough", keys=())) as gate:
        answer = gate.ask(BODY)

        assert (answer.status, answer.headers["x-should-retry"]) == (401, "false")
        assert answer.json["error"]["type"] == "authentication_error"
        assert "takes the client's own credential" in answer.json["error"]["message"]
        assert sim.journal() == []


def test_another_backend_answers_where_there_is_one(tmp_path: Path) -> None:
    """Failover for a key that is missing is failover for a key that is refused."""
    with Simulator() as sim, Simulator(realm="glm") as glm:
        backends = claude(sim, auth="passthrough", keys=()), other(glm)
        with Gate(tmp_path, *backends, failover=("glm",)) as gate:
            answer = gate.ask(BODY)

        assert (answer.status, answer.headers["x-clew-backend"]) == (200, "glm")
