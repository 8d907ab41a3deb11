"""The debug section of the log at a real gateway: nothing without it, bodies on demand, and never a key."""

from __future__ import annotations

import pytest

from clew.testing import Simulator
from tests.build import user
from tests.engine.gate import post
from tests.engine.talk import MODEL, SHOWN
from tests.gateway.served import KEY, Served, backend
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow

THOUGHT = "A short answer will do."


def log_of(settings: str, *options: str) -> str:
    """What a gateway with these settings writes about one request whose answer has a thought."""
    with Simulator() as simulator:
        config = f'active = "a"\n[log]\nfile = "clew.log"\n{settings}\n' + backend("a", simulator.url)
        with Served(config, "--no-admin", *options) as gateway:
            body = {"model": MODEL, "max_tokens": 4000, "thinking": SHOWN, "messages": [user("[[scenario:thinking]] Why?")]}
            answer = post(gateway.url, body, path="/v1/messages", headers={"x-api-key": KEY})
            assert (answer.status, THOUGHT in answer.raw.decode()) == (200, True)
            file = gateway.home / "clew.log"
            until(lambda: file.exists() and '"request"' in file.read_text())
            gateway.signal()
            assert gateway.ended() == 0
            return file.read_text()


@public("gateway", "cli")
@proves("req:S1-45")
@pytest.mark.parametrize(
    ("settings", "options", "has_debug", "has_body", "is_indented", "has_thought"),
    [
        ("level = 'trace'\ndebug = false\nfull_body = true", (), False, False, False, False),
        ("", ("--debug",), True, False, False, False),
        ("debug = true", (), True, False, False, False),
        ("debug = true\nfull_body = true", (), True, True, False, False),
        ("full_body = true\npretty_print = true", ("--debug",), True, True, True, False),
        ("debug = true\nfull_body = true\nthinking_text = true", (), True, True, False, True),
    ],
    ids=["off", "option", "debug", "bodies", "indented", "thinking"],
)
def test_debug_lines_and_bodies_are_written_where_they_are_asked_for(
    settings: str, options: tuple[str, ...], has_debug: bool, has_body: bool, is_indented: bool, has_thought: bool
) -> None:
    log = log_of(settings, *options)
    assert (('"level":"debug"' in log) or ('"level": "debug"' in log)) is has_debug
    assert ("[[scenario:thinking]] Why?" in log) is has_body
    assert ('\n  "body": {' in log or '\n  "body": [' in log) is is_indented
    assert (THOUGHT in log) is has_thought
    assert KEY not in log
    assert Simulator.key not in log
